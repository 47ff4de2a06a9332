//! Tests of live sessions, mostly over a store in memory with fixed time and ids.

// Test helpers fail by panicking.
#![allow(clippy::unwrap_used)]

mod attaching;
mod broken_store;
mod committing;
mod copying;
mod cursors;
mod drafts;
mod entries;
mod files;
mod leases;
mod moves;
mod opening;
mod processes;
mod replaced;
mod searching;
mod stores;
mod support;
