//! What can go wrong with the interface as a whole. Anything less is a line on the screen.

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the terminal cannot be used")]
    Terminal(#[from] std::io::Error),
    #[error(transparent)]
    Agent(#[from] osier_agent::Error),
}
