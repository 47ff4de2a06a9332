//! Opens a session file and finds its header.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use osier_tree::Header;
use osier_tree::entry::{InvalidLine, ParsedLine, parse_line};

use crate::error::StoreError;
use crate::file::reader::LineReader;

/// Opens a regular file for reading. Refuses others, because reading a pipe could block forever.
pub(in crate::file) fn open_to_read(path: &Path) -> Result<File, StoreError> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::Vanished { path: path.to_owned() },
        _ => StoreError::io("open", path)(error),
    })?;
    if !file.metadata().map_err(StoreError::io("read the metadata of", path))?.is_file() {
        return Err(StoreError::NotASession { path: path.to_owned(), reason: "it is not a file" });
    }
    Ok(file)
}

/// A header and its position in a file.
#[derive(Debug)]
pub(in crate::file) struct FoundHeader {
    pub(in crate::file) header: Header,
    pub(super) line: Vec<u8>,
    offset: u64,
}

impl FoundHeader {
    /// Whether the file still has the same header at the same offset.
    pub(super) fn is_still_in(&self, file: &File) -> io::Result<bool> {
        let mut found = vec![0; self.line.len()];
        match file.read_exact_at(&mut found, self.offset) {
            Ok(()) => Ok(found == self.line),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Finds the header, which must be the first JSON line and have an id. Skips lines before it that are not JSON.
pub(in crate::file) fn find_header(path: &Path, file: &File) -> Result<FoundHeader, StoreError> {
    let refuse = |reason| StoreError::NotASession { path: path.to_owned(), reason };
    let mut reader = LineReader::new(file, 0);
    while let Some(line) = reader.next_line().map_err(StoreError::io("read", path))? {
        match parse_line(line.bytes) {
            ParsedLine::Header(raw) => {
                let header = Header::from_raw(raw).ok_or_else(|| refuse("its header has no id"))?;
                return Ok(FoundHeader { header, line: line.bytes.to_vec(), offset: line.offset });
            }
            ParsedLine::Blank | ParsedLine::Invalid(InvalidLine::NotJson) => {}
            ParsedLine::Invalid(InvalidLine::NotAnObject) if line.bytes.trim_ascii() == b"null" => {}
            ParsedLine::Entry(_) | ParsedLine::Invalid(_) => {
                return Err(refuse("it does not begin with a session header"));
            }
        }
    }
    Err(refuse("it has no session header"))
}
