//! The handlers, one file per resource. A handler translates a request into one operation, and its result into a response.

pub(crate) mod access;
pub(crate) mod branches;
pub(crate) mod commands;
pub(crate) mod engine;
pub(crate) mod entries;
pub(crate) mod explores;
pub(crate) mod queries;
pub(crate) mod rendered;
pub(crate) mod sessions;
pub(crate) mod snapshot;
pub(crate) mod tasks;
pub(crate) mod typed_entries;

use serde::{Deserialize, Deserializer};

/// Distinguishes `null` from a missing field.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(value: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}
