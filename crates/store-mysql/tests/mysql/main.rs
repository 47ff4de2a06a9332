//! Tests of the MySQL store: the store contract, and durability when servers, connections, and processes fail.
#![allow(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod clear_password;
mod contract;
mod encrypted;
mod failover;
mod leases;
mod open_records;
mod open_sessions;
mod outages;
mod passwords;
mod refusals;
mod router;
mod support;
mod tables;
mod transactions;
mod upgrades;
mod writers;
