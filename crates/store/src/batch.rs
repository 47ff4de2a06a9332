//! Some lines in one buffer that is used again and again.

use std::ops::Range;

/// See the module.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    spans: Vec<Range<usize>>,
}

impl Batch {
    /// About how many bytes a batch holds before the rest is left for the next.
    pub const FULL: usize = 256 << 10;

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= Batch::FULL
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Copies a line in.
    pub fn push(&mut self, line: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(line);
        self.spans.push(start..self.bytes.len());
    }

    /// Makes room for `len` bytes that hold lines, and gives it to be filled. Name the lines with `name`.
    pub(crate) fn room(&mut self, len: usize) -> (usize, &mut [u8]) {
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        (start, &mut self.bytes[start..])
    }

    pub(crate) fn name(&mut self, span: Range<usize>) {
        self.spans.push(span);
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The line at a place of the request.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.spans.get(index).map(|span| &self.bytes[span.clone()])
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.spans.iter().map(|span| &self.bytes[span.clone()])
    }
}
