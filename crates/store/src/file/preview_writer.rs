//! Makes the previews of a log that is read from its start, and writes them to a cache file as it goes, so that a large
//! tree never has all its texts in memory.

use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use osier_tree::entry::{Entry, parse_entry};
use osier_tree::projection::preview::Previews;
use tempfile::NamedTempFile;

use super::previews::{MAX_HEADER_BYTES, add_checksum};
use crate::preview_texts::{PreviewTexts, WINDOW_BYTES};

/// The header line is written last. It is padded to this length.
const HEADER_BYTES: usize = MAX_HEADER_BYTES / 2;

/// A cache of previews that is being written.
#[derive(Debug)]
pub(super) struct PreviewWriter {
    previews: Previews,
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    /// The texts since the last complete window.
    window: Vec<u8>,
    checksum: u64,
    /// The offset of the newline after each text.
    ends: Vec<u32>,
    end: u64,
}

impl PreviewWriter {
    /// Starts a new file beside `path`, which it replaces when it is complete.
    pub(super) fn create(path: &Path) -> io::Result<PreviewWriter> {
        let folder = path.parent().unwrap_or(Path::new("."));
        super::names::make_folder(folder)?;
        let mut file = BufWriter::new(tempfile::Builder::new().prefix(".previews-").tempfile_in(folder)?);
        file.write_all(&[b' '; HEADER_BYTES])?;
        Ok(PreviewWriter {
            previews: Previews::new(None),
            path: path.to_owned(),
            file,
            window: Vec::with_capacity(2 * WINDOW_BYTES),
            checksum: 0,
            ends: Vec::new(),
            end: HEADER_BYTES as u64,
        })
    }

    /// Adds the preview of the next entry.
    pub(super) fn push(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let text = self.previews.preview(entry);
        self.push_text(&text)
    }

    /// Like `push`, with the line of the entry.
    pub(super) fn push_line(&mut self, line: &[u8]) -> io::Result<()> {
        match parse_entry(line) {
            Ok(entry) => self.push(&entry),
            Err(_) => self.push_text(""),
        }
    }

    fn push_text(&mut self, text: &str) -> io::Result<()> {
        // A preview must stay on one line.
        match text.contains('\n') {
            true => self.window.extend_from_slice(text.replace('\n', " ").as_bytes()),
            false => self.window.extend_from_slice(text.as_bytes()),
        }
        self.end += text.len() as u64;
        self.ends.push(u32::try_from(self.end).map_err(io::Error::other)?);
        self.window.push(b'\n');
        self.end += 1;
        while self.window.len() >= WINDOW_BYTES {
            self.write_window(WINDOW_BYTES)?;
        }
        Ok(())
    }

    fn write_window(&mut self, len: usize) -> io::Result<()> {
        let window = &self.window[..len];
        self.checksum = add_checksum(self.checksum, window);
        self.file.write_all(window)?;
        self.window.drain(..len);
        Ok(())
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Completes the file. `header` returns its header line for a checksum. Without one, the file is used once and not kept.
    pub(super) fn finish(mut self, header: impl FnOnce(u64) -> Option<Vec<u8>>) -> io::Result<PreviewTexts> {
        if !self.window.is_empty() {
            self.write_window(self.window.len())?;
        }
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let file = match header(self.checksum).filter(|line| line.len() < HEADER_BYTES) {
            None => file.into_file(),
            Some(mut line) => {
                line.resize(HEADER_BYTES - 1, b' ');
                line.push(b'\n');
                file.as_file().write_all_at(&line, 0)?;
                file.persist(&self.path)?
            }
        };
        Ok(PreviewTexts::from_file(file, HEADER_BYTES as u64, self.ends))
    }
}
