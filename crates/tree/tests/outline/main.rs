//! Drawings of the tree view.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

mod active;
mod filters;
mod folding;
mod search;
mod shape;
mod size;

use expect_test::{Expect, expect};
use osier_testkit::{ScriptedSession, check, draw_with};
use osier_tree::projection::outline::{Glyphs, OutlineFilter, OutlineOptions, OutlineStyle, SiblingOrder};

fn with(options: OutlineOptions) -> impl Fn(&str, Expect) {
    move |script, expected| {
        expected.assert_eq(&draw_with(&ScriptedSession::run(script), &options, Glyphs::Plain));
    }
}

fn filtered(filter: OutlineFilter) -> impl Fn(&str, Expect) {
    with(OutlineOptions { filter, ..OutlineOptions::default() })
}
