//! The file store under crashes, full disks, concurrent writers, and damaged files and caches.
#![allow(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod caches;
mod changing;
mod contract;
mod crash;
mod forged;
mod full;
mod growing;
mod indexed_heads;
mod listing;
mod migration;
mod odd_files;
mod process;
mod rewriting;
mod support;
mod texts;
mod torn;
mod watching;
mod writers;
