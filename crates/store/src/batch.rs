//! A batch of lines in one reusable buffer.

use std::ops::Range;

/// Lines in one reusable buffer.
#[derive(Debug, Default)]
pub struct LineBatch {
    bytes: Vec<u8>,
    spans: Vec<Range<usize>>,
}

impl LineBatch {
    /// The approximate number of bytes after which a batch is full.
    pub const FULL_BYTES: usize = 256 << 10;

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= LineBatch::FULL_BYTES
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Appends a copy of the line.
    pub fn push(&mut self, line: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(line);
        self.spans.push(start..self.bytes.len());
    }

    /// Appends `len` bytes and returns their start and the buffer to fill. Call `add_span` for each line in them.
    pub(crate) fn reserve(&mut self, len: usize) -> (usize, &mut [u8]) {
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        (start, &mut self.bytes[start..])
    }

    pub(crate) fn add_span(&mut self, span: Range<usize>) {
        self.spans.push(span);
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The line at this index of the request.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.spans.get(index).map(|span| &self.bytes[span.clone()])
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.spans.iter().map(|span| &self.bytes[span.clone()])
    }
}
