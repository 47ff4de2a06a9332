//! Garbage collection removes hidden entries and changes nothing that is visible.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use osier_testkit::{RandomLog, ScriptedSession, check, context_text, expect, random_logs};
use osier_tree::entry::parse_entry;
use osier_tree::projection::usage::{UsageMeter, UsageReport, usage_entries};
use osier_tree::{EntryKind, Head, Seq};
use proptest::prelude::*;

/// The session after garbage collection.
fn collected(script: &ScriptedSession) -> ScriptedSession {
    let mut count = 0;
    let new_id = || {
        count += 1;
        format!("gc{count:06}")
    };
    let plan = script.tree.plan_gc();
    ScriptedSession::from_lines(
        script.tree.gc(&plan, &script.lines, 0, new_id).expect("all lines are available"),
    )
}

#[track_caller]
fn check_gc(script: &str, expected: osier_testkit::Expect) {
    let script = ScriptedSession::run(script);
    let new = collected(&script);
    expected.assert_eq(&osier_testkit::draw(&new));
    assert_eq!(context_text(&new), context_text(&script));
}

#[test]
fn deleted_branch_is_removed_and_the_rest_is_kept() {
    check_gc(
        "say a; reply b; say c; move b; say d; reply e; delete c",
        expect![[r#"
            user: "a"
            assistant: "b"
            user: "d"
            assistant: "e"  ← active
        "#]],
    );
}

#[test]
fn leaf_does_not_change() {
    check_gc(
        "say a; reply b; say c; reply d; move b; delete c; say e; move a",
        expect![[r#"
            user: "a"  ← active
            assistant: "b"
            user: "e"
        "#]],
    );
}

#[test]
fn deleted_branch_with_the_leaf_is_kept() {
    let script =
        ScriptedSession::run("say a; reply b; say c; reply d; move b; say e; delete c; below d; say f");
    let new = collected(&script);
    assert_eq!(context_text(&new), context_text(&script));
    assert_eq!(script.tree.plan_gc().removed_count(), 0);
}

#[test]
fn entry_that_another_one_points_at_is_kept_and_stays_hidden() {
    // The first entry that the compaction keeps is deleted. Without that entry, the summary would replace other entries.
    let script =
        ScriptedSession::run("say a; reply b; say c; reply d; move b; say e; compact keep a \"s\"; delete c");
    let mut lines = script.lines.clone();
    let compaction = script.seq("s").index();
    let text = String::from_utf8(lines[compaction].clone()).unwrap();
    let kept = format!("\"firstKeptEntryId\":\"{}\"", script.id("d"));
    lines[compaction] =
        text.replace(&format!("\"firstKeptEntryId\":\"{}\"", script.id("a")), &kept).into_bytes();
    let script = ScriptedSession::from_lines(lines);
    let new = collected(&script);
    assert_eq!(new.lines.len(), script.lines.len());
    assert_eq!(new.tree.hidden_entries().len(), 2);
}

#[test]
fn restored_branch_stays_restored_if_the_restoring_mark_is_in_a_deleted_branch() {
    check(
        "say a; reply b; say c; move b; delete c; say d; restore c; move b; delete d; reopen",
        expect![[r#"
            user: "a"
            assistant: "b"  ← active
            user: "c"
        "#]],
    );
    check_gc(
        "say a; reply b; say c; move b; delete c; say d; restore c; move b; delete d",
        expect![[r#"
            user: "a"
            assistant: "b"  ← active
            user: "c"
        "#]],
    );
}

#[test]
fn cost_of_removed_entries_is_kept() {
    let script = ScriptedSession::run(
        "say a; reply b; say c; reply d; reply d2; move b; say e; reply f; delete c; move e; say g; reply h; delete g",
    );
    let new = collected(&script);
    let (before, after) = (usage(&script), usage(&new));
    assert_eq!(before.session.requests, 5);
    assert_eq!(after.session, before.session);
    assert_eq!((after.path, after.models), (before.path, before.models));
    assert_eq!(
        new.tree.heads().iter().filter(|(_, head)| head.kind == EntryKind::Usage).count(),
        2,
        "one per branch"
    );
}

#[test]
fn missing_line_stops_the_collection() {
    let script = ScriptedSession::run("say a; reply b; say c; move b; say d; delete c");
    let plan = script.tree.plan_gc();
    let mut lines = script.lines.clone();
    lines.truncate(2);
    assert_eq!(script.tree.gc(&plan, &lines, 0, || "x".to_owned()), None);
}

fn usage(script: &ScriptedSession) -> UsageReport {
    let mut meter = UsageMeter::default();
    for seq in usage_entries(&script.tree) {
        meter.add_entry(seq, &parse_entry(&script.lines[seq.index()]).unwrap());
    }
    meter.report(&script.tree, script.tree.leaf())
}

/// A random session, formatted as its lines.
struct RandomSession(ScriptedSession);

impl std::fmt::Debug for RandomSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.lines.iter().try_for_each(|line| write!(f, "\n{}", String::from_utf8_lossy(line)))
    }
}

/// A random log with more branches deleted and restored.
fn with_deletions(log: RandomLog, picks: &[(usize, bool)]) -> RandomSession {
    let mut script = ScriptedSession::from_lines(log.entries);
    for (pick, restore) in picks {
        if script.tree.is_empty() {
            break;
        }
        let target = script.tree.id(Seq::new(pick % script.tree.len())).to_string();
        let planned = match restore {
            false => script.tree.plan_delete_branch(&target),
            true => script.tree.plan_restore_branch(&target),
        };
        if let Ok(draft) = planned {
            script.append(&draft, "");
        }
    }
    // Random logs number their ids from 0 and scripts from 1, so the appended ids are unique.
    RandomSession(ScriptedSession::from_lines(script.lines))
}

fn sessions(damaged: bool) -> impl Strategy<Value = RandomSession> {
    let picks = proptest::collection::vec((0usize..200, proptest::bool::weighted(0.2)), 1..6);
    (random_logs(damaged, 1..70), picks).prop_map(|(log, picks)| with_deletions(log, &picks))
}

/// The visible labels. Labels on marks are not visible.
fn labels(script: &ScriptedSession) -> BTreeMap<String, String> {
    let labels = script.tree.marks().labels();
    let is_visible_entry = |seq: Seq| !script.tree.is_hidden(seq) && !script.tree.head(seq).kind.is_mark();
    let is_visible = |id: &str| script.tree.find(id).is_some_and(is_visible_entry);
    let labels = labels.into_iter().filter(|(id, _)| is_visible(id));
    labels.map(|(id, label)| (id.to_owned(), label.text.clone())).collect()
}

/// All visible entries of the conversation, each with its parent.
fn visible(script: &ScriptedSession) -> BTreeMap<String, Option<String>> {
    let tree = &script.tree;
    let visible =
        tree.heads().iter().filter(|(seq, head)| head.kind.reaches_context() && !tree.is_hidden(*seq));
    let id = |seq: Seq| tree.id(seq).to_string();
    visible.map(|(seq, head)| (id(seq), tree.heads().anchor(head.parent).map(id))).collect()
}

fn position(script: &ScriptedSession) -> Option<String> {
    script.tree.heads().anchor(script.tree.leaf()).map(|seq| script.tree.id(seq).to_string())
}

fn without_parent(line: &[u8]) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_slice(line).unwrap();
    value.as_object_mut().unwrap().remove("parentId");
    value
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_visible_changes(RandomSession(script) in sessions(false)) {
        let new = collected(&script);
        prop_assert_eq!(position(&new), position(&script));
        prop_assert_eq!(context_text(&new), context_text(&script));
        prop_assert_eq!(labels(&new), labels(&script));
        prop_assert_eq!(new.tree.marks().name(), script.tree.marks().name());
        prop_assert_eq!(new.tree.marks().settings(), script.tree.marks().settings());
        prop_assert_eq!(visible(&new), visible(&script));
        let (before, after) = (usage(&script), usage(&new));
        prop_assert_eq!(after.session.requests, before.session.requests);
        prop_assert_eq!(after.session.total_tokens, before.session.total_tokens);
        prop_assert_eq!(after.path.total_tokens, before.path.total_tokens);
        prop_assert!((after.session.cost - before.session.cost).abs() < 1e-9);
    }

    #[test]
    fn removed_entries_are_hidden_and_not_referenced(RandomSession(script) in sessions(false)) {
        let plan = script.tree.plan_gc();
        let kept: BTreeSet<Seq> = plan.kept().collect();
        for (seq, head) in script.tree.heads().iter() {
            let is_removed = |target: Seq| !kept.contains(&target) || script.tree.is_hidden(target) && head.kind == EntryKind::Label;
            let marks_removed = head.kind.is_mark() && head.target.is_some_and(is_removed);
            prop_assert!(kept.contains(&seq) || script.tree.is_hidden(seq) || marks_removed);
            if kept.contains(&seq) && !head.kind.is_mark() {
                prop_assert!(head.target.is_none_or(|target| kept.contains(&target)));
            }
        }
        // A hidden entry is kept only for the leaf, or because a kept entry points at something below it.
        let new = collected(&script);
        let path: Vec<Seq> = new.tree.path(new.tree.leaf()).into_iter().chain(new.tree.heads().last_seq()).collect();
        let starts_deletion = |seq: Seq| new.tree.marks().is_deleted(new.tree.id(seq).as_str());
        let points = |(seq, head): &(Seq, &Head)| !head.kind.is_mark() || starts_deletion(*seq);
        let mut open: Vec<Seq> = new.tree.heads().iter().filter(points).filter_map(|(_, head)| head.target).collect();
        let mut pointed = BTreeSet::new();
        while let Some(seq) = open.pop() {
            if pointed.insert(seq) {
                open.extend(new.tree.head(seq).target);
            }
        }
        for seq in new.tree.hidden_entries() {
            let head = new.tree.head(seq);
            let above = |below: Seq| new.tree.heads().is_ancestor(seq, Some(below));
            let pointed_at = pointed.iter().copied().any(above);
            prop_assert!(head.kind.is_mark() || path.contains(&seq) || pointed_at);
        }
    }

    #[test]
    fn kept_lines_keep_their_order_and_change_only_their_parent(RandomSession(script) in sessions(false)) {
        let plan = script.tree.plan_gc();
        let new = collected(&script);
        let is_new = |line: &&Vec<u8>| parse_entry(line).unwrap().id.starts_with("gc0");
        let mut kept = new.lines.iter().filter(|line| !is_new(line));
        for seq in plan.kept() {
            let (old, new_line) = (&script.lines[seq.index()], kept.next().unwrap());
            let parent = script.tree.head(seq).parent;
            if parent.is_none_or(|parent| plan.kept().any(|kept| kept == parent)) {
                prop_assert_eq!(old, new_line);
            } else {
                prop_assert_eq!(without_parent(old), without_parent(new_line));
                prop_assert_eq!(old.len().abs_diff(new_line.len()) % 6, 0, "only the parent is replaced");
            }
        }
        prop_assert_eq!(kept.next(), None);
        prop_assert!(new.tree.heads().is_regular() || !script.tree.heads().is_regular());
    }

    #[test]
    fn second_collection_removes_nothing(RandomSession(script) in sessions(false)) {
        let once = collected(&script);
        prop_assert_eq!(once.tree.plan_gc().removed_count(), 0);
        prop_assert_eq!(collected(&once).lines, once.lines);
    }

    #[test]
    fn damaged_log_does_not_panic(RandomSession(script) in sessions(true)) {
        let new = collected(&script);
        let twice = collected(&new);
        prop_assert!(twice.lines.len() <= new.lines.len() + 1);
    }
}
