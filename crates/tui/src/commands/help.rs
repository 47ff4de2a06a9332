//! `/help`: commands and keys.

use super::{Spec, all};
use crate::msg::Action;
use crate::overlay::{Reader, key_words};
use crate::state::UiState;
use crate::text::{Line, Style, wrap};
use crate::theme::ColorRole;

pub(super) const COMMAND: Spec =
    Spec { name: "help", aliases: &[], arguments: "", help: "commands and keys", run };

const KEYS: &[(&str, &str)] = &[
    ("enter", "say it; while it works, before the model is asked next"),
    ("alt+enter", "while it works: say it when the turn ends; else a new line"),
    ("ctrl+j, shift+enter", "a new line"),
    ("escape", "stop what goes on; twice: the tree"),
    ("ctrl+c", "stop, empty the editor, leave"),
    ("ctrl+d", "leave; asks while something runs"),
    ("alt+t", "the tree"),
    ("alt+u, alt+r", "undo and redo a move"),
    ("alt+up", "take back what waits to be said"),
    ("shift+tab", "think more, or less"),
    ("up, down", "at the edge of the text: what you typed before, in other sessions too"),
    ("ctrl+r", "search what you typed before"),
    ("ctrl+o", "unfold the screen, or fold it"),
    ("ctrl+g", "write in your own editor"),
    ("ctrl+v", "an image from the clipboard; or paste its path"),
    ("ctrl+_, alt+_", "undo and redo what was typed"),
    ("ctrl+z", "to the shell; fg comes back"),
    ("ctrl+l", "clear the screen and draw it"),
    ("!command, !!command", "run it; with two the model does not see it"),
    ("@file", "name a file"),
];

fn run(state: &mut UiState, _words: &str) -> Vec<Action> {
    let commands = all().map(|spec| {
        let names = spec.aliases.iter().map(|alias| format!(", /{alias}")).collect::<String>();
        (format!("/{}{names} {}", spec.name, spec.arguments), spec.help)
    });
    let templates = state.config.templates.clone();
    let templates = templates.iter().map(|(name, help)| (format!("/{name}"), help.as_str()));
    let keys = KEYS.iter().map(|(name, told)| ((*name).to_owned(), *told));
    let tree = key_words(&state.config).into_iter().map(|(key, word)| (format!("tree: {key}"), word));
    let rows = commands.chain(templates).chain(keys).chain(tree);
    let lines = rows.flat_map(|(name, told)| row(&name, told, state.columns)).collect();
    state.overlays.push(Box::new(Reader::new("Help", lines)));
    Vec::new()
}

/// A name and what it means, beside it or below it.
fn row(name: &str, told: &str, columns: usize) -> Vec<Line> {
    let name = Line::styled(Style::from(ColorRole::Accent).bold(), &format!("  {name:<22} "));
    let told = Line::styled(ColorRole::Text, told);
    let beside = columns >= 70;
    let room = columns.saturating_sub(if beside { name.width() } else { 6 });
    let mut told = wrap(&told, room).into_iter();
    let mut lines = vec![name];
    if beside {
        lines[0].spans.extend(told.next().unwrap_or_default().spans);
    }
    let blank = " ".repeat(columns - room);
    lines.extend(told.map(|line| line.prepend(ColorRole::Text, &blank)));
    lines
}
