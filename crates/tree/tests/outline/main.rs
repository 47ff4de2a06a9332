//! Drawings of the tree view.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

mod active;
mod filters;
mod folding;
mod search;
mod shape;
mod size;

use expect_test::{Expect, expect};
use osier_testkit::{Script, check, draw_with};
use osier_tree::projection::outline::{Filter, Glyphs, Options, Order};

fn with(options: Options) -> impl Fn(&str, Expect) {
    move |script, expected| expected.assert_eq(&draw_with(&Script::run(script), &options, Glyphs::Plain))
}

fn filtered(filter: Filter) -> impl Fn(&str, Expect) {
    with(Options { filter, ..Options::default() })
}
