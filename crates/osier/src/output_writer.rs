//! Output: buffered standard output, with colors only on a terminal and no error when the reader closes the pipe; notices on
//! standard error.

use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use osier_protocol::is_hidden;
use osier_tree::projection::preview::{is_unsafe_char, sanitize};
use serde::Serialize;

use crate::home;
use crate::progress::{ProgressLine, show_progress};

/// A role of text, mapped to one of the 16 colors that every terminal has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TextStyle {
    Dim,
    Bold,
    Label,
    Active,
    User,
    Error,
}

/// Standard output.
#[derive(Debug)]
pub(crate) struct OutputWriter {
    writer: BufWriter<StdoutLock<'static>>,
    /// Shown until the first output.
    progress: Option<ProgressLine>,
    color: bool,
    is_terminal: bool,
}

impl OutputWriter {
    pub(crate) fn new() -> OutputWriter {
        OutputWriter {
            progress: None,
            writer: BufWriter::with_capacity(1 << 16, std::io::stdout().lock()),
            color: home::wants_color(),
            is_terminal: std::io::stdout().is_terminal(),
        }
    }

    /// Shows a progress line for slow reading until the first output.
    pub(crate) fn for_reading(session: &str) -> OutputWriter {
        OutputWriter { progress: Some(show_progress(&format!("reading {session}"))), ..OutputWriter::new() }
    }

    pub(crate) fn paint(&self, style: TextStyle, text: &str) -> String {
        paint_if(self.color, style, text)
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.text(text)?;
        self.text("\n")
    }

    /// Writes text that is already sanitized and may contain color codes.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes a piece of JSON unchanged. On a terminal, control and invisible characters are written as JSON escapes: the value is
    /// the same.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_terminal {
            return self.text(&escape_json(&String::from_utf8_lossy(bytes)));
        }
        self.write_bytes(bytes)
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.progress = None;
        Ok(self.writer.write_all(bytes)?)
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        if self.is_terminal {
            self.raw(&serde_json::to_vec(value)?)?;
        } else {
            self.progress = None;
            // Convert to an I/O error, so that a broken pipe is recognized.
            serde_json::to_writer(&mut self.writer, value).map_err(std::io::Error::from)?;
        }
        self.text("\n")
    }

    pub(crate) fn finish(mut self) -> Result<ExitCode> {
        self.writer.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The same JSON with control and invisible characters escaped.
pub(crate) fn escape_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for ch in json.chars() {
        match ch {
            '\n' | '\t' => safe.push(ch),
            _ if is_unsafe_char(ch) || is_hidden(ch) => {
                for unit in ch.encode_utf16(&mut [0; 2]) {
                    safe += &format!("\\u{unit:04x}");
                }
            }
            _ => safe.push(ch),
        }
    }
    safe
}

/// The same JSON with DEL and the control characters from U+0080 to U+009F escaped. JSON requires that only for those below
/// U+0020, but some terminals execute the others too, and output in a pipe often ends in a terminal.
pub(crate) fn escape_c1(json: String) -> String {
    let is_control = |ch: char| ('\u{7f}'..='\u{9f}').contains(&ch);
    match json.contains(is_control) {
        true => json
            .chars()
            .map(|ch| if is_control(ch) { format!("\\u{:04x}", ch as u32) } else { ch.to_string() })
            .collect(),
        false => json,
    }
}

/// Text in a style, if `color` is set.
pub(crate) fn paint_if(color: bool, style: TextStyle, text: &str) -> String {
    if !color || text.is_empty() {
        return text.to_owned();
    }
    let code = match style {
        TextStyle::Dim => "2",
        TextStyle::Bold => "1",
        TextStyle::Label => "33",
        TextStyle::Active => "32",
        TextStyle::User => "36",
        TextStyle::Error => "31",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Prints a notice on standard error and ignores write errors. While the terminal interface is active, the notice is held until
/// the interface takes it.
pub(crate) fn notice(text: &str) {
    match &mut *held_notices() {
        Some(kept) => kept.push(sanitize(text).into_owned()),
        None => drop(writeln!(std::io::stderr(), "{}", sanitize(text))),
    }
}

/// The held notices; `None` while no terminal interface is active.
static HELD_NOTICES: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn held_notices() -> MutexGuard<'static, Option<Vec<String>>> {
    HELD_NOTICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the terminal interface is active, so that nothing else may write to the terminal.
pub(crate) fn is_interface_active() -> bool {
    held_notices().is_some()
}

/// Holds notices from now on.
pub(crate) fn hold_notices() {
    *held_notices() = Some(Vec::new());
}

/// Takes the held notices, without the `osier: ` prefix.
pub(crate) fn take_held_notices() -> Vec<String> {
    let remarks = held_notices().as_mut().map(std::mem::take).unwrap_or_default();
    remarks.iter().map(|text| text.strip_prefix("osier: ").unwrap_or(text).to_owned()).collect()
}

/// Prints the held notices, and prints later ones directly again.
pub(crate) fn release_notices() {
    let remarks = held_notices().take();
    remarks.into_iter().flatten().for_each(|text| notice(&text));
}
