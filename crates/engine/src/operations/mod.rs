//! The operations on stored and open sessions, one module each.

pub(crate) mod append;
pub(crate) mod copy;
pub(crate) mod delete;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod gc;
pub(crate) mod list;
pub(crate) mod switch;
pub(crate) mod verify;
