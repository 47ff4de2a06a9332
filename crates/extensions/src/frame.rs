//! The protocol between Osier and a process that runs extensions: one JSON object per line, in both directions.
//!
//! Everything is built on three primitives. A *request* has a method and gets one response. A *notice* is a request without a
//! response. A *cancel* ends a request early; the response still arrives. Methods are listed in the crate documentation.
//! QuickJS sends synchronous calls as requests on the same pipes. Node reads their responses from a second pair of pipes,
//! because its main thread cannot wait for standard input.

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of the protocol. Both ends are the same program, or a script that the program contains, so versions are equal.
pub const VERSION: u32 = 1;

/// The largest frame in bytes. A larger one ends the process that sent it.
pub const MAX_FRAME: usize = 64 << 20;

/// Node counts its synchronous calls from here, so that their responses go to the pipe that it waits for.
pub const FIRST_NODE_CALL: u64 = 1 << 52;

/// A message between Osier and a process of extensions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Frame {
    /// The first frame in both directions.
    Hello {
        version: u32,
    },
    Request {
        /// The number of the extension in its process, counted from 0.
        extension: u32,
        /// Chosen by the sender, unique among its open requests.
        id: u64,
        method: String,
        params: Box<RawValue>,
    },
    Notice {
        extension: u32,
        method: String,
        params: Box<RawValue>,
    },
    Response {
        extension: u32,
        id: u64,
        outcome: Outcome,
    },
    /// The sender of a request no longer needs it.
    Cancel {
        extension: u32,
        id: u64,
    },
    /// Stops the JavaScript code that an extension executes now. Only Osier sends this.
    Interrupt {
        extension: u32,
    },
}

/// How a request ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Done(Box<RawValue>),
    Failed(Failure),
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub message: String,
    /// `file:line:column` of the extension's source, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), stack: Vec::new() }
    }

    /// The message and where it comes from.
    pub fn with_place(&self) -> String {
        match self.stack.first() {
            Some(place) => format!("{} ({place})", self.message),
            None => self.message.clone(),
        }
    }
}

/// Why a line is not a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("a frame is longer than {MAX_FRAME} bytes")]
    TooLong,
    #[error("a frame is not valid: {0}")]
    Invalid(#[from] serde_json::Error),
    #[error("cannot read a frame")]
    Io(#[from] io::Error),
}

impl Frame {
    pub fn parse(line: &[u8]) -> Result<Frame, FrameError> {
        if line.len() > MAX_FRAME {
            return Err(FrameError::TooLong);
        }
        Ok(serde_json::from_slice(line)?)
    }

    /// The line with its LF.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Reads the next frame; `None` at the end of the input.
    pub fn read(input: &mut impl BufRead) -> Result<Option<Frame>, FrameError> {
        let mut line = Vec::new();
        // One byte more than allowed shows that the line is too long.
        let count = io::Read::take(&mut *input, MAX_FRAME as u64 + 1).read_until(b'\n', &mut line)?;
        match count {
            0 => Ok(None),
            _ => Frame::parse(line.strip_suffix(b"\n").unwrap_or(&line)).map(Some),
        }
    }
}

/// A value as raw JSON. A value that cannot be serialized becomes `null`.
pub fn to_raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| null())
}

pub fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_its_line() {
        let request = Frame::Request {
            extension: 2,
            id: 7,
            method: "ui.select".into(),
            params: to_raw(&serde_json::json!({ "title": "a\nb" })),
        };
        let line = request.to_line();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let text = String::from_utf8(line.clone()).unwrap();
        assert_eq!(
            text.trim_end(),
            r#"{"request":{"extension":2,"id":7,"method":"ui.select","params":{"title":"a\nb"}}}"#
        );
        let mut input = io::BufReader::new(&line[..]);
        let read = Frame::read(&mut input).unwrap().unwrap();
        assert_eq!(read.to_line(), line);
        assert!(Frame::read(&mut input).unwrap().is_none());
    }

    #[test]
    fn a_failure_is_read() {
        let line = br#"{"response":{"extension":0,"id":1,"outcome":{"failed":{"message":"no"}}}}"#;
        let Frame::Response { outcome: Outcome::Failed(failure), .. } = Frame::parse(line).unwrap() else {
            panic!("another frame")
        };
        assert_eq!(failure, Failure::new("no"));
    }

    #[test]
    fn lines_that_are_no_frames_are_errors() {
        for line in ["", "{}", "null", "{\"hello\":{}}", "{\"request\":{\"extension\":-1}}", "\u{0}", "[1]"] {
            assert!(matches!(Frame::parse(line.as_bytes()), Err(FrameError::Invalid(_))), "{line:?}");
        }
    }
}
