//! A program in a terminal, for scripts. The arguments are the program and its arguments. Each line of standard input is JSON,
//! `{"keys": "…", "until": "…"}`: the keys are pressed, and the screen is printed as a JSON string when it shows the text, or no longer
//! changes.

use std::io::{BufRead, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::json;
use crate::pty::Pty;

const COLUMNS: u16 = 100;
const ROWS: u16 = 40;
/// A screen that has not changed for this long is complete.
const QUIET: Duration = Duration::from_millis(1500);
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (program, rest) = arguments.split_first().context("no program given")?;
    let mut command = Command::new(program);
    command.args(rest);
    let mut pty = Pty::start(command, COLUMNS, ROWS)?;
    for line in std::io::stdin().lock().lines() {
        let wanted: Value = json::parse(line?.as_bytes())?;
        pty.press(wanted["keys"].as_str().unwrap_or_default())?;
        wait(&mut pty, wanted["until"].as_str())?;
        println!("{}", Value::from(pty.text()));
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Waits until the screen shows the text, or else until it no longer changes.
fn wait(pty: &mut Pty, until: Option<&str>) -> Result<()> {
    let began = Instant::now();
    let mut changed = Instant::now();
    while began.elapsed() < TIMEOUT {
        let before = pty.text();
        pty.read(Duration::from_millis(50))?;
        if pty.text() != before {
            changed = Instant::now();
        }
        let is_shown = until.is_none_or(|text| pty.text().contains(text));
        if is_shown && changed.elapsed() > QUIET {
            break;
        }
    }
    Ok(())
}
