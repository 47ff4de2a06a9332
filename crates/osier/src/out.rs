//! Writing to standard output: buffered, coloured only on a terminal, and quiet when the reader has gone.

use std::io::{BufWriter, StdoutLock, Write};

use anyhow::Result;
use osier_tree::time::Millis;
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
        self.writer.write_all(text.as_bytes())?;
        self.writer.write_all(b"\n")?;
        Ok(())
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes)?;
        Ok(())
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.writer, value)?;
        self.writer.write_all(b"\n")?;
        Ok(())
    }

    pub(crate) fn done(mut self) -> Result<std::process::ExitCode> {
        self.writer.flush()?;
        Ok(std::process::ExitCode::SUCCESS)
    }
}

/// How long ago, in one unit.
pub(crate) fn age(then: Millis, now: Millis) -> String {
    let minutes = (now - then).max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1_440 => format!("{}h", minutes / 60),
        1_440..20_160 => format!("{}d", minutes / 1_440),
        20_160..86_400 => format!("{}w", minutes / 10_080),
        86_400..525_600 => format!("{}mo", minutes / 43_200),
        _ => format!("{}y", minutes / 525_600),
    }
}

/// Text cut to a number of columns, with an ellipsis where something is missing.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let kept = text.chars().take_while(|ch| {
        used += ch.width().unwrap_or(0);
        used < columns
    });
    kept.chain(['…']).collect()
}
