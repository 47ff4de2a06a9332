//! Reads from the session on demand: the end of the path, single entries, what the editor restores.

use std::collections::BTreeMap;

use osier_protocol::client::Attached;
use osier_protocol::entry_view::MessageView;
use osier_protocol::query::{Landmark, LandmarkKind, SessionStatus};
use osier_protocol::subagents::TaskPanel;
use osier_protocol::{Client, ClientError, EntryId, EntryLine, Image, one_line};
use serde_json::{Map, Value};

use crate::code::CodeColors;
use crate::msg::{JoinedSession, LeafMove, Msg, PathTail, SessionSwitch, SwitchKind, TaskList};
use crate::pages;
use crate::piece::draw_all;
use crate::theme::ColorRole;
use crate::transcript::{RenderOptions, Transcript, card_header, with_blank_above};

/// The maximum number of entries of a path that are shown at once. The tree shows the others.
const MAX_SHOWN_ENTRIES: usize = 120;

/// What the interface needs to know when it joins a session, and the path that it shows.
pub(super) async fn joined_session(
    client: &dyn Client,
    attached: &Attached,
) -> Result<(JoinedSession, PathTail), ClientError> {
    let path = client.path(Some(MAX_SHOWN_ENTRIES)).await?;
    let (settings, state) = (client.settings().await?, attached.state.clone());
    let joined = JoinedSession {
        turn_running: state.turn_running,
        turn_started: state.turn_started,
        tasks: match state.turn_running {
            true => running_tasks(client).await?,
            false => Vec::new(),
        },
        drafts: state.drafts,
        open_questions: state.open_questions,
        queue: state.queue,
        returned_prompts: state.returned_prompts,
        pastes: stored_pastes(&settings),
        images: stored_images(&settings),
        path_prompts: user_messages(&path.entries),
        unfinished: path.unfinished_turn,
        models: client.models().await?,
        commands: client.commands().await?,
        ..JoinedSession::default()
    };
    let tries = if path.entries.is_empty() { count_tries(client).await } else { 0 };
    Ok((joined, PathTail { tries, ..PathTail::new(path, None) }))
}

/// How many tries of prompts the session has. A client that cannot tell shows none.
async fn count_tries(client: &dyn Client) -> usize {
    let explores = client.explores().await.unwrap_or_default();
    explores.iter().map(|explore| explore.tries.len()).sum()
}

/// The tasks of batches that have not ended.
async fn running_tasks(client: &dyn Client) -> Result<Vec<(String, TaskPanel)>, ClientError> {
    let batches = client.subagents().await?.into_iter().filter(|batch| batch.status == "running");
    let with_call = batches.filter_map(|batch| Some((batch.tool_call_id?, batch.task_panels)));
    Ok(with_call
        .flat_map(|(call, panels)| panels.into_iter().map(move |panel| (call.clone(), panel)))
        .collect())
}

/// The tasks of the session, the latest first, and the session that delegated a task to it.
pub(super) async fn task_list(client: &dyn Client) -> Result<TaskList, ClientError> {
    let (card, batches) = (client.card().await?, client.subagents().await?);
    let is_subagent = card.is_subagent();
    let panels = batches.into_iter().rev().flat_map(|batch| batch.task_panels).collect();
    Ok(TaskList { parent: card.parent_session_id.filter(|_| is_subagent), panels })
}

/// The end of the path, with a notice about the move that led there.
pub(super) async fn read_path(
    client: &dyn Client,
    moved: Option<&LeafMove>,
    columns: usize,
) -> Result<PathTail, ClientError> {
    let path = client.path(Some(MAX_SHOWN_ENTRIES)).await?;
    let notice = match moved {
        Some(LeafMove { reason, from, to }) => {
            let from = describe_position(client.landmark(from.clone()).await?);
            let to = describe_position(client.landmark(to.clone()).await?);
            Some(pages::move_notice(*reason, &from, &to, columns))
        }
        None => None,
    };
    Ok(PathTail::new(path, notice))
}

