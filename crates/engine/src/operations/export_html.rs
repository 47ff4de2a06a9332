//! Exporting a session with all its branches as one HTML file.

use std::borrow::Cow;
use std::sync::Arc;

use osier_protocol::TreeSnapshot;
use osier_session::{Session, SessionError, SessionState};
use osier_store::StoreError;
use osier_tree::entry::{flag, parse_entry};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::EntryPreviews;
use osier_tree::projection::usage::{UsageMeter, UsageReport, usage_entries};
use osier_tree::{EntryKind, Header, Place, Seq, SessionTree, time};
use osier_viewer::entry::render_line;
use osier_viewer::{HtmlExport, SessionSummary};
use rustc_hash::FxHashSet;
use serde_json::json;

/// Writes the page. It shows the path to `at` first. Deleted branches are not part of it.
pub(super) async fn write_html<E: From<SessionError> + From<StoreError>, W: FnMut(&[u8]) -> Result<(), E>>(
    session: &Session,
    card: &Card,
    at: Place,
    write: &mut W,
) -> Result<(), E> {
    let state = session.state();
    let tree = &state.tree;
    let previews = session.previews(&state).await?;
    let ExportedEntries { seqs: entries, emptied, hidden } = exported_entries(&state, at);
    let is_emptied = |seq: &Seq| emptied.contains(seq);
    let previews = ExportedPreviews { previews, emptied: emptied.clone() };
    let snapshot = TreeSnapshot::new(tree.clone(), at, Arc::new(previews));
    let usage = usage(session, &state, at, &hidden).await?;
    let summary = summary(card, count_shown(tree, &hidden), usage);
    let leaf = at.map(|seq| tree.id(seq).to_string());
    let mut export = HtmlExport::begin(&summary, leaf.as_deref(), write)?;
    for seq in &entries {
        export.row(&snapshot.row(*seq))?;
    }
    let labels = tree.marks().labels();
    let is_shown = |id: &str| tree.find(id).is_some_and(|target| !hidden.contains(&target));
    export
        .labels(labels.iter().filter(|(id, _)| is_shown(id)).map(|(id, label)| (*id, label.text.as_str())))?;
    let mut written = 0;
    let write_body = |seq: Seq, line: &[u8]| -> Result<(), E> {
        // A line that cannot be read has no body.
        while entries[written] != seq {
            export.body("")?;
            written += 1;
        }
        written += 1;
        match is_emptied(&seq) {
            true => export.body(""),
            false => export.body(&render_line(line).unwrap_or_default()),
        }
    };
    session.for_each_current_line(&state, &entries, write_body).await?;
    let mut log = export.log()?;
    // Where the session was forked from is a path on this machine.
    let header = Header { parent_session: None, parent_store: None, ..session.header().clone() };
    log.line(&header.to_line())?;
    let write_line = |seq: Seq, line: &[u8]| match is_emptied(&seq) {
        true => log.line(&empty_mark(tree, seq)),
        false => log.line(line),
    };
    session.for_each_current_line(&state, &entries, write_line).await?;
    log.end()
}

/// What an export contains of a log.
struct ExportedEntries {
    seqs: Vec<Seq>,
    /// Marks of which only the place in the tree is exported, because other entries are below them or the page begins there.
    emptied: FxHashSet<Seq>,
    /// The entries of deleted branches.
    hidden: FxHashSet<Seq>,
}

/// All entries that are neither replaced nor in a deleted branch, without the content of private marks.
fn exported_entries(state: &SessionState, at: Place) -> ExportedEntries {
    let tree = &state.tree;
    let hidden = tree.hidden_entries();
    let is_current = |seq: &Seq| !tree.head(*seq).has_flag(flag::SUPERSEDED) && !hidden.contains(seq);
    let mut seqs: Vec<Seq> = tree.heads().iter().map(|(seq, _)| seq).filter(is_current).collect();
    let parents = seqs.iter().filter_map(|seq| tree.head(*seq).parent);
    // The page begins at `at`, which may be a mark in the session of another program.
    let needed: FxHashSet<Seq> = parents.chain(at).collect();
    seqs.retain(|seq| needed.contains(seq) || !is_private(tree, *seq, &hidden));
    let emptied = seqs.iter().copied().filter(|seq| is_private(tree, *seq, &hidden)).collect();
    ExportedEntries { seqs, emptied, hidden }
}

