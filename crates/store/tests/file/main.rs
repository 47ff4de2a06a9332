//! The file store: what it keeps when processes die, disks fill up, others write, and files or caches are not what they
//! should be.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod contract;
mod crash;
mod process;
mod support;
