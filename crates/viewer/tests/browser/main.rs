//! Exports in a real browser.

mod hostile;
mod large;
mod page;
mod support;