/// Whether an entry says something about a deleted branch, or is a label that was changed or cleared.
fn is_private(tree: &SessionTree, seq: Seq, hidden: &FxHashSet<Seq>) -> bool {
    let head = tree.head(seq);
    let is_about_hidden = head.target.is_some_and(|target| hidden.contains(&target));
    match (head.kind, head.target) {
        (EntryKind::EntryUpdate, _) => is_about_hidden,
        (EntryKind::Label, Some(target)) => {
            let label = tree.marks().label(tree.id(target).as_str());
            is_about_hidden || label.is_none_or(|label| label.set_by != seq)
        }
        (EntryKind::Label, None) => true,
        _ => false,
    }
}

/// A mark that says nothing: a label of itself that is cleared.
fn empty_mark(tree: &SessionTree, seq: Seq) -> Vec<u8> {
    let head = tree.head(seq);
    let id = tree.id(seq).to_string();
    let parent = head.parent.map(|parent| tree.id(parent).to_string());
    let line = json!({
        "type": "label", "id": id, "parentId": parent, "timestamp": head.time().map(time::format), "targetId": id,
    });
    line.to_string().into_bytes()
}

/// The previews of entries, without those of private marks.
#[derive(Debug)]
struct ExportedPreviews<P> {
    previews: P,
    emptied: FxHashSet<Seq>,
}

impl<P: EntryPreviews> EntryPreviews for ExportedPreviews<P> {
    fn get(&self, seq: Seq) -> Cow<'_, str> {
        if self.emptied.contains(&seq) { Cow::Borrowed("[label: (cleared)]") } else { self.previews.get(seq) }
    }
}

/// How much the page shows.
struct ShownCounts {
    messages: u64,
    branches: u64,
}

/// Counts like a card, without the entries of deleted branches.
fn count_shown(tree: &SessionTree, hidden: &FxHashSet<Seq>) -> ShownCounts {
    let mut counts = ShownCounts { messages: 0, branches: 0 };
    let mut continued = FxHashSet::default();
    for (_, head) in tree.heads().iter().filter(|(seq, _)| !hidden.contains(seq)) {
        counts.messages += u64::from(head.is_message());
        if head.kind.reaches_context() {
            let is_branch = !continued.insert(tree.heads().anchor(head.parent));
            counts.branches += u64::from(is_branch || counts.branches == 0);
        }
    }
    counts
}

/// The usage of the entries that the page shows.
async fn usage(
    session: &Session,
    state: &SessionState,
    at: Place,
    hidden: &FxHashSet<Seq>,
) -> Result<UsageReport, StoreError> {
    let mut meter = UsageMeter::default();
    let entries: Vec<Seq> = usage_entries(&state.tree).filter(|seq| !hidden.contains(seq)).collect();
    let add = |seq: Seq, line: &[u8]| -> Result<(), StoreError> {
        if let Ok(entry) = parse_entry(line) {
            meter.add_entry(seq, &entry);
        }
        Ok(())
    };
    session.for_each_line(state.version, &entries, add).await?;
    Ok(meter.report(&state.tree, at))
}

fn summary(card: &Card, counts: ShownCounts, usage: UsageReport) -> SessionSummary {
    SessionSummary {
        id: card.id.clone(),
        title: card.title().to_owned(),
        created: card.created,
        modified: card.modified,
        cwd: card.cwd.clone(),
        models: usage.models.into_iter().filter_map(|model| model.model).collect(),
        messages: counts.messages,
        branches: counts.branches,
        usage: usage.session,
    }
}
