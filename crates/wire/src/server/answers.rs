//! Answers as JSON, with a limit on their size. An answer is in memory as a whole, once for each client that asks.

use std::io;

use osier_protocol::{ClientError, ErrorCode};

use crate::frame::ServerFrame;

/// The largest answer to a request, in bytes.
pub(super) const MAX_ANSWER: usize = 64 << 20;

/// The frame as JSON. An answer that is too large is replaced by an error; its text is never complete in memory.
pub(super) fn answer_json(id: Option<u64>, frame: &ServerFrame) -> String {
    match limited_json(frame, MAX_ANSWER) {
        Some(json) => json,
        None => ServerFrame::error(id, too_large()).to_json(),
    }
}

pub(super) fn too_large() -> ClientError {
    let message = format!(
        "the answer is larger than {} MB, which is too much for one message; ask for a part of it (`entries` comes in pages), or \
         read it over the HTTP of a gateway, which streams it: `GET /api/sessions/ID/` and `tree`, `path`, `context`, `export` or \
         `snapshot`",
        MAX_ANSWER >> 20
    );
    ClientError::new(ErrorCode::AnswerTooLarge, message)
}

pub(super) fn limited_json(frame: &ServerFrame, max: usize) -> Option<String> {
    let mut text = LimitedText { bytes: Vec::new(), max };
    serde_json::to_writer(&mut text, frame).ok()?;
    String::from_utf8(text.bytes).ok()
}

/// Refuses to grow beyond its limit.
struct LimitedText {
    bytes: Vec<u8>,
    max: usize,
}

impl io::Write for LimitedText {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + piece.len() > self.max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use osier_protocol::QueryAnswer;

    use super::*;

    fn files(names: usize) -> ServerFrame {
        ServerFrame::Answered { id: 7, answer: QueryAnswer::Files { files: vec!["a".to_owned(); names] } }
    }

    #[test]
    fn an_answer_of_exactly_the_limit_is_sent() {
        let json = files(100).to_json();
        assert_eq!(limited_json(&files(100), json.len()), Some(json.clone()));
        assert_eq!(limited_json(&files(100), json.len() - 1), None);
    }

    #[test]
    fn an_answer_that_is_too_large_is_an_error_with_the_id_of_the_request() {
        let large = "x".repeat(MAX_ANSWER);
        let frame = ServerFrame::Answered { id: 7, answer: QueryAnswer::Files { files: vec![large] } };
        let json = answer_json(Some(7), &frame);
        assert!(json.contains(r#""id":7"#) && json.contains("answer_too_large"), "{json:.200}");
    }
}
