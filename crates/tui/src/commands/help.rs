//! `/help`: shows commands and keys.

use super::{SlashCommand, all};
use crate::msg::Action;
use crate::overlay::{Pager, key_help};
use crate::state::UiState;
use crate::text::{Line, Style, wrap};
use crate::theme::ColorRole;

pub(super) const COMMAND: SlashCommand =
    SlashCommand { name: "help", aliases: &[], arguments: "", help: "show commands and keys", run };

const KEY_HELP: &[(&str, &str)] = &[
    ("enter", "send; while a turn runs, the model gets it with its next call"),
    ("alt+enter", "while a turn runs: send when it ends; otherwise insert a newline"),
    ("ctrl+j, shift+enter", "insert a newline"),
    ("esc", "stop the turn or command; twice: open the tree"),
    ("ctrl+c", "stop, clear the editor, or quit"),
    ("ctrl+d", "quit; asks first while something is running"),
    ("alt+t", "open the tree"),
    ("alt+u, alt+r", "undo or redo a move"),
    ("alt+up", "take queued messages back into the editor"),
    ("shift+tab", "change the thinking level"),
    ("up, down", "at the edge of the text: browse the prompt history of all sessions"),
    ("ctrl+r", "search the prompt history"),
    ("ctrl+o", "expand or collapse long output"),
    ("ctrl+g", "edit the draft in an external editor"),
    ("ctrl+v", "paste an image from the clipboard; or paste its path"),
    ("ctrl+_, alt+_", "undo or redo typing"),
    ("ctrl+z", "suspend to the shell; fg returns"),
    ("ctrl+l", "clear and redraw the screen"),
    ("!command, !!command", "run a command; with !! the model does not see it"),
    ("@file", "attach a file"),
];

fn run(state: &mut UiState, _words: &str) -> Vec<Action> {
    let commands = all().map(|spec| {
        let names = spec.aliases.iter().map(|alias| format!(", /{alias}")).collect::<String>();
        (format!("/{}{names} {}", spec.name, spec.arguments), spec.help)
    });
    let templates = state.prompt_commands.clone();
    let templates =
        templates.iter().map(|command| (format!("/{}", command.name), command.description.as_str()));
    let keys = KEY_HELP.iter().map(|(name, help)| ((*name).to_owned(), *help));
    let tree = key_help(&state.config).into_iter().map(|(key, word)| (format!("tree: {key}"), word));
    let rows = commands.chain(templates).chain(keys).chain(tree);
    let lines = rows.flat_map(|(name, help)| help_row(&name, help, state.columns)).collect();
    state.overlays.push(Box::new(Pager::new("Help", lines)));
    Vec::new()
}

/// A name with its help text, next to it or below it.
fn help_row(name: &str, help: &str, columns: usize) -> Vec<Line> {
    let name = Line::styled(Style::from(ColorRole::Accent).bold(), &format!("  {name:<22} "));
    let help = Line::styled(ColorRole::Text, help);
    let is_wide = columns >= 70;
    let available_width = columns.saturating_sub(if is_wide { name.width() } else { 6 });
    let mut help = wrap(&help, available_width).into_iter();
    let mut lines = vec![name];
    if is_wide {
        lines[0].spans.extend(help.next().unwrap_or_default().spans);
    }
    let blank = " ".repeat(columns - available_width);
    lines.extend(help.map(|line| line.prepend(ColorRole::Text, &blank)));
    lines
}
