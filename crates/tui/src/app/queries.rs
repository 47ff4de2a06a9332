//! Reads from a session on demand: the end of the path, the tree, messages, usage.

use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;

use osier_agent::tail::{Tail, tail_entries};
use osier_agent::{AgentError, Worker};
use osier_model::Image;
use osier_session::Session;
use osier_tools::approvals::ApprovalMode;
use osier_tree::entry::parse_entry;
use osier_tree::kind::flag;
use osier_tree::line_consumer::LineConsumer;
use osier_tree::projection::preview::{full_text, one_line, shown_text};
use osier_tree::projection::transcript::transcript_entries;
use osier_tree::projection::usage::{UsageMeter, UsageReport, usage_entries};
use osier_tree::short_ids::first_eight;
use osier_tree::tokens::TokenCount;
use osier_tree::{EntryKind, Header, MessageRole, Seq, SessionTree};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::msg::{LeafMove, Msg, PathTail, SessionSwitch, SwitchKind, TreeSnapshot};
use crate::pages;
use crate::piece::draw_all;
use crate::state::StatusInfo;
use crate::theme;
use crate::transcript::{RenderOptions, Transcript, card_header, with_blank_above};

/// The maximum number of entries of a path that are shown at once. The tree shows the others.
const MAX_SHOWN_ENTRIES: usize = 120;

pub(super) async fn read_path(
    worker: &Worker,
    moved: Option<&LeafMove>,
    columns: usize,
) -> Result<PathTail, AgentError> {
    let (state, at) = worker.cursor().state_and_place();
    let tree = &state.tree;
    let on_path: FxHashSet<Seq> = tree.path(at).into_iter().collect();
    let mut wanted = transcript_entries(tree, at);
    wanted.retain(|seq| on_path.contains(seq));
    let mut earlier = wanted.len().saturating_sub(MAX_SHOWN_ENTRIES);
    // Do not start with a result: its card needs the tool call.
    while wanted.get(earlier).is_some_and(|seq| tree.head(*seq).role == MessageRole::ToolResult) {
        earlier += 1;
    }
    wanted.drain(..earlier);
    let mut lines = Vec::with_capacity(wanted.len());
    let take = |_: Seq, line: &[u8]| -> Result<(), AgentError> {
        lines.push(line.to_vec());
        Ok(())
    };
    worker.session().for_each_current_line(&state, &wanted, take).await?;
    let notice = match moved {
        Some(LeafMove { reason, from, to }) => {
            let [from, to] = [
                describe_position(worker, tree, from.as_deref()).await?,
                describe_position(worker, tree, to.as_deref()).await?,
            ];
            Some(pages::move_notice(*reason, &from, &to, columns))
        }
        None => None,
    };
    Ok(PathTail { lines, hidden_entries: earlier, notice, log_entries: state.version.entries })
}

/// Describes a position for the user by the nearest message at or above it.
async fn describe_position(
    worker: &Worker,
    tree: &SessionTree,
    id: Option<&str>,
) -> Result<String, AgentError> {
    for seq in tree.heads().ancestors(id.and_then(|id| tree.find(id))) {
        let word = match (tree.head(seq).kind, tree.head(seq).role) {
            (EntryKind::Message, MessageRole::User) => "your message",
            (EntryKind::Message, MessageRole::Assistant) => "the answer",
            (EntryKind::BranchSummary, _) => "the summary",
            (EntryKind::Compaction, _) => "the compaction",
            (EntryKind::Backtrack, _) => "the note",
            _ => continue,
        };
        let lines = read_lines(worker, &[seq]).await?;
        let entry = lines.get(&seq).and_then(|line| parse_entry(line).ok());
        let text = entry.as_ref().map(shown_text).unwrap_or_default();
        let text = one_line(text.trim(), 200);
        // A reply with only tool calls has no text to recognize it by.
        if !text.is_empty() {
            return Ok(format!("{word} “{text}”"));
        }
    }
    Ok("the start".to_owned())
}

