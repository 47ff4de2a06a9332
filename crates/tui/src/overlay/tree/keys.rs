//! The keys of the tree, each with a name by which it can be changed.

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

/// The name by which a key can be changed, what it does, the usual keys, and a word for the help line: what is needed
/// most comes first.
const USUAL: &[(&str, Deed, &str, &str)] = &[
    ("tree.up", Deed::Up, "up", ""),
    ("tree.down", Deed::Down, "down", ""),
    ("tree.choose", Deed::Choose, "enter", "go"),
    ("tree.back", Deed::Back, "escape", "leave"),
    ("tree.label", Deed::Label, "L", "label"),
    ("tree.filter.user", Deed::Filter(OutlineFilter::UserOnly), "ctrl+u", "user"),
    ("tree.filter.next", Deed::NextFilter, "ctrl+o", "filter"),
    ("tree.filter.all", Deed::Filter(OutlineFilter::All), "ctrl+a", "all"),
    ("tree.fold", Deed::Fold, "ctrl+left alt+left", "fold"),
    ("tree.unfold", Deed::Unfold, "ctrl+right alt+right", "unfold"),
    ("tree.read", Deed::Read, "alt+v", "view"),
    ("tree.mark", Deed::Mark, "alt+c", "compare"),
    ("tree.delete", Deed::Delete, "alt+d", "delete"),
    ("tree.graft", Deed::Graft, "alt+g", "graft"),
    ("tree.undo", Deed::Undo, "alt+u", "undo"),
    ("tree.redo", Deed::Redo, "alt+r", "redo"),
    ("tree.filter.default", Deed::Filter(OutlineFilter::Default), "ctrl+d", "default"),
    ("tree.filter.noTools", Deed::Filter(OutlineFilter::NoTools), "ctrl+t", "no tools"),
    ("tree.filter.labeled", Deed::Filter(OutlineFilter::LabeledOnly), "ctrl+l", "labeled"),
    ("tree.filter.previous", Deed::PreviousFilter, "ctrl+shift+o", "filter back"),
    ("tree.labelTimes", Deed::LabelTimes, "T", "times"),
    ("tree.showDeleted", Deed::ShowDeleted, "alt+h", "deleted"),
    ("tree.copy", Deed::Copy, "ctrl+x", "copy"),
    ("tree.pageUp", Deed::PageUp, "left pageUp", "page"),
    ("tree.pageDown", Deed::PageDown, "right pageDown", "page"),
    ("tree.first", Deed::First, "home", "first"),
    ("tree.last", Deed::Last, "end", "last"),
    ("tree.left", Deed::Left, "shift+left", "sideways"),
    ("tree.right", Deed::Right, "shift+right", "sideways"),
    ("tree.leave", Deed::Leave, "ctrl+c", "leave"),
    ("tree.shorten", Deed::Shorten, "backspace", ""),
];

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    deeds: FxHashMap<Key, Deed>,
    /// The first key of each, with its word.
    words: Vec<(String, &'static str)>,
}

/// What is wrong with a line of `[keys]`: its name, or a key that nobody can press. One line.
pub fn key_problem(name: &str, keys: &str) -> Option<String> {
    if !USUAL.iter().any(|(known, ..)| *known == name) {
        let likeness = |known: &str| strsim::jaro_winkler(name, known);
        let near = USUAL.iter().map(|(known, ..)| *known).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        return Some(format!("no key has the name {name}; did you mean {}?", near.unwrap_or_default()));
    }
    match keys.split_whitespace().find(|key| Key::parse(key).is_none()) {
        Some(key) => Some(format!("{key} is no key; write it like ctrl+k, alt+left, L or pageUp")),
        None if keys.trim().is_empty() => Some("names no key; the usual one stays".to_owned()),
        None => None,
    }
}

impl Keys {
    /// The usual ones, but for those that are changed. Several keys are separated by spaces. A wrong one does nothing, and
    /// where all are wrong the usual ones stay.
    pub(super) fn new(changed: &BTreeMap<String, String>) -> Keys {
        let mut keys = Keys { deeds: FxHashMap::default(), words: Vec::new() };
        let read = |list: &str| list.split_whitespace().filter_map(Key::parse).collect::<Vec<Key>>();
        for (name, deed, usual, word) in USUAL {
            let own = changed.get(*name).map(|list| read(list)).filter(|own| !own.is_empty());
            let list = own.unwrap_or_else(|| read(usual));
            keys.words.push((list.first().map(ToString::to_string).unwrap_or_default(), word));
            keys.deeds.extend(list.into_iter().map(|key| (key, *deed)));
        }
        keys
    }

    pub(super) fn deed(&self, key: Key) -> Option<Deed> {
        self.deeds.get(&key).copied()
    }

    /// What the help line tells, the most important first.
    pub(super) fn help(&self) -> Vec<String> {
        let mut pieces: Vec<String> = self.words().map(|(key, word)| format!("{key} {word}")).collect();
        if let Some(first) = pieces.first_mut() {
            first.insert_str(0, "↑↓ ");
        }
        pieces
    }

    /// Each key with a word about it.
    pub(super) fn words(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.words.iter().filter(|(_, word)| !word.is_empty()).map(|(key, word)| (key.as_str(), *word))
    }
}

#[cfg(test)]
mod tests;
