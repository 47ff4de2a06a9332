//! The engine of this process as clients see it. [`LocalEngine`] opens each session with the settings of its directory and does
//! everything that a client can request. The terminal, print mode, RPC and the gateway all use it.
//!
//! Errors carry a code and facts; the caller adds hints.
//!
//! | file | contents |
//! |---|---|
//! | `local_engine.rs` | the engine, its options, and the settings of a directory |
//! | `prepare.rs`, `prepared_session.rs` | choosing the session to open; opening it and connecting to its agent |
//! | `agent_setup.rs`, `leaving.rs` | the agent of a session; leaving another session for it |
//! | `requests.rs` | requests that need no open session: list, rename, delete, settings |
//! | `session_operations.rs` | operations on stored sessions |
//! | `error.rs` | the errors |

mod agent_setup;
mod error;
mod leaving;
mod local_engine;
mod prepare;
mod prepared_session;
mod requests;
mod session_operations;

pub use agent_setup::AgentSetup;
pub use error::LocalEngineError;
pub use local_engine::{LocalEngine, LocalEngineOptions};
pub use prepared_session::{LocalSession, PreparedSession};
