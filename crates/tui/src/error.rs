//! Errors that end the interface, and errors as text. All other errors are notices on the screen.

use osier_protocol::{ClientError, sanitize};

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("cannot use the terminal")]
    Terminal(#[from] std::io::Error),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// An error and its causes as text. Leaves out a cause that the error above it already contains. Indents all lines but the
/// first, so that none of them looks like a separate message.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    join_causes(std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string))
}

/// Joins the texts of an error and of its causes, as [`error_chain`] does.
pub fn join_causes(texts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in texts {
        if parts.last().is_none_or(|last| !contains_message(last, &cause)) {
            parts.push(cause);
        }
    }
    sanitize(&parts.join(": ")).trim_end().replace('\n', "\n  ")
}

/// Whether a text contains another, ignoring case and the error number that the system appends.
fn contains_message(text: &str, other: &str) -> bool {
    let words = other.split(" (os error").next().unwrap_or(other);
    text.to_lowercase().contains(&words.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Caused(&'static str, #[source] std::io::Error);

    #[test]
    fn a_cause_that_the_message_already_contains_is_left_out() {
        let refused = || std::io::Error::from_raw_os_error(111);
        let chain = |text| error_chain(&Caused(text, refused()));
        assert_eq!(
            chain("team is down: connection refused; is it on?"),
            "team is down: connection refused; is it on?"
        );
        assert_eq!(chain("team is down"), "team is down: Connection refused (os error 111)");
    }
}
