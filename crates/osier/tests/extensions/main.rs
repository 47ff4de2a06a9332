//! Extensions in the real binary: print mode, JSON mode and RPC. One file per subject.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod basics;
mod command_line;
mod confinement;
mod discovery;
mod failures;
mod grants;
mod hostile;
mod npm;
mod packages;
mod restarts;
mod support;
mod switching;
