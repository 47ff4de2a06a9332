//! Writing: standard output buffered, coloured only on a terminal, and quiet when the reader has gone; remarks to
//! standard error.

use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use osier_tools::is_hidden;
use osier_tree::projection::preview::{inert, is_live};
use serde::Serialize;

use crate::home;

/// A role of text, mapped to one of the sixteen colours every terminal and theme has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    Dim,
    Bold,
    Label,
    Active,
    User,
    Bad,
}

/// Standard output.
#[derive(Debug)]
pub(crate) struct Out {
    writer: BufWriter<StdoutLock<'static>>,
    colour: bool,
    is_terminal: bool,
}

impl Out {
    pub(crate) fn new() -> Out {
        Out {
            writer: BufWriter::with_capacity(1 << 16, std::io::stdout().lock()),
            colour: home::wants_colour(),
            is_terminal: std::io::stdout().is_terminal(),
        }
    }

    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        painted(self.colour, style, text)
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.text(text)?;
        self.text("\n")
    }

    /// Text that is inert already, colours and all.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        Ok(self.writer.write_all(text.as_bytes())?)
    }

    /// A piece of JSON, as it is. On a terminal, characters that act there or are invisible are written as escapes: the same JSON.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_terminal {
            return self.text(&escaped(&String::from_utf8_lossy(bytes)));
        }
        Ok(self.writer.write_all(bytes)?)
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        if self.is_terminal {
            self.raw(&serde_json::to_vec(value)?)?;
        } else {
            // As an error of the writer, so that a reader who has gone is recognised.
            serde_json::to_writer(&mut self.writer, value).map_err(std::io::Error::from)?;
        }
        self.text("\n")
    }

    pub(crate) fn done(mut self) -> Result<ExitCode> {
        self.writer.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The same JSON, with escapes for characters that a terminal obeys or nobody sees.
pub(crate) fn escaped(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for ch in json.chars() {
        match ch {
            '\n' | '\t' => safe.push(ch),
            _ if is_live(ch) || is_hidden(ch) => {
                for unit in ch.encode_utf16(&mut [0; 2]) {
                    safe += &format!("\\u{unit:04x}");
                }
            }
            _ => safe.push(ch),
        }
    }
    safe
}

/// Text in a style, if there are to be colours.
pub(crate) fn painted(colour: bool, style: Style, text: &str) -> String {
    if !colour || text.is_empty() {
        return text.to_owned();
    }
    let code = match style {
        Style::Dim => "2",
        Style::Bold => "1",
        Style::Label => "33",
        Style::Active => "32",
        Style::User => "36",
        Style::Bad => "31",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// A remark for the person at the terminal. Whether it can be written changes nothing. While the terminal is drawn on, it is
/// kept: whoever draws asks for it.
pub(crate) fn remark(text: &str) {
    match &mut *kept() {
        Some(kept) => kept.push(inert(text).into_owned()),
        None => drop(writeln!(std::io::stderr(), "{}", inert(text))),
    }
}

/// Remarks that wait, while somebody draws on the terminal.
static KEPT: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn kept() -> MutexGuard<'static, Option<Vec<String>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether nobody but whoever draws may write to the terminal.
pub(crate) fn is_drawn_on() -> bool {
    kept().is_some()
}

/// From now on remarks are kept.
pub(crate) fn keep_remarks() {
    *kept() = Some(Vec::new());
}

/// What was remarked since, without the name of the program before it.
pub(crate) fn kept_remarks() -> Vec<String> {
    let remarks = kept().as_mut().map(std::mem::take).unwrap_or_default();
    remarks.iter().map(|text| text.strip_prefix("osier: ").unwrap_or(text).to_owned()).collect()
}

/// From now on remarks are written again; first those that were kept.
pub(crate) fn write_remarks() {
    let remarks = kept().take();
    remarks.into_iter().flatten().for_each(|text| remark(&text));
}
