//! `sessionManager.branch`, `resetLeaf`, `branchWithSummary` and `createBranchedSession`. The extension waits for these, so its own
//! handlers are not asked: it knows what it does.

use std::sync::atomic::Ordering;

use osier_agent::hooks::ExtensionSummary;
use osier_engine::{ForkFrom, ForkRequest};
use osier_protocol::{ClientCommand, CommandReply, MoveCommand, MoveReply};
use osier_tree::EntryId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::ExtensionCall;
use super::extension::Extension;
use super::session::GivenSummary;
use super::session_calls::{failure, send};
use crate::frame::Failure;

#[derive(Debug, Deserialize)]
struct BranchParams {
    id: Option<EntryId>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    details: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct BranchedSessionParams {
    id: String,
}

/// Marks an extension that waits for an answer, until this is dropped.
struct Waiting<'a>(&'a Extension);

impl<'a> Waiting<'a> {
    fn new(extension: &'a Extension) -> Waiting<'a> {
        extension.is_waiting.store(true, Ordering::SeqCst);
        Waiting(extension)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.is_waiting.store(false, Ordering::SeqCst);
    }
}

/// Moves to exactly an entry. Returns the id of the summary, if one was given.
pub(super) async fn branch(call: &ExtensionCall) -> Result<Value, Failure> {
    let BranchParams { id, summary, details } = call.params()?;
    let _waiting = Waiting::new(&call.extension);
    let summarize = summary.is_some();
    let given = |summary| GivenSummary { target: id.clone(), summary: ExtensionSummary { summary, details } };
    call.session.set_given_summary(summary.map(given));
    let command = MoveCommand { target_id: id, exact: true, summarize, ..MoveCommand::default() };
    let moved = send(call, ClientCommand::Move(command)).await;
    call.session.set_given_summary(None);
    match moved? {
        CommandReply::Moved(MoveReply { cancelled: false, summary_entry, .. }) => Ok(json!(summary_entry)),
        _ => Err(Failure::new("an extension refused the move")),
    }
}

/// Copies the path of an entry into a new session. Returns its file, or its id if it has none.
pub(super) async fn create_branched_session(call: &ExtensionCall) -> Result<Value, Failure> {
    let BranchedSessionParams { id } = call.params()?;
    let _waiting = Waiting::new(&call.extension);
    let engine = call.session.engine().ok_or_else(|| Failure::new("sessions cannot be created here"))?;
    let request = ForkRequest { from: ForkFrom::Exactly(id), store: None, name: None };
    let forked = engine.fork(&call.session.session, &request).await.map_err(failure)?;
    let location = |stored: osier_engine::StoredSession| {
        stored.file().map_or_else(|| stored.key.clone(), |file| file.to_string_lossy().into_owned())
    };
    Ok(json!(forked.map(|forked| location(forked.stored))))
}
