//! Records that are not in the cache file yet.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::record::{NewRecord, file_name};
use crate::file::file_identity::FileIdentity;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct PendingRecords {
    bytes: Vec<u8>,
    records: Vec<PendingRecord>,
}

#[derive(Debug)]
struct PendingRecord {
    log: PathBuf,
    identity: FileIdentity,
    /// Where the record is in [`PendingRecords::bytes`].
    bytes: Range<usize>,
}

impl PendingRecords {
    pub(super) fn push(&mut self, log: &Path, record: &NewRecord) {
        let start = self.bytes.len();
        record.write(&file_name(log), &mut self.bytes);
        let bytes = start..self.bytes.len();
        self.records.push(PendingRecord { log: log.to_owned(), identity: record.coverage.identity, bytes });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The records whose logs were not deleted or replaced meanwhile.
    pub(super) fn current(&self) -> Vec<u8> {
        let current = self.records.iter().filter(|record| record.is_current());
        current.map(|record| &self.bytes[record.bytes.clone()]).collect::<Vec<_>>().concat()
    }
}

impl PendingRecord {
    fn is_current(&self) -> bool {
        let metadata = self.log.metadata();
        metadata.is_ok_and(|metadata| FileIdentity::from_metadata(&metadata) == self.identity)
    }
}
