//! Exports in a real browser.

#![allow(clippy::unwrap_used)]

mod colors;
mod hostile;
mod large;
mod page;
mod support;
