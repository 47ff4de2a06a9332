//! Asking before something is done that somebody may not have meant. Without a terminal nobody is asked, and the option is
//! named that says yes.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::Result;

use crate::failure::usage;

/// Whether the person at the terminal says yes. `otherwise` tells what to do where there is none.
pub(crate) fn agreed(question: &str, otherwise: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(usage(otherwise));
    }
    let mut stderr = std::io::stderr();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
