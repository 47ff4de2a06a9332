//! The keys of the tree, each with a name by which it can be changed.

use std::collections::BTreeMap;

use osier_tree::projection::outline::Filter;
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
    Fold,
    Unfold,
    Choose,
    Back,
    Leave,
    Filter(Filter),
    NextFilter,
    PreviousFilter,
    Label,
    LabelTimes,
    Copy,
    Mark,
    Delete,
    ShowDeleted,
    Shorten,
}

const USUAL: &[(&str, Deed, &str)] = &[
    ("tree.up", Deed::Up, "up"),
    ("tree.down", Deed::Down, "down"),
    ("tree.pageUp", Deed::PageUp, "left pageUp"),
    ("tree.pageDown", Deed::PageDown, "right pageDown"),
    ("tree.first", Deed::First, "home"),
    ("tree.last", Deed::Last, "end"),
    ("tree.fold", Deed::Fold, "ctrl+left alt+left"),
    ("tree.unfold", Deed::Unfold, "ctrl+right alt+right"),
    ("tree.choose", Deed::Choose, "enter"),
    ("tree.back", Deed::Back, "escape"),
    ("tree.leave", Deed::Leave, "ctrl+c"),
    ("tree.filter.default", Deed::Filter(Filter::Default), "ctrl+d"),
    ("tree.filter.noTools", Deed::Filter(Filter::NoTools), "ctrl+t"),
    ("tree.filter.user", Deed::Filter(Filter::UserOnly), "ctrl+u"),
    ("tree.filter.labeled", Deed::Filter(Filter::LabeledOnly), "ctrl+l"),
    ("tree.filter.all", Deed::Filter(Filter::All), "ctrl+a"),
    ("tree.filter.next", Deed::NextFilter, "ctrl+o"),
    ("tree.filter.previous", Deed::PreviousFilter, "ctrl+shift+o"),
    ("tree.label", Deed::Label, "L"),
    ("tree.labelTimes", Deed::LabelTimes, "T"),
    ("tree.copy", Deed::Copy, "ctrl+x"),
    ("tree.mark", Deed::Mark, "alt+c"),
    ("tree.delete", Deed::Delete, "alt+d"),
    ("tree.showDeleted", Deed::ShowDeleted, "alt+h"),
    ("tree.shorten", Deed::Shorten, "backspace"),
];

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    deeds: FxHashMap<Key, Deed>,
    words: Vec<(&'static str, String)>,
}

impl Keys {
    /// The usual ones, but for those that are changed. Several keys are separated by spaces; a wrong one does nothing.
    pub(super) fn new(changed: &BTreeMap<String, String>) -> Keys {
        let mut keys = Keys { deeds: FxHashMap::default(), words: Vec::new() };
        for (name, deed, usual) in USUAL {
            let list = changed.get(*name).map_or(*usual, String::as_str);
            keys.deeds.extend(list.split(' ').filter_map(Key::parse).map(|key| (key, *deed)));
            keys.words.push((name, list.split(' ').next().unwrap_or_default().to_owned()));
        }
        keys
    }

    pub(super) fn deed(&self, key: Key) -> Option<Deed> {
        self.deeds.get(&key).copied()
    }

    fn word(&self, name: &str) -> &str {
        self.words.iter().find(|(named, _)| *named == name).map_or("", |(_, key)| key)
    }

    /// The help line.
    pub(super) fn help(&self) -> String {
        let told = [
            ("tree.choose", "go"),
            ("tree.back", "leave"),
            ("tree.label", "label"),
            ("tree.filter.user", "user"),
            ("tree.filter.next", "filter"),
            ("tree.filter.all", "all"),
            ("tree.fold", "fold"),
            ("tree.mark", "compare"),
            ("tree.delete", "delete"),
            ("tree.filter.previous", "filter back"),
            ("tree.filter.noTools", "no tools"),
            ("tree.filter.labeled", "labeled"),
            ("tree.labelTimes", "times"),
            ("tree.copy", "copy"),
        ];
        let pieces: Vec<String> =
            told.iter().map(|(name, word)| format!("{} {word}", self.word(name))).collect();
        format!("↑↓ {}", pieces.join(" · "))
    }
}
