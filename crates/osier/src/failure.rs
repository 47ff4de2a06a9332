//! What a failure looks like from outside: one place for text and exit code.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Error;
use osier_tree::PlanError;

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
    if error.chain().any(is_usage) { ExitCode::from(2) } else { ExitCode::FAILURE }
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

fn is_usage(cause: &(dyn std::error::Error + 'static)) -> bool {
    let plan = cause.downcast_ref::<PlanError>().or_else(|| match cause.downcast_ref() {
        Some(osier_session::Error::Plan(plan)) => Some(plan),
        _ => None,
    });
    cause.is::<Usage>()
        || matches!(
            plan,
            Some(PlanError::NotAnEntry { .. } | PlanError::Empty { .. } | PlanError::WrongSetting { .. })
        )
}

/// An error as the interface tells it.
pub(crate) fn told(error: &Error) -> String {
    osier_tui::told(error.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn an_error_says_each_thing_once_and_stays_below_its_own_name() {
        let error = anyhow!("disk full").context("cannot write a\nosier: all is well").context("cannot save");
        assert_eq!(told(&error), "cannot save: cannot write a\n  osier: all is well: disk full");
        let passed_on = osier_session::Error::from(PlanError::NothingToUndo);
        assert_eq!(told(&passed_on.into()), "there is no move to undo");
    }
}
