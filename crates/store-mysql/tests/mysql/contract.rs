//! The contract of all stores, over a real server.

use crate::support::Fresh;

osier_store::contract_tests!(Fresh::default());
