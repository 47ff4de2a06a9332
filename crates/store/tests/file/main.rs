//! The file store: what it keeps when processes die, disks fill up, others write, and files or caches are not what they
//! should be.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod caches;
mod changing;
mod contract;
mod crash;
mod forged;
mod full;
mod growing;
mod listing;
mod migration;
mod odd_files;
mod process;
mod rewriting;
mod support;
mod torn;
mod watching;
mod writers;
