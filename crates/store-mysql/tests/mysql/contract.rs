//! The store contract, on a real server.

use crate::support::FreshDatabase;

osier_store::contract_tests!(FreshDatabase::default());
