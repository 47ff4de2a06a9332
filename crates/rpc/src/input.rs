//! The lines of the client, and the time that is left after the last one.

use std::collections::VecDeque;
use std::time::Duration;

use osier_protocol::plain_json_error;
use osier_wire::{IncomingFrame, LineReader};
use tokio::io::AsyncRead;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::command::{IncomingLine, InvalidRpcRequest};

/// How many lines may wait for a command that runs alone.
const MAX_WAITING: usize = 64;

/// How long commands may run on after the client has closed the input. Then they are canceled.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How long they may take to end after that.
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) type ParsedLine = Result<IncomingLine, InvalidRpcRequest>;

fn parse_line(line: IncomingFrame) -> ParsedLine {
    let object = match line {
        IncomingFrame::Text(line) => serde_json::from_str(&line).map_err(|error| error.to_string()),
        IncomingFrame::Invalid(reason) | IncomingFrame::Unreadable(reason) => Err(reason),
    };
    let invalid = |reason: String| InvalidRpcRequest {
        id: None,
        name: "parse".to_owned(),
        error: format!("Failed to parse command: {}", plain_json_error(&reason)),
    };
    IncomingLine::parse(object.map_err(invalid)?)
}

/// The lines of the client.
pub(crate) struct CommandInput<'a, R> {
    lines: LineReader<R>,
    /// Lines that were read while a command ran alone.
    waiting: VecDeque<ParsedLine>,
    quit: &'a CancellationToken,
    pub(crate) end: Option<InputEnd>,
}

/// The input has ended. All commands together have this much time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputEnd {
    pub(crate) cancel_at: Instant,
    pub(crate) stop_at: Instant,
}

impl InputEnd {
    pub(crate) fn now() -> InputEnd {
        let cancel_at = Instant::now() + END_TIMEOUT;
        InputEnd { cancel_at, stop_at: cancel_at + CANCEL_TIMEOUT }
    }
}

impl<'a, R: AsyncRead + Unpin> CommandInput<'a, R> {
    pub(crate) fn new(lines: LineReader<R>, quit: &'a CancellationToken) -> CommandInput<'a, R> {
        CommandInput { lines, waiting: VecDeque::new(), quit, end: None }
    }

    /// Whether one more line may wait.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.len() < MAX_WAITING
    }

    /// Keeps a line for [`CommandInput::next`].
    pub(crate) fn keep(&mut self, line: ParsedLine) {
        self.waiting.push_back(line);
    }

    /// The next line. `None` at the end of the input, and when the server ends.
    pub(crate) async fn next(&mut self) -> Option<ParsedLine> {
        match self.waiting.pop_front() {
            Some(line) => Some(line).filter(|_| !self.quit.is_cancelled()),
            None => self.read().await,
        }
    }

    pub(crate) async fn read(&mut self) -> Option<ParsedLine> {
        let line = self.quit.run_until_cancelled(self.lines.next()).await.flatten();
        if line.is_none() {
            self.end.get_or_insert_with(InputEnd::now);
        }
        line.map(parse_line)
    }

    /// Whether the commands that are left come too late to run.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| end.cancel_at <= Instant::now())
    }
}
