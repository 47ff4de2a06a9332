//! Commands that begin with a slash, each in its own file with its help. An unknown one names the nearest.

mod approval;
mod branch;
mod compact;
mod compaction;
mod compare;
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
mod tree;
mod undo;

use crate::msg::Action;
use crate::state::State;
use crate::update::complain;

/// A command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) arguments: &'static str,
    pub(crate) help: &'static str,
    run: fn(&mut State, &str) -> Vec<Action>,
}

const ALL: &[Spec] = &[
    tree::COMMAND,
    fork::COMMAND,
    branch::COMMAND,
    resume::COMMAND,
    new::COMMAND,
    name::COMMAND,
    label::COMMAND,
    session::COMMAND,
    compact::COMMAND,
    compaction::COMMAND,
    model::COMMAND,
    thinking::COMMAND,
    approval::COMMAND,
    undo::COMMAND,
    redo::COMMAND,
    compare::COMMAND,
    graft::COMMAND,
    export::COMMAND,
    retry::COMMAND,
    settings::COMMAND,
    help::COMMAND,
    quit::COMMAND,
];

pub(crate) fn all() -> impl Iterator<Item = &'static Spec> {
    ALL.iter()
}

/// Runs what was typed if it is a command. An unknown command stays in the editor.
pub(crate) fn run(state: &mut State, typed: &str) -> Option<Vec<Action>> {
    let rest = typed.strip_prefix('/').filter(|rest| is_word(rest))?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if let Some(spec) = ALL.iter().find(|spec| spec.name == name || spec.aliases.contains(&name)) {
        state.editor.take();
        return Some((spec.run)(state, words.trim()));
    }
    if name.starts_with("skill:") || state.setting.templates.iter().any(|template| template == name) {
        return None;
    }
    let near = ALL
        .iter()
        .map(|spec| spec.name)
        .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
    complain(state, &format!("there is no command /{name}; did you mean /{}?", near.unwrap_or("help")));
    Some(Vec::new())
}

/// A path begins with a slash too, and is something to say.
fn is_word(rest: &str) -> bool {
    let first = rest.split_whitespace().next().unwrap_or_default();
    rest.starts_with(char::is_alphabetic) && !first.contains('/')
}
