//! The operations on stored and open sessions, one module each.

pub(crate) mod append;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod delete;
pub(crate) mod entry;
pub(crate) mod export;
mod export_html;
pub(crate) mod fork;
pub(crate) mod gc;
mod kept_files;
pub(crate) mod list;
pub(crate) mod path;
pub(crate) mod reading;
pub(crate) mod rename;
pub(crate) mod rows;
pub(crate) mod snapshot;
pub(crate) mod switch;
pub(crate) mod tree;
pub(crate) mod tree_json;
pub(crate) mod verify;
