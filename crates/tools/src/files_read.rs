//! Tracks which file contents the model has seen, so that it does not overwrite content it has never read. The facts are in the
//! details of results; callers collect them from the path, so they follow the leaf.

use std::collections::HashMap;
use std::fs::Metadata;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// Identifies the content of a file at some moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileStamp {
    pub size: u64,
    pub mtime_ms: u64,
    /// The hash of the content; missing if the file is too large to read completely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl FileStamp {
    pub(crate) fn new(metadata: &Metadata, hash: Option<blake3::Hash>) -> FileStamp {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        FileStamp {
            size: metadata.len(),
            mtime_ms: modified.map_or(0, |since| since.as_millis() as u64),
            hash: hash.map(|hash| hash.to_hex()[..16].to_owned()),
        }
    }

    /// Whether both stamps have the same content. Times count only without hashes, because `touch` changes them.
    pub fn same_content(&self, other: &FileStamp) -> bool {
        match (&self.hash, &other.hash) {
            (Some(a), Some(b)) => self.size == other.size && a == b,
            _ => self.size == other.size && self.mtime_ms == other.mtime_ms,
        }
    }
}

/// What the model knows about the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKnowledge {
    /// The model saw or wrote exactly this content, or the record has no stamp.
    Current,
    /// The model saw different content.
    Stale,
    Unseen,
}

/// The files that the model has seen. The default does not track files and treats every file as current.
#[derive(Debug, Clone, Default)]
pub struct FilesRead {
    tracked: bool,
    seen: HashMap<String, Option<FileStamp>>,
}

impl FilesRead {
    /// Tracks files, with none read so far.
    pub fn tracking() -> FilesRead {
        FilesRead { tracked: true, seen: HashMap::new() }
    }

    /// Records that the model saw or wrote a file. `path` is the `path` in the details of a result. Records of other programs may
    /// have no stamp.
    pub fn insert(&mut self, path: impl Into<String>, stamp: Option<FileStamp>) {
        self.seen.insert(path.into(), stamp);
    }

    pub fn knowledge(&self, path: &str, now: &FileStamp) -> FileKnowledge {
        match self.seen.get(path) {
            _ if !self.tracked => FileKnowledge::Current,
            None => FileKnowledge::Unseen,
            Some(Some(then)) if !then.same_content(now) => FileKnowledge::Stale,
            Some(_) => FileKnowledge::Current,
        }
    }

    pub fn len(&self) -> usize {
        self.seen.len()
    }

    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_is_based_on_the_last_seen_or_written_content() {
        let stamp = |hash: &str, mtime_ms| FileStamp { size: 1, mtime_ms, hash: Some(hash.into()) };
        let mut files = FilesRead::tracking();
        files.insert("a", Some(stamp("1", 1)));
        files.insert("a", Some(stamp("2", 1)));
        files.insert("pi", None);
        assert_eq!(files.knowledge("a", &stamp("2", 9)), FileKnowledge::Current);
        assert_eq!(files.knowledge("a", &stamp("1", 1)), FileKnowledge::Stale);
        assert_eq!(files.knowledge("pi", &stamp("1", 1)), FileKnowledge::Current);
        assert_eq!(files.knowledge("b", &stamp("1", 1)), FileKnowledge::Unseen);
        assert_eq!(FilesRead::default().knowledge("b", &stamp("1", 1)), FileKnowledge::Current);
    }
}
