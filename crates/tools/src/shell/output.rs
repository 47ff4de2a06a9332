//! The output of a running command: streamed to the listener, with its end kept in memory, and written to a file once it is too
//! long for a result. Memory use is bounded.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use memchr::memchr_iter;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::terminal_text::terminal_text;
use super::{CommandEnd, CommandResult};
use crate::context::ToolContext;
use crate::paths::io_error_text;
use crate::progress::ProgressStream;
use crate::redact::Redactor;
use crate::saved_outputs;

/// The output of a running command.
#[derive(Debug)]
pub(super) struct CommandOutput {
    live: ProgressStream,
    max_bytes: usize,
    max_lines: usize,
    /// The end of the output; all of it while there is no file.
    tail: Vec<u8>,
    bytes: u64,
    line_ends: usize,
    full: FullOutput,
}

impl CommandOutput {
    pub(super) fn new(ctx: &ToolContext) -> CommandOutput {
        CommandOutput {
            live: ctx.progress.stream(),
            max_bytes: ctx.limits.bytes,
            max_lines: ctx.limits.lines,
            tail: Vec::new(),
            bytes: 0,
            line_ends: 0,
            full: FullOutput {
                redactor: Redactor::new(&ctx.secrets),
                root: ctx.artifacts.clone(),
                session: ctx.session_id.clone(),
                bytes_left: ctx.limits.full_output_bytes,
                state: SaveState::NotStarted,
            },
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        let chunk = self.full.redactor.push(chunk);
        self.append(&chunk);
    }

    fn append(&mut self, chunk: &[u8]) {
        self.live.push(chunk);
        self.bytes += chunk.len() as u64;
        self.line_ends += memchr_iter(b'\n', chunk).count();
        self.tail.extend_from_slice(chunk);
        match self.full.state {
            SaveState::NotStarted if self.exceeds_limits() => self.save_all(),
            SaveState::NotStarted => {}
            _ => self.full.write(chunk),
        }
        if self.tail.len() > 2 * self.max_bytes && !matches!(self.full.state, SaveState::NotStarted) {
            self.tail.drain(..self.tail.len() - self.max_bytes - 1);
        }
    }

    /// Writes everything so far, and all later output, to a file.
    pub(super) fn save_all(&mut self) {
        if matches!(self.full.state, SaveState::NotStarted) {
            self.full.create_file();
            self.full.write(&self.tail);
        }
    }

    fn exceeds_limits(&self) -> bool {
        self.bytes > self.max_bytes as u64 || self.lines() > self.max_lines
    }

    fn lines(&self) -> usize {
        self.line_ends + usize::from(self.tail.last().is_some_and(|last| *last != b'\n'))
    }

    /// The result, and the file that receives later output.
    pub(super) fn finish(
        mut self,
        end: CommandEnd,
        took: Duration,
        background: Option<u32>,
    ) -> (CommandResult, FullOutput) {
        // A background process may have printed only a part of a secret so far.
        if background.is_none() {
            let rest = self.full.redactor.finish();
            self.append(&rest);
        }
        let truncated = self.exceeds_limits();
        let tail =
            if truncated { last_lines(&self.tail, self.max_bytes, self.max_lines) } else { &self.tail };
        let result = CommandResult {
            end,
            text: terminal_text(&String::from_utf8_lossy(tail)),
            truncated,
            total_lines: self.lines(),
            total_bytes: self.bytes,
            full_output: self.full.path(),
            save_error: self.full.save_error(),
            duration: took,
            background,
        };
        (result, self.full)
    }
}

/// The last complete lines within the limits, or the end of the last line if it alone is too long.
fn last_lines(tail: &[u8], max_bytes: usize, max_lines: usize) -> &[u8] {
    let body = tail.strip_suffix(b"\n").unwrap_or(tail);
    let by_lines = memchr::memrchr_iter(b'\n', body).nth(max_lines - 1).map_or(0, |at| at + 1);
    let by_bytes = tail.len().saturating_sub(max_bytes);
    if by_lines >= by_bytes {
        return &tail[by_lines..];
    }
    let line_start = memchr::memchr(b'\n', &tail[by_bytes - 1..]).map(|at| by_bytes + at);
    match line_start.filter(|at| *at < tail.len()) {
        Some(at) => &tail[at..],
        None => {
            let broken = tail[by_bytes..].iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
            &tail[by_bytes + broken..]
        }
    }
}

#[derive(Debug)]
enum SaveState {
    NotStarted,
    Open(File, PathBuf),
    /// The file contains only the first part.
    Truncated(PathBuf, String),
    Failed(String),
}

/// The file with the full output.
#[derive(Debug)]
pub(super) struct FullOutput {
    redactor: Redactor,
    root: PathBuf,
    session: String,
    bytes_left: u64,
    state: SaveState,
}

impl FullOutput {
    fn create_file(&mut self) {
        self.state = match saved_outputs::create_output_file(&self.root, &self.session) {
            Ok((file, path)) => SaveState::Open(file, path),
            Err(error) => SaveState::Failed(io_error_text(&error)),
        };
    }

    fn write(&mut self, chunk: &[u8]) {
        let SaveState::Open(file, path) = &mut self.state else { return };
        let fits = chunk.len().min(usize::try_from(self.bytes_left).unwrap_or(usize::MAX));
        self.bytes_left -= fits as u64;
        let problem = match file.write_all(&chunk[..fits]) {
            Ok(()) if fits == chunk.len() => return,
            Ok(()) => "it exceeds the size limit for saved output".to_owned(),
            Err(error) => io_error_text(&error),
        };
        self.state = SaveState::Truncated(std::mem::take(path), problem);
    }

    fn path(&self) -> Option<PathBuf> {
        match &self.state {
            SaveState::Open(_, path) | SaveState::Truncated(path, _) => Some(path.clone()),
            SaveState::NotStarted | SaveState::Failed(_) => None,
        }
    }

    fn save_error(&self) -> Option<String> {
        match &self.state {
            SaveState::Truncated(_, problem) | SaveState::Failed(problem) => Some(problem.clone()),
            SaveState::NotStarted | SaveState::Open(..) => None,
        }
    }

    /// Collects the output of background processes, so that they neither block on a full pipe nor get SIGPIPE.
    pub(super) async fn collect(mut self, mut pipe: Receiver, mut buffer: Vec<u8>) {
        while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
            let redacted = self.redactor.push(&buffer[..count]);
            self.write(&redacted);
        }
        let rest = self.redactor.finish();
        self.write(&rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, bytes: usize, lines: usize) -> &str {
        std::str::from_utf8(last_lines(text.as_bytes(), bytes, lines)).expect("characters are not split")
    }

    #[test]
    fn last_complete_lines_are_kept() {
        assert_eq!(part("a\nb\nc\n", 99, 2), "b\nc\n");
        assert_eq!(part("a\nb\nc", 99, 2), "b\nc");
        assert_eq!(part("aaaa\nbbbb\ncccc\n", 11, 9), "bbbb\ncccc\n");
        assert_eq!(part("aaaa\nbbbb\ncccc\n", 10, 9), "bbbb\ncccc\n");
        assert_eq!(part("aaaa\nbbbb\ncccc\n", 9, 9), "cccc\n");
    }

    #[test]
    fn end_of_a_too_long_line_is_kept() {
        assert_eq!(part("a\nbbbbbbbb", 4, 9), "bbbb");
        assert!(part("éééééééé", 5, 9).chars().all(|c| c == 'é'));
        assert_eq!(part("aaaaaaaa\n", 4, 9), "aaa\n");
    }
}
