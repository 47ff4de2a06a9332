//! The store contract, on a real server.

use crate::support::Fresh;

osier_store::contract_tests!(Fresh::default());
