//! What can go wrong with the interface as a whole, and how a person is told of an error. Anything less is a line on the
//! screen.

use osier_tree::projection::preview::inert;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the terminal cannot be used")]
    Terminal(#[from] std::io::Error),
    #[error(transparent)]
    Agent(#[from] osier_agent::Error),
}

/// An error with its causes, each once: one that only passes another on says nothing new. Further lines are set in, so that
/// none of them can pass for a message of its own.
pub fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string) {
        if parts.last().is_none_or(|last| !says(last, &cause)) {
            parts.push(cause);
        }
    }
    inert(&parts.join(": ")).trim_end().replace('\n', "\n  ")
}

/// Whether a text holds another, but for capitals and the number that the system adds to its own words.
fn says(text: &str, other: &str) -> bool {
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
    fn a_cause_that_was_told_is_not_told_again() {
        let refused = || std::io::Error::from_raw_os_error(111);
        let told_of = |text| told(&Caused(text, refused()));
        assert_eq!(
            told_of("team is down: connection refused; is it on?"),
            "team is down: connection refused; is it on?"
        );
        assert_eq!(told_of("team is down"), "team is down: Connection refused (os error 111)");
    }
}
