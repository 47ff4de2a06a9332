//! Exporting a session with all its branches as one HTML file.

use std::sync::Arc;

use osier_protocol::TreeSnapshot;
use osier_session::{Session, SessionError, SessionState};
use osier_store::StoreError;
use osier_tree::entry::{flag, parse_entry};
use osier_tree::projection::card::Card;
use osier_tree::projection::usage::{UsageMeter, UsageReport, usage_entries};
use osier_tree::{Header, Place, Seq};
use osier_viewer::entry::render_line;
use osier_viewer::{HtmlExport, SessionSummary};

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
    let snapshot = TreeSnapshot::new(tree.clone(), at, Arc::new(previews));
    let summary = summary(card, usage(session, &state, at).await?);
    let entries = shown_entries(&state);
    let leaf = at.map(|seq| tree.id(seq).to_string());
    let mut export = HtmlExport::begin(&summary, leaf.as_deref(), write)?;
    for seq in &entries {
        export.row(&snapshot.row(*seq))?;
    }
    export.labels(tree.marks().labels().into_iter().map(|(id, label)| (id, label.text.as_str())))?;
    let mut written = 0;
    let write_body = |seq: Seq, line: &[u8]| -> Result<(), E> {
        // A line that cannot be read has no body.
        while entries[written] != seq {
            export.body("")?;
            written += 1;
        }
        written += 1;
        export.body(&render_line(line).unwrap_or_default())
    };
    session.for_each_current_line(&state, &entries, write_body).await?;
    let mut log = export.log()?;
    // Where the session was forked from is a path on this machine.
    let header = Header { parent_session: None, parent_store: None, ..session.header().clone() };
    log.line(&header.to_line())?;
    session.for_each_current_line(&state, &entries, |_, line| log.line(line)).await?;
    log.end()
}

/// All entries that are neither replaced nor in a deleted branch.
fn shown_entries(state: &SessionState) -> Vec<Seq> {
    let hidden = state.tree.hidden_entries();
    let current = state.tree.heads().iter().filter(|(_, head)| !head.has_flag(flag::SUPERSEDED));
    current.map(|(seq, _)| seq).filter(|seq| !hidden.contains(seq)).collect()
}

async fn usage(session: &Session, state: &SessionState, at: Place) -> Result<UsageReport, StoreError> {
    let mut meter = UsageMeter::default();
    let entries: Vec<Seq> = usage_entries(&state.tree).collect();
    let add = |seq: Seq, line: &[u8]| -> Result<(), StoreError> {
        if let Ok(entry) = parse_entry(line) {
            meter.add_entry(seq, &entry);
        }
        Ok(())
    };
    session.for_each_line(state.version, &entries, add).await?;
    Ok(meter.report(&state.tree, at))
}

fn summary(card: &Card, usage: UsageReport) -> SessionSummary {
    SessionSummary {
        id: card.id.clone(),
        title: card.title().to_owned(),
        created: card.created,
        modified: card.modified,
        cwd: card.cwd.clone(),
        models: usage.models.into_iter().filter_map(|model| model.model).collect(),
        messages: card.message_count,
        branches: card.branches,
        usage: usage.session,
    }
}
