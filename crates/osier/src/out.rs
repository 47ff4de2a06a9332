//! Writing: standard output buffered, coloured only on a terminal, and quiet when the reader has gone; remarks to
//! standard error.

use std::io::{BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use anyhow::Result;
use osier_tree::projection::preview::inert;
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
}

impl Out {
    pub(crate) fn new() -> Out {
        Out {
            writer: BufWriter::with_capacity(1 << 16, std::io::stdout().lock()),
            colour: home::wants_colour(),
        }
    }

    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if !self.colour || text.is_empty() {
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

    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.raw(text.as_bytes())?;
        self.raw(b"\n")
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.writer.write_all(bytes)?)
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        // As an error of the writer, so that a reader who has gone is recognised.
        serde_json::to_writer(&mut self.writer, value).map_err(std::io::Error::from)?;
        self.raw(b"\n")
    }

    pub(crate) fn done(mut self) -> Result<ExitCode> {
        self.writer.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A remark for the person at the terminal. Whether it can be written changes nothing.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", inert(text));
}
