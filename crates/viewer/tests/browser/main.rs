//! Exports in a real browser.

#![allow(clippy::unwrap_used)]

mod hostile;
mod large;
mod page;
mod screens;
mod support;
