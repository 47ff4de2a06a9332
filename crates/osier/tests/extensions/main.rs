//! Extensions in the real binary: print mode, JSON mode and RPC. One file per subject.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod basics;
mod discovery;
mod failures;
mod grants;
mod hostile;
mod packages;
mod support;
mod switching;
