//! Asks for confirmation on the terminal. Without a terminal, fails with a hint to the option that confirms.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::Result;

use crate::failure::usage_error;

/// Whether the user confirms. `otherwise` is the error message without a terminal.
pub(crate) fn confirm(question: &str, otherwise: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(usage_error(otherwise));
    }
    let mut stderr = std::io::stderr();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
