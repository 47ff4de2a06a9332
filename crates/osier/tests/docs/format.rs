//! The example lines in docs/session-format.md: one per kind and role; together they form a session.

use std::collections::{BTreeSet, HashSet};

use osier_tree::entry::{ParsedLine, parse_entry, parse_line};
use osier_tree::projection::json::entry_json;
use osier_tree::{EntryKind, MessageRole, SessionTree};
use serde_json::Value;

use crate::console::shell;
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

/// The keys of these objects.
fn keys<'v>(objects: impl IntoIterator<Item = &'v Value>) -> BTreeSet<&'v str> {
    objects
        .into_iter()
        .filter_map(Value::as_object)
        .flat_map(|object| object.keys().map(String::as_str))
        .collect()
}

fn items(list: &Value) -> &[Value] {
    list.as_array().filter(|items| !items.is_empty()).expect("a list with items")
}

#[test]
fn every_field_of_batches_updates_results_and_projections_is_described() {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(home.path().join("project")).expect("a folder");
    let run = |command: &str| shell(home.path(), command, PAGE);
    run("echo marmalade > a.txt; osier --mode json 'delegate list .; read a.txt; read missing.txt'");
    let cards: Value = serde_json::from_str(&run("osier sessions list --json")).expect("JSON");
    let id = cards[0]["id"].as_str().expect("an id");
    let snapshot: Value = serde_json::from_str(&run(&format!("osier sessions snapshot {id}"))).expect("JSON");
    let entry =
        |kind: &str| items(&snapshot["entries"]).iter().find(|entry| entry["type"] == kind).expect(kind);
    let (batch, update, result) = (entry("subagent_batch"), entry("entry_update"), entry("subagent_result"));
    let (content, metadata) = (&result["content"], &result["metadata"]);
    let projection = &metadata["subagentProjection"];
    let sections = [
        ("`subagent_batch`", keys([&batch["content"]]), keys(items(&batch["content"]["tasks"]))),
        ("`entry_update`", keys([update]), keys(items(&update["payload"]["results"]))),
        ("`subagent_result`", keys([content, result, metadata]), keys(items(&content["results"]))),
        (
            "`subagent_result`",
            keys(items(&metadata["processEvents"])),
            keys(items(&metadata["evidenceSummaries"]).iter().chain(items(&metadata["toolRuntimeRoutes"]))),
        ),
        (
            "`subagent_result`",
            keys(items(&content["results"]).iter().map(|row| &row["usage"])),
            BTreeSet::new(),
        ),
        (
            "`subagentProjection`",
            keys([projection, &projection["diagnostics"]]),
            keys(items(&projection["taskPanels"])),
        ),
    ];
    let page = Page::open(PAGE);
    // Every entry has these, or they have sections of their own.
    let common = ["type", "id", "parentId", "timestamp", "content", "subagentProjection"];
    for (title, fields, others) in sections {
        let section = page.section(title);
        for field in fields.union(&others).filter(|field| !common.contains(field)) {
            let names = [format!("`{field}`"), format!("`{field}?`")];
            assert!(names.iter().any(|name| section.contains(name)), "{title} does not describe {field}");
        }
    }
}
