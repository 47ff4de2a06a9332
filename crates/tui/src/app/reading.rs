//! What is read of a session when it is asked for: the path's end, the tree, what was said, what it cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_agent::{Error, Worker};
use osier_tree::entry::read_entry;
use osier_tree::projection::card::short_id;
use osier_tree::projection::preview::{display_text, full_text};
use osier_tree::projection::transcript::transcript_entries;
use osier_tree::projection::usage::{Meter, UsageReport, usage_entries};
use osier_tree::{Role, Seq};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::msg::{Forest, Path};
use crate::state::Facts;

/// How many entries of a path are shown at once. The others are in the tree.
const SHOWN: usize = 120;

pub(super) async fn path(worker: &Worker, remark: Option<String>) -> Result<Path, Error> {
    let state = worker.session().state();
    let at = worker.cursor().place();
    let tree = &state.tree;
    let on_path: FxHashSet<Seq> = tree.path(at).into_iter().collect();
    let mut wanted = transcript_entries(tree, at);
    wanted.retain(|seq| on_path.contains(seq));
    let mut earlier = wanted.len().saturating_sub(SHOWN);
    // A card needs its call.
    while wanted.get(earlier).is_some_and(|seq| tree.head(*seq).role == Role::ToolResult) {
        earlier += 1;
    }
    wanted.drain(..earlier);
    let mut lines = Vec::with_capacity(wanted.len());
    let take = |_: Seq, line: &[u8]| -> Result<(), Error> {
        lines.push(line.to_vec());
        Ok(())
    };
    worker.session().each_line(state.version, &wanted, take).await?;
    Ok(Path { lines, earlier, remark, entries: state.version.entries })
}

/// What the user said, for the history.
pub(super) fn said(path: &Path) -> Vec<String> {
    let entries = path.lines.iter().filter_map(|line| read_entry(line).ok());
    let users = entries.filter(|entry| entry.role == Role::User);
    users.map(|entry| display_text(&entry).map_or_else(|| full_text(&entry), Into::into)).collect()
}

/// The texts behind the markers in the session's settings.
pub(super) fn pastes(worker: &Worker) -> BTreeMap<String, String> {
    let tree = worker.session().tree();
    let kept = tree.marks().settings().get("pastedTextMap").and_then(|map| map.as_object().cloned());
    let text = |(marker, text): (String, serde_json::Value)| Some((marker, text.as_str()?.to_owned()));
    kept.into_iter().flatten().filter_map(text).collect()
}

pub(super) async fn forest(worker: &Worker) -> Result<Forest, Error> {
    let session = worker.session();
    let state = session.state();
    let texts = session.store().previews(session.key(), state.version).await?;
    Ok(Forest { tree: state.tree.clone(), leaf: worker.cursor().place(), texts: Arc::new(texts) })
}

pub(super) async fn facts(worker: &Worker, git_branch: Option<String>) -> Result<Facts, Error> {
    let session = worker.session();
    let tree = session.tree();
    let choice = worker.choice().await?;
    let card = session.store().card(session.key()).await.ok();
    Ok(Facts {
        session: short_id(session.id()).to_owned(),
        name: tree.marks().name().map(str::to_owned),
        git_branch,
        model: choice.model.full_name(),
        thinking: choice.thinking,
        window: choice.model.context_window,
        cost: card.as_ref().map_or(0.0, |card| card.cost),
        depth: transcript_entries(&tree, worker.cursor().place()).len(),
        tips: card.map_or(0, |card| card.branches as usize),
    })
}

pub(super) async fn usage(worker: &Worker) -> Result<UsageReport, Error> {
    let state = worker.session().state();
    let wanted: Vec<Seq> = usage_entries(&state.tree).collect();
    let mut meter = Meter::default();
    let take = |seq: Seq, line: &[u8]| -> Result<(), Error> {
        if let Ok(entry) = read_entry(line) {
            meter.take(seq, &entry);
        }
        Ok(())
    };
    worker.session().each_line(state.version, &wanted, take).await?;
    Ok(meter.report(&state.tree, worker.cursor().place()))
}

/// The lines of these entries.
pub(super) async fn lines(worker: &Worker, wanted: &[Seq]) -> Result<FxHashMap<Seq, Vec<u8>>, Error> {
    let mut lines = FxHashMap::default();
    let take = |seq: Seq, line: &[u8]| -> Result<(), Error> {
        lines.insert(seq, line.to_vec());
        Ok(())
    };
    worker.session().each_line(worker.session().version(), wanted, take).await?;
    Ok(lines)
}
