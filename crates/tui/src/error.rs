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
        if parts.last().is_none_or(|last| !last.contains(&cause)) {
            parts.push(cause);
        }
    }
    inert(&parts.join(": ")).trim_end().replace('\n', "\n  ")
}
