//! `/help`: commands and keys.`

use super::{Spec, all};
use crate::msg::Action;
use crate::overlay::Reader;
use crate::state::State;
use crate::text::{Line, Style};
use crate::theme::Role;

pub(super) const COMMAND: Spec =
    Spec { name: "help", aliases: &[], arguments: "", help: "commands and keys", run };

const KEYS: &[(&str, &str)] = &[
    ("enter", "say it; while it works, before the model is asked next"),
    ("alt+enter", "while it works: say it when the turn ends; else a new line"),
    ("ctrl+j, shift+enter", "a new line"),
    ("escape", "stop what goes on; twice: the tree"),
    ("ctrl+c", "stop, empty the editor, leave"),
    ("ctrl+d", "leave"),
    ("alt+t", "the tree"),
    ("alt+u, alt+r", "undo and redo a move"),
    ("alt+up", "take back what waits to be said"),
    ("shift+tab", "think more, or less"),
    ("ctrl+o", "show all, or fold"),
    ("ctrl+g", "write in your own editor"),
    ("ctrl+l", "draw everything again"),
    ("!command, !!command", "run it; with two the model does not see it"),
    ("@file", "name a file"),
];

fn run(state: &mut State, _words: &str) -> Vec<Action> {
    let mut lines: Vec<Line> = Vec::new();
    let mut row = |name: &str, told: &str| {
        let line =
            Line::of(Style::from(Role::Accent).bold(), &format!("  {name:<22}")).with(Role::Text, told);
        lines.push(line);
    };
    for spec in all() {
        row(&format!("/{} {}", spec.name, spec.arguments), spec.help);
    }
    for (name, told) in KEYS {
        row(name, told);
    }
    state.overlays.push(Box::new(Reader::new("Help", lines)));
    Vec::new()
}
