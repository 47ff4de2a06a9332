//! The example lines in docs/session-format.md: one per kind and role; together they form a session.

use std::collections::HashSet;

use osier_tree::entry::{ParsedLine, parse_entry, parse_line};
use osier_tree::projection::json::entry_json;
use osier_tree::{EntryKind, MessageRole, SessionTree};
use serde_json::Value;

use crate::page::{Block, Page};

const PAGE: &str = "docs/session-format.md";

/// The kind or role that a heading names: the word in backticks.
fn named(block: &Block) -> &str {
    block.title.split('`').nth(1).unwrap_or_default()
}

fn lines(page: &Page) -> Vec<(&str, &[u8])> {
    let mut lines = Vec::new();
    for block in page.blocks("jsonl") {
        lines.extend(block.text.lines().map(|line| (named(block), line.as_bytes())));
    }
    lines
}

#[test]
fn every_kind_and_role_has_an_example_line() {
    let page = Page::open(PAGE);
    let (mut kinds, mut roles) =
        (HashSet::from([EntryKind::Unknown]), HashSet::from([MessageRole::None, MessageRole::Unknown]));
    for (name, line) in lines(&page) {
        let (kind, role) = match parse_line(line) {
            ParsedLine::Header(_) => {
                assert_eq!(name, "session");
                continue;
            }
            ParsedLine::Entry(entry) => (entry.kind, entry.role),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(name, if kind == EntryKind::Message { role.name() } else { kind.name() });
        kinds.insert(kind);
        roles.insert(role);
    }
    assert_eq!(kinds, HashSet::from(EntryKind::ALL));
    assert_eq!(roles, HashSet::from(MessageRole::ALL));
}

#[test]
fn the_example_lines_form_a_valid_session() {
    let page = Page::open(PAGE);
    let mut tree = SessionTree::default();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.jsonl");
    let mut text = Vec::new();
    for (_, line) in lines(&page) {
        if let Ok(entry) = parse_entry(line) {
            tree.append(&entry, 0, 0);
        }
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    std::fs::write(&file, text).expect("a file");
    let verified = osier_store::file::verify(&file).expect("a session");
    assert_eq!(verified.issues, []);
    assert_eq!(verified.tree.len(), tree.len());
    assert!(tree.children().roots().len() == 1 && tree.heads().is_regular());
}

#[test]
fn json_of_own_kinds_matches_the_page() {
    let page = Page::open(PAGE);
    let stored = lines(&page);
    let mut seen = 0;
    for block in page.blocks("json") {
        let line = stored.iter().find(|(name, _)| *name == named(block)).expect("its stored line").1;
        let shown: Value = serde_json::from_str(&block.text).expect("JSON");
        let entry = parse_entry(line).expect("an entry");
        let printed: Value = serde_json::from_slice(&entry_json(&entry)).expect("JSON");
        assert_eq!(shown, printed, "{}:{}", page.name, block.line);
        seen += 1;
    }
    let own = EntryKind::ALL.into_iter().filter(|kind| kind.custom_type().is_some()).count();
    assert_eq!(seen, own, "one for each kind that is stored as a custom entry");
}
