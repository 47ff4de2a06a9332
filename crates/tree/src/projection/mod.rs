//! Projections: views of the tree for a model, a person or a program. A projection first names the entries that it needs,
//! the caller fetches their lines, and the projection builds its view from them.

pub mod card;
pub mod compare;
pub mod context;
pub mod entry_title;
pub mod entry_view;
pub mod json;
pub mod model;
pub mod outline;
pub mod preview;
pub mod request;
pub mod settings;
pub mod snapshot;
pub mod stream_sanitizer;
pub mod subagents;
pub mod transcript;
pub mod usage;

use rustc_hash::FxHashMap;

use crate::entry::{Entry, parse_entry};
use crate::heads::Seq;

/// The lines that a caller fetched for a projection.
pub trait Lines {
    /// The line of an entry, without its line feed.
    fn line(&self, seq: Seq) -> Option<&[u8]>;

    /// The parsed line of an entry. `None` if it was not fetched.
    fn entry(&self, seq: Seq) -> Option<Entry<'_>> {
        self.line(seq).and_then(|line| parse_entry(line).ok())
    }
}

impl Lines for FxHashMap<Seq, Vec<u8>> {
    fn line(&self, seq: Seq) -> Option<&[u8]> {
        self.get(&seq).map(Vec::as_slice)
    }
}

/// All lines of a log, in log order.
impl Lines for Vec<Vec<u8>> {
    fn line(&self, seq: Seq) -> Option<&[u8]> {
        self.get(seq.index()).map(Vec::as_slice)
    }
}
