//! Properties of the fold and the projections, on random logs.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

mod cuts;
mod fold;
mod projections;
mod subagents;

use std::borrow::Cow;
use std::collections::HashSet;

use osier_testkit::{RandomLog, ScriptedSession, random_logs};
use osier_tree::entry::{flag, parse_entry};
use osier_tree::projection::outline::{Outline, OutlineFilter, OutlineOptions, OutlineStyle, SiblingOrder};
use osier_tree::projection::preview::{Previews, search_text};
use osier_tree::projection::transcript::{markdown, transcript, transcript_entries};
use osier_tree::projection::usage::{UsageMeter, usage_entries};
use osier_tree::{
    Checkpoint, ContextPlan, Entry, EntryKind, EntryReason, Head, MessageRole, Place, Seq, SessionTree,
};
use proptest::prelude::*;

/// The complete observable state of a tree.
#[derive(Debug, PartialEq)]
struct TreeState {
    leaf: Place,
    heads: Vec<Head>,
    ids: Vec<Option<Seq>>,
    paths: Vec<Vec<Seq>>,
    roots: Vec<Seq>,
    children: Vec<Vec<Seq>>,
    labels: Vec<(String, String)>,
    name: Option<String>,
    settings: String,
    hidden: Vec<Seq>,
    checkpoints: Vec<Checkpoint>,
    plans: Vec<ContextPlan>,
    regular: bool,
}

fn tree_state(tree: &SessionTree) -> TreeState {
    let all = || tree.heads().iter().map(|(seq, _)| seq);
    let mut hidden: Vec<Seq> = tree.hidden_entries().into_iter().collect();
    hidden.sort();
    TreeState {
        leaf: tree.leaf(),
        heads: tree.heads().iter().map(|(_, head)| *head).collect(),
        ids: all().map(|seq| tree.find(tree.id(seq).as_str())).collect(),
        paths: all().map(|seq| tree.path(Some(seq))).collect(),
        roots: tree.children().roots().to_vec(),
        children: all().map(|seq| tree.children().of_entry(seq).to_vec()).collect(),
        labels: tree
            .marks()
            .labels()
            .iter()
            .map(|(id, label)| ((*id).to_owned(), label.text.clone()))
            .collect(),
        name: tree.marks().name().map(str::to_owned),
        settings: format!("{:?}", tree.marks().settings()),
        hidden,
        checkpoints: tree.checkpoints(tree.leaf()),
        plans: all().map(|seq| tree.context_entries(Some(seq))).collect(),
        regular: tree.heads().is_regular(),
    }
}

fn entries(log: &RandomLog) -> Vec<Entry<'_>> {
    log.entries.iter().map(|line| parse_entry(line).expect("log.entries contains only entries")).collect()
}

fn folded(log: &RandomLog) -> SessionTree {
    osier_testkit::fold(&log.lines)
}

fn in_one_batch<'a>(entries: &'a [Entry<'a>]) -> SessionTree {
    let mut tree = SessionTree::default();
    tree.extend(entries.iter().map(|entry| (entry.clone(), 0, entry.line.len() as u32)));
    tree
}

fn restored(tree: &SessionTree, log: &RandomLog) -> SessionTree {
    let heads: Vec<Head> = tree.heads().iter().map(|(_, head)| *head).collect();
    SessionTree::restore(heads, |seq| log.entries.get(seq.index()).and_then(|line| parse_entry(line).ok()))
}

fn outlined(tree: &SessionTree, log: &RandomLog, options: &OutlineOptions) -> Outline {
    let texts = |seq: Seq| Cow::Owned(search_text(&parse_entry(&log.entries[seq.index()]).unwrap()));
    Outline::new(tree, tree.leaf(), options, &texts)
}

/// Half of `PROPTEST_CASES`, because each case is a whole log.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases / 2, failure_persistence: None, ..config }
}
