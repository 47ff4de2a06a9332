//! The contract every store keeps.
