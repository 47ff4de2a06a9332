//! The text of a file as the model sees it, without a byte order mark and with LF line endings, and the conversion back to the
//! bytes of the file. Unchanged parts are kept byte for byte, including mixed line endings and invalid UTF-8.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Why a file with these first bytes is not text, or `None` if it is.
pub(crate) fn non_text_reason(start: &[u8]) -> Option<&'static str> {
    match start {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16 text; convert it first, for example with iconv"),
        _ if memchr(0, &start[..start.len().min(8192)]).is_some() => {
            Some("a binary file; look at it with bash, for example with file, strings or xxd")
        }
        _ => None,
    }
}

/// The text of a file with LF line endings, and what is needed to restore its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileText {
    /// With LF only, without byte order mark.
    pub(crate) plain: Vec<u8>,
    bom: bool,
    /// Offsets in `plain` of the LFs that are CRLF in the file.
    crlf: Vec<usize>,
    lf: usize,
}

impl FileText {
    pub(crate) fn new(bytes: &[u8]) -> FileText {
        let (bom, body) = bytes.strip_prefix(BOM).map_or((false, bytes), |body| (true, body));
        let mut text = FileText { plain: Vec::with_capacity(body.len()), bom, crlf: Vec::new(), lf: 0 };
        let mut from = 0;
        for at in memchr_iter(b'\n', body) {
            let is_crlf = at > from && body[at - 1] == b'\r';
            text.plain.extend_from_slice(&body[from..at - usize::from(is_crlf)]);
            match is_crlf {
                true => text.crlf.push(text.plain.len()),
                false => text.lf += 1,
            }
            text.plain.push(b'\n');
            from = at + 1;
        }
        text.plain.extend_from_slice(&body[from..]);
        text
    }

    /// Whether most lines end with CRLF.
    pub(crate) fn mostly_crlf(&self) -> bool {
        self.crlf.len() > self.lf
    }

    pub(crate) fn only_crlf(&self) -> bool {
        !self.crlf.is_empty() && self.lf == 0
    }

    /// Whether both have the same line endings everywhere, and both or neither have a byte order mark.
    pub(crate) fn same_format_as(&self, other: &FileText) -> bool {
        let have_lf = self.crlf.is_empty() && other.crlf.is_empty();
        self.bom == other.bom && (have_lf || self.only_crlf() && other.only_crlf())
    }

    pub(crate) fn has_bom(&self) -> bool {
        self.bom
    }

    pub(crate) fn to_string_lossy(&self) -> String {
        String::from_utf8_lossy(&self.plain).into_owned()
    }

    /// The bytes of the file with some ranges of `plain` replaced. The ranges are sorted and do not overlap. New text gets the
    /// line endings of the file.
    pub(crate) fn replace_ranges(&self, original: &[u8], changes: &[(Range<usize>, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(original.len());
        let mut from = 0;
        for (range, new) in changes {
            bytes.extend_from_slice(&original[from..self.original_offset(range.start)]);
            bytes.extend(if self.mostly_crlf() { with_crlf(new) } else { new.to_vec() });
            from = self.original_offset(range.end);
        }
        bytes.extend_from_slice(&original[from..]);
        bytes
    }

    /// Converts an offset in `plain` to an offset in the file.
    fn original_offset(&self, at: usize) -> usize {
        let bom = if self.bom { BOM.len() } else { 0 };
        bom + at + self.crlf.partition_point(|lf| *lf < at)
    }
}

/// Converts CRLF to LF.
pub(crate) fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

pub(crate) fn with_crlf(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + text.len() / 20);
    for (at, byte) in text.iter().enumerate() {
        if *byte == b'\n' && (at == 0 || text[at - 1] != b'\r') {
            bytes.push(b'\r');
        }
        bytes.push(*byte);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(file: &[u8], old: &str, new: &str) -> Vec<u8> {
        let text = FileText::new(file);
        let at = memchr::memmem::find(&text.plain, old.as_bytes()).expect("old is there");
        text.replace_ranges(file, &[(at..at + old.len(), new.as_bytes())])
    }

    #[test]
    fn replacing_keeps_line_endings_and_byte_order_mark() {
        assert_eq!(
            replaced(b"\xef\xbb\xbfa\r\nb\r\nc\r\n", "b\n", "x\ny\n"),
            b"\xef\xbb\xbfa\r\nx\r\ny\r\nc\r\n"
        );
        assert_eq!(replaced(b"a\r\nb\r\n", "\nb", "\nc"), b"a\r\nc\r\n");
        assert_eq!(replaced(b"a\nb\r\nc\n", "c", "x\ny"), b"a\nb\r\nx\ny\n");
        assert_eq!(replaced(b"a\r\nb", "b", ""), b"a\r\n");
        assert_eq!(replaced(b"a\rb\r\r\nc", "c", "d"), b"a\rb\r\r\nd");
        assert_eq!(replaced(b"\xff a \xfe\n", "a", "b"), b"\xff b \xfe\n");
    }

    #[test]
    fn replacing_nothing_returns_the_same_bytes() {
        for file in [&b""[..], b"\r\n", b"\n\r\n\r", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\nx\n", b"a\r\n\r\nb"] {
            let text = FileText::new(file);
            assert_eq!(text.replace_ranges(file, &[]), file);
            for at in 0..=text.plain.len() {
                assert_eq!(text.replace_ranges(file, &[(at..at, b"")]), file, "{file:?} at {at}");
            }
        }
    }
}
