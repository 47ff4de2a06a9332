//! The keys of the tree. Each action has a name, by which settings can assign other keys.

use std::collections::BTreeMap;

use osier_protocol::outline::OutlineFilter;
use rustc_hash::FxHashMap;

use crate::key::Key;

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeAction {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    ScrollLeft,
    ScrollRight,
    Fold,
    Unfold,
    Select,
    Cancel,
    Close,
    Filter(OutlineFilter),
    NextFilter,
    PreviousFilter,
    Label,
    LabelTimes,
    Copy,
    ViewEntry,
    Graft,
    Undo,
    Redo,
    Mark,
    Delete,
    ShowDeleted,
    DeleteSearchChar,
}

/// The name in the settings, the action, the default keys, and the text for the help line. The help line shows the first ones.
const DEFAULT_KEYS: &[(&str, TreeAction, &str, &str)] = &[
    ("tree.up", TreeAction::Up, "up", ""),
    ("tree.down", TreeAction::Down, "down", ""),
    ("tree.choose", TreeAction::Select, "enter", "select"),
    ("tree.back", TreeAction::Cancel, "escape", "cancel"),
    ("tree.fold", TreeAction::Fold, "ctrl+left alt+left", "fold"),
    ("tree.mark", TreeAction::Mark, "alt+c", "compare"),
    ("tree.undo", TreeAction::Undo, "alt+u", "undo"),
    ("tree.label", TreeAction::Label, "L", "label"),
    ("tree.filter.user", TreeAction::Filter(OutlineFilter::UserOnly), "ctrl+u", "user only"),
    ("tree.filter.next", TreeAction::NextFilter, "ctrl+o", "next filter"),
    ("tree.filter.all", TreeAction::Filter(OutlineFilter::All), "ctrl+a", "show all"),
    ("tree.unfold", TreeAction::Unfold, "ctrl+right alt+right", "unfold"),
    ("tree.read", TreeAction::ViewEntry, "alt+v", "view"),
    ("tree.delete", TreeAction::Delete, "alt+d", "delete"),
    ("tree.graft", TreeAction::Graft, "alt+g", "graft"),
    ("tree.redo", TreeAction::Redo, "alt+r", "redo"),
    ("tree.filter.default", TreeAction::Filter(OutlineFilter::Default), "ctrl+d", "reset filter"),
    ("tree.filter.noTools", TreeAction::Filter(OutlineFilter::NoTools), "ctrl+t", "hide tools"),
    ("tree.filter.labeled", TreeAction::Filter(OutlineFilter::LabeledOnly), "ctrl+l", "labeled only"),
    ("tree.filter.previous", TreeAction::PreviousFilter, "ctrl+shift+o", "previous filter"),
    ("tree.labelTimes", TreeAction::LabelTimes, "T", "label times"),
    ("tree.showDeleted", TreeAction::ShowDeleted, "alt+h", "show deleted"),
    ("tree.copy", TreeAction::Copy, "ctrl+x", "copy"),
    ("tree.pageUp", TreeAction::PageUp, "left pageUp", "page up"),
    ("tree.pageDown", TreeAction::PageDown, "right pageDown", "page down"),
    ("tree.first", TreeAction::First, "home", "go to first"),
    ("tree.last", TreeAction::Last, "end", "go to last"),
    ("tree.left", TreeAction::ScrollLeft, "shift+left", "scroll left"),
    ("tree.right", TreeAction::ScrollRight, "shift+right", "scroll right"),
    ("tree.leave", TreeAction::Close, "ctrl+c", "close"),
    ("tree.shorten", TreeAction::DeleteSearchChar, "backspace", ""),
];

/// The keys in use.
#[derive(Debug, Clone)]
pub(super) struct KeyMap {
    actions: FxHashMap<Key, TreeAction>,
    /// The first key of each action, with its help text.
    help_entries: Vec<(String, &'static str)>,
}

/// What is wrong with a line of `[keys]`, in one line: an unknown name, or a key that does not exist.
pub fn key_problem(name: &str, keys: &str) -> Option<String> {
    if !DEFAULT_KEYS.iter().any(|(known, ..)| *known == name) {
        let similarity = |known: &str| strsim::jaro_winkler(name, known);
        let near = DEFAULT_KEYS
            .iter()
            .map(|(known, ..)| *known)
            .max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
        return Some(format!("unknown key name {name}; did you mean {}?", near.unwrap_or_default()));
    }
    match keys.split_whitespace().find(|key| Key::parse(key).is_none()) {
        Some(key) => Some(format!("unknown key {key}; write keys like ctrl+k, alt+left, L or pageUp")),
        None if keys.trim().is_empty() => Some("no key given; the default key stays".to_owned()),
        None => None,
    }
}

impl KeyMap {
    /// The default keys with those that the settings change. Spaces separate several keys. Unknown keys are ignored; if all are
    /// unknown, the default keys stay.
    pub(super) fn new(changed: &BTreeMap<String, String>) -> KeyMap {
        let mut keys = KeyMap { actions: FxHashMap::default(), help_entries: Vec::new() };
        let read = |list: &str| list.split_whitespace().filter_map(Key::parse).collect::<Vec<Key>>();
        for (name, action, usual, word) in DEFAULT_KEYS {
            let own = changed.get(*name).map(|list| read(list)).filter(|own| !own.is_empty());
            let list = own.unwrap_or_else(|| read(usual));
            keys.help_entries.push((list.first().copied().map(help_name).unwrap_or_default(), word));
            keys.actions.extend(list.into_iter().map(|key| (key, *action)));
        }
        keys
    }

    pub(super) fn action(&self, key: Key) -> Option<TreeAction> {
        self.actions.get(&key).copied()
    }

    /// The parts of the help line, most important first.
    pub(super) fn help_parts(&self) -> Vec<String> {
        let mut pieces: Vec<String> =
            self.help_entries().map(|(key, word)| format!("{key} {word}")).collect();
        if let Some(first) = pieces.first_mut() {
            first.insert_str(0, "↑↓ ");
        }
        pieces
    }

    /// Each key with its help text.
    pub(super) fn help_entries(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.help_entries.iter().filter(|(_, word)| !word.is_empty()).map(|(key, word)| (key.as_str(), *word))
    }
}

/// The key as the help shows it. Settings use the longer name `escape`.
fn help_name(key: Key) -> String {
    key.to_string().replace("escape", "esc")
}

#[cfg(test)]
mod tests;