/// A page with the complete entry, drawn like the conversation.
pub(super) async fn entry_page(worker: &Worker, id: &str, columns: usize) -> Result<Msg, AgentError> {
    let (state, _) = worker.cursor().state_and_place();
    let seq = state.tree.require(id)?;
    let look = RenderOptions { width: columns, expanded: true, ..RenderOptions::default() };
    let mut drawn = Vec::new();
    let take = |_: Seq, line: &[u8]| -> Result<(), AgentError> {
        let mut script = Transcript::default();
        drawn = draw_all(&script.draw_line(line), look);
        drawn.extend(
            script
                .pending_calls()
                .iter()
                .flat_map(|call| with_blank_above(card_header(call, theme::ColorRole::Accent, look))),
        );
        if drawn.is_empty() {
            drawn = pages::raw_entry_lines(line, columns);
        }
        Ok(())
    };
    worker.session().for_each_current_line(&state, &[seq], take).await?;
    Ok(Msg::Page(format!("Entry {id}"), drawn))
}

/// The user's messages on the path, for the prompt history.
pub(super) fn user_messages(path: &PathTail) -> Vec<String> {
    let entries = path.lines.iter().filter_map(|line| parse_entry(line).ok());
    let users = entries.filter(|entry| entry.role == MessageRole::User);
    users.map(|entry| shown_text(&entry).into_owned()).collect()
}

/// Whether the last turn on the path did not finish.
pub(super) async fn has_unfinished_turn(worker: &Worker) -> Result<bool, AgentError> {
    let (state, at) = worker.cursor().state_and_place();
    let lines = read_lines(worker, &tail_entries(&state.tree, at)).await?;
    Ok(Tail::from_path(&state.tree, at, &lines).is_open())
}

/// Describes a switch between two sessions and how they are related.
pub(super) async fn describe_switch(from: &Session, to: &Session, stopped: bool) -> SessionSwitch {
    let name = async |session: &Session| match session.tree().marks().name() {
        Some(name) => one_line(name, 60),
        None => short_id(session).await,
    };
    let Header { parent_session, parent_session_id, .. } = to.header();
    let is_fork = parent_session_id.as_deref() == Some(from.id())
        || from.file().is_some_and(|file| parent_session.as_deref().map(FilePath::new) == Some(file));
    let is_said = |session: &Session| session.tree().heads().iter().any(|(_, head)| head.is_message());
    let how = match is_said(to) {
        _ if is_fork => SwitchKind::Forked,
        true => SwitchKind::Resumed,
        false => SwitchKind::New,
    };
    SessionSwitch {
        current: name(to).await,
        previous: name(from).await,
        can_return: is_said(from),
        kind: how,
        turn_stopped: stopped,
    }
}

/// The pasted texts in the session's settings, by marker.
pub(super) fn stored_pastes(worker: &Worker) -> BTreeMap<String, String> {
    let tree = worker.session().tree();
    let kept = tree.marks().settings().get("pastedTextMap").and_then(|map| map.as_object().cloned());
    let text = |(marker, text): (String, serde_json::Value)| Some((marker, text.as_str()?.to_owned()));
    kept.into_iter().flatten().filter_map(text).collect()
}

/// The pasted images in the session's settings, which are stored as data URLs.
pub(super) fn stored_images(worker: &Worker) -> BTreeMap<String, Image> {
    let tree = worker.session().tree();
    let kept = tree.marks().settings().get("pastedImageMap").and_then(|map| map.as_object().cloned());
    let image = |(marker, address): (String, serde_json::Value)| {
        let (mime_type, data) = address.as_str()?.strip_prefix("data:")?.split_once(";base64,")?;
        Some((marker, Image { data: data.to_owned(), mime_type: mime_type.to_owned() }))
    };
    kept.into_iter().flatten().filter_map(image).collect()
}

/// The complete text of an entry.
pub(super) async fn entry_text(worker: &Worker, id: &str) -> Result<String, AgentError> {
    let seq = worker.session().tree().require(id)?;
    let lines = read_lines(worker, &[seq]).await?;
    let entry = lines.get(&seq).and_then(|line| parse_entry(line).ok());
    Ok(entry.map(|entry| full_text(&entry)).unwrap_or_default())
}