fn describe_position(landmark: Landmark) -> String {
    let name = match landmark.kind {
        LandmarkKind::Start => return "the start".to_owned(),
        LandmarkKind::UserMessage => "your message",
        LandmarkKind::Reply => "the answer",
        LandmarkKind::BranchSummary => "the summary",
        LandmarkKind::Compaction => "the compaction",
        LandmarkKind::Note => "the note",
    };
    format!("{name} “{}”", landmark.text)
}

/// A page with the complete entry, drawn like the conversation.
pub(super) async fn entry_page(client: &dyn Client, id: EntryId, columns: usize) -> Result<Msg, ClientError> {
    let title = format!("Entry {id}");
    let line = client.entry(id).await?.entry;
    let colors = CodeColors::at_once();
    let options =
        RenderOptions { width: columns, expanded: true, code: Some(&colors), ..RenderOptions::default() };
    let mut transcript = Transcript::default();
    let mut drawn = draw_all(&transcript.draw_line(&line), options);
    let calls = transcript.pending_calls().iter();
    drawn.extend(calls.flat_map(|call| with_blank_above(card_header(call, ColorRole::Accent, options))));
    if drawn.is_empty() {
        drawn = pages::raw_entry_lines(line.bytes(), columns);
    }
    Ok(Msg::Page(title, drawn))
}

/// The user's messages, for the prompt history.
fn user_messages(entries: &[EntryLine]) -> Vec<String> {
    let messages = entries.iter().filter_map(|line| line.view()?.message());
    let user_texts = messages.filter_map(|message| match message {
        MessageView::User(user) => Some(user.text.clone()),
        _ => None,
    });
    user_texts.collect()
}

/// Describes a switch between two sessions and how they are related. Returns the status of the new one too.
pub(super) async fn describe_switch(
    from: &dyn Client,
    to: &dyn Client,
    turn_stopped: bool,
) -> Result<(SessionSwitch, SessionStatus), ClientError> {
    let is_task = to.card().await?.is_subagent();
    let (from, to) = (from.status().await?, to.status().await?);
    let name = |status: &SessionStatus| match &status.name {
        Some(name) => one_line(name, 60),
        None => status.short_id.clone(),
    };
    let kind = match to.has_messages {
        _ if is_task => SwitchKind::Task,
        _ if to.parent_session_id.as_ref() == Some(&from.id) => SwitchKind::Forked,
        true => SwitchKind::Resumed,
        false => SwitchKind::New,
    };
    let switched = SessionSwitch {
        current: name(&to),
        previous: name(&from),
        can_return: from.has_messages,
        kind,
        turn_stopped,
    };
    Ok((switched, to))
}

/// The setting of the session that holds pasted texts, by marker, and the one that holds pasted images.
pub(super) const PASTED_TEXTS: &str = "pastedTextMap";
pub(super) const PASTED_IMAGES: &str = "pastedImageMap";

pub(super) fn stored_pastes(settings: &Map<String, Value>) -> BTreeMap<String, String> {
    let stored = settings.get(PASTED_TEXTS).and_then(Value::as_object).into_iter().flatten();
    stored.filter_map(|(marker, text)| Some((marker.clone(), text.as_str()?.to_owned()))).collect()
}

/// The pasted images, which are stored as data URLs.
pub(super) fn stored_images(settings: &Map<String, Value>) -> BTreeMap<String, Image> {
    let image = |(marker, address): (&String, &Value)| {
        let (mime_type, data) = address.as_str()?.strip_prefix("data:")?.split_once(";base64,")?;
        Some((marker.clone(), Image { data: data.to_owned(), mime_type: mime_type.to_owned() }))
    };
    let stored = settings.get(PASTED_IMAGES).and_then(Value::as_object).into_iter().flatten();
    stored.filter_map(image).collect()
}
