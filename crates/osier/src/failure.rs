//! What a failure looks like from outside: one place for text and exit code.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Error;

/// The caller asked for something that cannot be meant.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

pub(crate) fn usage(text: impl Into<String>) -> Error {
    Error::new(Usage(text.into()))
}

/// Tells what went wrong, and gives the exit code for it.
pub(crate) fn report(error: &Error) -> ExitCode {
    // Whoever closed the pipe has read enough.
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let _ = writeln!(std::io::stderr(), "osier: {}", told(error));
    if error.downcast_ref::<Usage>().is_some() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The causes, each once: an error that only passes another on says nothing new.
fn told(error: &Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if parts.last().is_none_or(|last| *last != cause) {
            parts.push(osier_tree::projection::preview::inert(&cause).into_owned());
        }
    }
    parts.join(": ")
}