pub(super) async fn tree_snapshot(worker: &Worker) -> Result<TreeSnapshot, AgentError> {
    let session = worker.session();
    let (state, leaf) = worker.cursor().state_and_place();
    let texts = session.previews(&state).await?;
    Ok(TreeSnapshot { tree: state.tree.clone(), leaf, texts: Arc::new(texts) })
}

/// The shortest unique prefix of the session's id in its store, or its first eight characters if the store does not answer.
pub(super) async fn short_id(session: &Session) -> String {
    let asked = session.store().short_id(session.id()).await;
    asked.unwrap_or_else(|_| first_eight(session.id()).to_owned())
}

pub(super) async fn status_info(
    worker: &Worker,
    git_branch: Option<String>,
) -> Result<StatusInfo, AgentError> {
    let session = worker.session();
    let choice = worker.model_choice().await?;
    let card = session.store().card(session.key()).await.ok();
    let (state, at) = worker.cursor().state_and_place();
    let tree = &state.tree;
    Ok(StatusInfo {
        id: session.id().to_owned(),
        short_id: short_id(session).await,
        name: tree.marks().name().map(str::to_owned),
        git_branch,
        model: choice.model.full_name(),
        thinking: choice.thinking,
        approval_mode: approval_mode(tree),
        context: context_tokens(worker).await?,
        context_window: choice.model.context_window,
        cost: card.as_ref().map_or(0.0, |card| card.cost),
        depth: transcript_entries(tree, at).len(),
        tips: card.map_or(0, |card| card.branches as usize),
    })
}

/// The tokens of the current context: as the last reply reported them, or estimated.
async fn context_tokens(worker: &Worker) -> Result<TokenCount, AgentError> {
    let (state, at) = worker.cursor().state_and_place();
    let mut weighing = state.tree.token_counter(at);
    loop {
        let wanted = weighing.needed_lines();
        if wanted.is_empty() {
            return Ok(weighing.count());
        }
        weighing.feed(&read_lines(worker, &wanted).await?);
    }
}

/// The text of the last assistant message on the path.
pub(super) async fn last_answer(worker: &Worker) -> Result<Option<String>, AgentError> {
    let (state, at) = worker.cursor().state_and_place();
    let tree = &state.tree;
    let is_answer = |seq: &Seq| {
        tree.head(*seq).role == MessageRole::Assistant && tree.head(*seq).has_flag(flag::HAS_TEXT)
    };
    let Some(seq) = tree.heads().ancestors(at).find(is_answer) else { return Ok(None) };
    Ok(Some(entry_text(worker, tree.id(seq).as_str()).await?))
}

fn approval_mode(tree: &SessionTree) -> Option<ApprovalMode> {
    let settings = tree.marks().settings();
    match settings.get("approvalMode") {
        Some(mode) => ApprovalMode::from_name(mode.as_str()?),
        None => Some(ApprovalMode::default()),
    }
}

pub(super) async fn usage_report(worker: &Worker) -> Result<UsageReport, AgentError> {
    let (state, at) = worker.cursor().state_and_place();
    let wanted: Vec<Seq> = usage_entries(&state.tree).collect();
    let mut meter = UsageMeter::default();
    let take = |seq: Seq, line: &[u8]| -> Result<(), AgentError> {
        if let Ok(entry) = parse_entry(line) {
            meter.add_entry(seq, &entry);
        }
        Ok(())
    };
    worker.session().for_each_line(state.version, &wanted, take).await?;
    Ok(meter.report(&state.tree, at))
}

/// The log lines of these entries.
pub(super) async fn read_lines(
    worker: &Worker,
    wanted: &[Seq],
) -> Result<FxHashMap<Seq, Vec<u8>>, AgentError> {
    let mut lines = FxHashMap::default();
    let take = |seq: Seq, line: &[u8]| -> Result<(), AgentError> {
        lines.insert(seq, line.to_vec());
        Ok(())
    };
    worker.session().for_each_line(worker.session().version(), wanted, take).await?;
    Ok(lines)
}
