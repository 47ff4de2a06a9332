//! Ids that do not fit into a head. Copies share them in chunks, as with heads.

use std::sync::Arc;

use super::Seq;

const CHUNK: usize = 256;

type LongIdRow = (Seq, Box<str>);

/// Rows in log order.
#[derive(Clone, Default)]
pub(super) struct LongIds {
    full: Arc<Vec<Arc<[LongIdRow]>>>,
    last: Arc<Vec<LongIdRow>>,
}

impl LongIds {
    /// `seq` must be greater than all earlier ones.
    pub(super) fn push(&mut self, seq: Seq, id: &str) {
        let last = Arc::make_mut(&mut self.last);
        last.push((seq, id.into()));
        if last.len() == CHUNK {
            let chunk: Arc<[LongIdRow]> = std::mem::take(last).into();
            Arc::make_mut(&mut self.full).push(chunk);
        }
    }

    pub(super) fn get(&self, seq: Seq) -> Option<&str> {
        let chunk = match self.full.partition_point(|chunk| chunk[CHUNK - 1].0 < seq) {
            at if at < self.full.len() => &self.full[at][..],
            _ => &self.last[..],
        };
        let at = chunk.binary_search_by_key(&seq, |row| row.0).ok()?;
        Some(&chunk[at].1)
    }
}
