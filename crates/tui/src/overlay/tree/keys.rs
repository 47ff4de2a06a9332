//! The keys of the tree. Each action has a name, by which settings can assign other keys.

use std::collections::BTreeMap;

use osier_tree::projection::outline::OutlineFilter;
use rustc_hash::FxHashMap;

use crate::key::Key;

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Left,
    Right,
    Fold,
    Unfold,
    Choose,
    Back,
    Leave,
    Filter(OutlineFilter),
    NextFilter,
    PreviousFilter,
    Label,
    LabelTimes,
    Copy,
    Read,
    Graft,
    Undo,
    Redo,
    Mark,
    Delete,
    ShowDeleted,
    Shorten,
}

/// The name in the settings, the action, the default keys, and the text for the help line. The help line shows the first ones.
const USUAL: &[(&str, Deed, &str, &str)] = &[
    ("tree.up", Deed::Up, "up", ""),
    ("tree.down", Deed::Down, "down", ""),
    ("tree.choose", Deed::Choose, "enter", "select"),
    ("tree.back", Deed::Back, "escape", "cancel"),
    ("tree.label", Deed::Label, "L", "label"),
    ("tree.filter.user", Deed::Filter(OutlineFilter::UserOnly), "ctrl+u", "user only"),
    ("tree.filter.next", Deed::NextFilter, "ctrl+o", "next filter"),
    ("tree.filter.all", Deed::Filter(OutlineFilter::All), "ctrl+a", "show all"),
    ("tree.fold", Deed::Fold, "ctrl+left alt+left", "fold"),
    ("tree.unfold", Deed::Unfold, "ctrl+right alt+right", "unfold"),
    ("tree.read", Deed::Read, "alt+v", "view"),
    ("tree.mark", Deed::Mark, "alt+c", "compare"),
    ("tree.delete", Deed::Delete, "alt+d", "delete"),
    ("tree.graft", Deed::Graft, "alt+g", "graft"),
    ("tree.undo", Deed::Undo, "alt+u", "undo"),
    ("tree.redo", Deed::Redo, "alt+r", "redo"),
    ("tree.filter.default", Deed::Filter(OutlineFilter::Default), "ctrl+d", "reset filter"),
    ("tree.filter.noTools", Deed::Filter(OutlineFilter::NoTools), "ctrl+t", "hide tools"),
    ("tree.filter.labeled", Deed::Filter(OutlineFilter::LabeledOnly), "ctrl+l", "labeled only"),
    ("tree.filter.previous", Deed::PreviousFilter, "ctrl+shift+o", "previous filter"),
    ("tree.labelTimes", Deed::LabelTimes, "T", "label times"),
    ("tree.showDeleted", Deed::ShowDeleted, "alt+h", "show deleted"),
    ("tree.copy", Deed::Copy, "ctrl+x", "copy"),
    ("tree.pageUp", Deed::PageUp, "left pageUp", "page up"),
    ("tree.pageDown", Deed::PageDown, "right pageDown", "page down"),
    ("tree.first", Deed::First, "home", "go to first"),
    ("tree.last", Deed::Last, "end", "go to last"),
    ("tree.left", Deed::Left, "shift+left", "scroll left"),
    ("tree.right", Deed::Right, "shift+right", "scroll right"),
    ("tree.leave", Deed::Leave, "ctrl+c", "close"),
    ("tree.shorten", Deed::Shorten, "backspace", ""),
];

/// The keys in use.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    deeds: FxHashMap<Key, Deed>,
    /// The first key of each action, with its help text.
    words: Vec<(String, &'static str)>,
}

/// What is wrong with a line of `[keys]`, in one line: an unknown name, or a key that does not exist.
pub fn key_problem(name: &str, keys: &str) -> Option<String> {
    if !USUAL.iter().any(|(known, ..)| *known == name) {
        let likeness = |known: &str| strsim::jaro_winkler(name, known);
        let near = USUAL.iter().map(|(known, ..)| *known).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        return Some(format!("unknown key name {name}; did you mean {}?", near.unwrap_or_default()));
    }
    match keys.split_whitespace().find(|key| Key::parse(key).is_none()) {
        Some(key) => Some(format!("unknown key {key}; write keys like ctrl+k, alt+left, L or pageUp")),
        None if keys.trim().is_empty() => Some("no key given; the default key stays".to_owned()),
        None => None,
    }
}

impl Keys {
    /// The default keys with those that the settings change. Spaces separate several keys. Unknown keys are ignored; if all are
    /// unknown, the default keys stay.
    pub(super) fn new(changed: &BTreeMap<String, String>) -> Keys {
        let mut keys = Keys { deeds: FxHashMap::default(), words: Vec::new() };
        let read = |list: &str| list.split_whitespace().filter_map(Key::parse).collect::<Vec<Key>>();
        for (name, deed, usual, word) in USUAL {
            let own = changed.get(*name).map(|list| read(list)).filter(|own| !own.is_empty());
            let list = own.unwrap_or_else(|| read(usual));
            keys.words.push((list.first().copied().map(help_name).unwrap_or_default(), word));
            keys.deeds.extend(list.into_iter().map(|key| (key, *deed)));
        }
        keys
    }

    pub(super) fn deed(&self, key: Key) -> Option<Deed> {
        self.deeds.get(&key).copied()
    }

    /// The parts of the help line, most important first.
    pub(super) fn help(&self) -> Vec<String> {
        let mut pieces: Vec<String> = self.words().map(|(key, word)| format!("{key} {word}")).collect();
        if let Some(first) = pieces.first_mut() {
            first.insert_str(0, "↑↓ ");
        }
        pieces
    }

    /// Each key with its help text.
    pub(super) fn words(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.words.iter().filter(|(_, word)| !word.is_empty()).map(|(key, word)| (key.as_str(), *word))
    }
}

/// The key as the help shows it. Settings use the longer name `escape`.
fn help_name(key: Key) -> String {
    key.to_string().replace("escape", "esc")
}

#[cfg(test)]
mod tests;
