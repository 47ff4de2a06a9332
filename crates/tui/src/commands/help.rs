//! `/help`: shows commands and keys.

use osier_protocol::query::CommandSource;

use super::{SlashCommand, all};
use crate::msg::Action;
use crate::overlay::{HelpGroup, HelpPage, key_help};
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand =
    SlashCommand { name: "help", aliases: &[], arguments: "", help: "show commands and keys", run };

/// The commands of each group. Commands that are in no group are listed last.
const COMMAND_GROUPS: &[(&str, &[&str])] = &[
    (
        "Tree commands",
        &["tree", "undo", "redo", "fork", "branch", "label", "compare", "graft", "compact", "compaction"],
    ),
    ("Session commands", &["resume", "new", "name", "session", "cost", "copy", "export"]),
    ("Model commands", &["model", "thinking", "approval", "retry"]),
];

const WRITING_KEYS: &[(&str, &str)] = &[
    ("enter", "send; while a turn runs, the model gets it with its next call"),
    ("alt+enter", "while a turn runs: send when it ends; otherwise insert a newline"),
    ("ctrl+j, shift+enter", "insert a newline"),
    ("@file", "attach a file"),
    ("!command, !!command", "run a command; with !! the model does not see it"),
    ("up, down", "at the edge of the text: browse the prompt history of all sessions"),
    ("ctrl+r", "search the prompt history"),
    ("ctrl+g", "edit the draft in an external editor"),
    ("ctrl+v", "paste an image from the clipboard; or paste its path"),
    ("ctrl+_, alt+_", "undo or redo typing"),
];

const CONTROL_KEYS: &[(&str, &str)] = &[
    ("esc", "stop the turn or command; twice: open the tree"),
    ("ctrl+c", "stop, clear the editor, or quit"),
    ("ctrl+d", "quit; asks first while something is running"),
    ("alt+t", "open the tree"),
    ("alt+u, alt+r", "undo or redo a move"),
    ("alt+a", "open a task of a sub-agent; in its session: return"),
    ("alt+up", "take queued messages back into the editor"),
    ("shift+tab", "change the thinking level"),
    ("ctrl+o", "expand or collapse long output"),
    ("ctrl+z", "suspend to the shell; fg returns"),
    ("ctrl+l", "clear and redraw the screen"),
];

fn run(state: &mut UiState, _words: &str) -> Vec<Action> {
    let prompt_commands = |is_of_extension: bool| {
        let all = state.prompt_commands.iter();
        let fitting =
            all.filter(move |command| (command.source == CommandSource::Extension) == is_of_extension);
        fitting.map(|command| (format!("/{}", command.name), command.description.clone())).collect()
    };
    let tree = key_help(&state.config).into_iter().map(|(key, word)| (key, word.to_owned()));
    let mut groups = vec![key_group("Writing", WRITING_KEYS), key_group("Keys", CONTROL_KEYS)];
    groups.extend(command_groups());
    groups.push(HelpGroup { title: "Extensions", rows: prompt_commands(true) });
    groups.push(HelpGroup { title: "Templates and skills", rows: prompt_commands(false) });
    groups.push(HelpGroup { title: "Keys of the tree", rows: tree.collect() });
    state.overlays.push(Box::new(HelpPage::new(groups)));
    Vec::new()
}

fn key_group(title: &'static str, keys: &[(&str, &str)]) -> HelpGroup {
    HelpGroup {
        title,
        rows: keys.iter().map(|(key, help)| ((*key).to_owned(), (*help).to_owned())).collect(),
    }
}

fn command_groups() -> Vec<HelpGroup> {
    let row = |spec: &SlashCommand| {
        let aliases = spec.aliases.iter().map(|alias| format!(", /{alias}")).collect::<String>();
        (format!("/{}{aliases} {}", spec.name, spec.arguments).trim_end().to_owned(), spec.help.to_owned())
    };
    let is_grouped =
        |spec: &&SlashCommand| COMMAND_GROUPS.iter().any(|(_, names)| names.contains(&spec.name));
    let mut groups: Vec<HelpGroup> = COMMAND_GROUPS
        .iter()
        .map(|(title, names)| {
            let specs = names.iter().filter_map(|name| all().find(|spec| spec.name == *name));
            HelpGroup { title, rows: specs.map(row).collect() }
        })
        .collect();
    let others = all().filter(|spec| !is_grouped(spec)).map(row).collect();
    groups.push(HelpGroup { title: "Other commands", rows: others });
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let rows: Vec<String> =
            command_groups().into_iter().flat_map(|group| group.rows).map(|(name, _)| name).collect();
        assert_eq!(rows.len(), all().count());
        for spec in all() {
            let name = format!("/{}", spec.name);
            let count = rows.iter().filter(|row| row.split([' ', ',']).next() == Some(&name)).count();
            assert_eq!(count, 1, "{name}");
        }
    }
}
