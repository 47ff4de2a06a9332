//! The store in a database: the contract, and what it keeps when servers, connections and processes die.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod clear_password;
mod contract;
mod encrypted;
mod failover;
mod holding;
mod keeping;
mod leases;
mod open;
mod outages;
mod passwords;
mod refusals;
mod router;
mod support;
mod writers;
