//! Slash commands, each in its own file with its help text. An unknown command suggests the nearest one.

mod agents;
mod approval;
mod branch;
mod compact;
mod compaction;
mod compare;
mod copy;
mod cost;
mod explore;
mod export;
mod fork;
mod graft;
mod help;
mod label;
mod model;
mod name;
mod new;
mod quit;
mod redo;
mod resume;
mod retry;
mod session;
mod settings;
mod thinking;
mod tour;
mod tree;
mod undo;

use osier_protocol::query::PromptCommand;

use crate::completion::CompletionItem;
use crate::msg::Action;
use crate::state::UiState;
use crate::update::show_error;

/// A slash command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlashCommand {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) arguments: &'static str,
    pub(crate) help: &'static str,
    run: fn(&mut UiState, &str) -> Vec<Action>,
}

const COMMANDS: &[SlashCommand] = &[
    help::COMMAND,
    tree::COMMAND,
    model::COMMAND,
    resume::COMMAND,
    new::COMMAND,
    compact::COMMAND,
    fork::COMMAND,
    branch::COMMAND,
    copy::COMMAND,
    cost::COMMAND,
    session::COMMAND,
    name::COMMAND,
    label::COMMAND,
    compaction::COMMAND,
    thinking::COMMAND,
    approval::COMMAND,
    agents::COMMAND,
    explore::COMMAND,
    undo::COMMAND,
    redo::COMMAND,
    compare::COMMAND,
    graft::COMMAND,
    export::COMMAND,
    retry::COMMAND,
    settings::COMMAND,
    tour::COMMAND,
    quit::COMMAND,
];

/// The names that the terminal itself handles.
pub fn command_names() -> Vec<String> {
    all()
        .flat_map(|spec| [&spec.name].into_iter().chain(spec.aliases))
        .map(|name| (*name).to_owned())
        .collect()
}

pub(crate) fn all() -> impl Iterator<Item = &'static SlashCommand> {
    COMMANDS.iter()
}

/// Commands, templates and skills for completion. Aliases are offered once their first letters are typed.
pub(crate) fn completions(state: &UiState, typed: &str) -> Vec<CompletionItem> {
    let typed = typed.trim_start_matches('/');
    let own = COMMANDS.iter().flat_map(|spec| {
        let aliases = spec.aliases.iter().filter(|alias| !typed.is_empty() && alias.starts_with(typed));
        std::iter::once(&spec.name).chain(aliases).map(|name| (*name, spec.help))
    });
    let templates =
        state.prompt_commands.iter().map(|command| (command.name.as_str(), command.description.as_str()));
    let fit = |(name, help): (&str, &str)| CompletionItem {
        text: format!("/{name}"),
        description: help.to_owned(),
        uses: use_count(state, name),
        editor_text: None,
    };
    own.chain(templates).map(fit).collect()
}

/// How often a command is in the prompt history.
fn use_count(state: &UiState, name: &str) -> usize {
    let is_use = |text: &&String| {
        text.strip_prefix('/').is_some_and(|text| text.split_whitespace().next() == Some(name))
    };
    state.editor.history.texts().filter(is_use).count()
}

/// Runs the typed text if it is a command. An unknown command stays in the editor.
pub(crate) fn run(state: &mut UiState, typed: &str) -> Option<Vec<Action>> {
    let rest = typed.strip_prefix('/').filter(|rest| is_command(rest))?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if let Some(spec) = COMMANDS.iter().find(|spec| spec.name == name || spec.aliases.contains(&name)) {
        state.editor.take_text();
        return Some((spec.run)(state, words.trim()));
    }
    if name.starts_with("skill:") || state.prompt_commands.iter().any(|command| command.name == name) {
        return None;
    }
    show_error(state, &format!("unknown command /{name}; {}", suggestion(name)));
    Some(Vec::new())
}

/// Why a prompt is not sent without the terminal: it names a command that exists only there, or not at all.
pub fn command_problem(text: &str, prompt_commands: &[PromptCommand]) -> Option<String> {
    let name = text.strip_prefix('/').filter(|rest| is_command(rest))?.split_whitespace().next()?;
    if name.starts_with("skill:") || prompt_commands.iter().any(|command| command.name == name) {
        return None;
    }
    Some(match named_in(text) {
        Some(_) => format!("/{name} is a command of the terminal; run `osier` and type it there"),
        None => format!("unknown command /{name}; to send it to the model, put a space before it"),
    })
}

/// The command of Osier that a text names.
pub(crate) fn named_in(text: &str) -> Option<&'static str> {
    let rest = text.strip_prefix('/').filter(|rest| is_command(rest))?;
    let name = rest.split_whitespace().next()?;
    let found = COMMANDS.iter().find(|spec| spec.name == name || spec.aliases.contains(&name));
    found.map(|spec| spec.name)
}

/// Commands of other agents, and what does the same here.
const FOREIGN_COMMANDS: &[(&[&str], &str)] = &[
    (&["rewind", "checkpoint", "restore"], "/tree moves to an earlier message, /undo undoes a move"),
    (&["permissions", "approvals", "allowed-tools"], "/approval shows what runs without a question"),
    (&["theme", "color", "output-style", "keybindings"], "/settings changes themes and more"),
    (&["diff"], "!git diff shows changes of files, /compare compares branches"),
    (&["login", "logout"], "set the key of a provider in the environment, then choose a model with /model"),
    (&["context", "status", "stats"], "/session and /cost show the session and its tokens"),
    (&["models"], "/model lists models"),
    (&["continue"], "/retry continues an unfinished turn, /resume opens another session"),
    (&["share"], "/export writes the session to a file"),
    (&["init", "memory"], "write AGENTS.md in your project; the model reads it"),
    (&["bug", "doctor"], "`osier doctor` checks the installation"),
];

/// How similar a name must be to be suggested.
const MIN_SIMILARITY: f64 = 0.8;

fn suggestion(name: &str) -> String {
    if let Some((_, hint)) = FOREIGN_COMMANDS.iter().find(|(names, _)| names.contains(&name)) {
        return (*hint).to_owned();
    }
    let similarity = |known: &str| strsim::jaro_winkler(known, name);
    let names = COMMANDS.iter().flat_map(|spec| std::iter::once(&spec.name).chain(spec.aliases));
    let near = names.max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    match near.filter(|near| similarity(near) >= MIN_SIMILARITY) {
        Some(near) => format!("did you mean /{near}?"),
        None => "/help lists the commands".to_owned(),
    }
}

/// Whether the text after the slash is a command. A path also starts with a slash, but is part of a prompt.
fn is_command(rest: &str) -> bool {
    let first = rest.split_whitespace().next().unwrap_or_default();
    rest.starts_with(char::is_alphabetic) && !first.contains('/')
}
