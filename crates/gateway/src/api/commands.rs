//! Commands to the agent of a session: prompts, moves, compactions and grafts.

use axum::Json;
use osier_protocol::{
    ApprovalMode, ClientCommand, CommandReply, EntryId, MoveCommand, Prompt, PromptTiming, ThinkingLevel,
    UserAnswer, UserCommand,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::extract::{JsonBody, NamedSession, SessionPath, StoreParam};

type Reply = Result<Json<CommandReply>, ApiError>;

/// A prompt to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PromptBody {
    #[serde(flatten)]
    prompt: Prompt,
    #[serde(default)]
    when: PromptTiming,
    /// The leaf that the client shows. If it is not the leaf any more, the prompt is refused with `leaf_changed`; `null` means
    /// before the first entry. A prompt that is queued expects nothing.
    #[serde(default, deserialize_with = "super::present")]
    #[schemars(with = "Option<EntryId>")]
    expected_leaf_id: Option<Option<EntryId>>,
}

/// Sends a prompt. Responds when the prompt is stored, not when the turn ends.
#[utoipa::path(post, path = "/api/sessions/{id}/prompt", params(SessionPath, StoreParam), tag = "commands", operation_id = "prompt",
    request_body = ref("#/components/schemas/PromptBody"),
    responses((status = 200, description = "The prompt was stored or queued", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn prompt(session: NamedSession, JsonBody(body): JsonBody<PromptBody>) -> Reply {
    let PromptBody { prompt, when, expected_leaf_id } = body;
    session.send(ClientCommand::Prompt { prompt, when, expected_leaf_id }).await
}

/// Continues an unfinished turn.
#[utoipa::path(post, path = "/api/sessions/{id}/resume", params(SessionPath, StoreParam), tag = "commands", operation_id = "resume",
    responses((status = 200, description = "The turn continues", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn resume(session: NamedSession) -> Reply {
    session.send(ClientCommand::Resume).await
}

/// Stops the running turn. Responds with the queued prompts, which are not sent.
#[utoipa::path(post, path = "/api/sessions/{id}/cancel", params(SessionPath, StoreParam), tag = "commands", operation_id = "cancel",
    responses((status = 200, description = "The turn has ended", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn cancel(session: NamedSession) -> Reply {
    session.send(ClientCommand::Cancel).await
}

/// Empties the queue of prompts and returns them.
#[utoipa::path(post, path = "/api/sessions/{id}/clear-queue", params(SessionPath, StoreParam), tag = "commands",
    operation_id = "clearQueue",
    responses((status = 200, description = "The prompts", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn clear_queue(session: NamedSession) -> Reply {
    session.send(ClientCommand::ClearQueue).await
}

/// The answer to an open question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    /// The id of the question in the state of the session.
    question: u64,
    answer: UserAnswer,
}

/// Answers a question of the agent.
#[utoipa::path(post, path = "/api/sessions/{id}/answer", params(SessionPath, StoreParam), tag = "commands", operation_id = "answer",
    request_body = ref("#/components/schemas/AnswerBody"),
    responses((status = 200, description = "The turn continues", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn answer(
    session: NamedSession,
    JsonBody(AnswerBody { question, answer }): JsonBody<AnswerBody>,
) -> Reply {
    session.send(ClientCommand::Answer { question, answer }).await
}

/// Moves to another position in the tree. With `exact: true`, it is `switchLeaf`; with `targetId: null`, `resetLeaf`.
#[utoipa::path(post, path = "/api/sessions/{id}/move", params(SessionPath, StoreParam), tag = "commands", operation_id = "move",
    request_body = ref("#/components/schemas/MoveCommand"),
    responses((status = 200, description = "The result", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn move_leaf(session: NamedSession, JsonBody(command): JsonBody<MoveCommand>) -> Reply {
    session.send(ClientCommand::Move(command)).await
}

/// Undoes the last move.
#[utoipa::path(post, path = "/api/sessions/{id}/undo", params(SessionPath, StoreParam), tag = "commands", operation_id = "undo",
    responses((status = 200, description = "The result", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn undo(session: NamedSession) -> Reply {
    session.send(ClientCommand::Undo).await
}

/// Repeats the move that was undone last.
#[utoipa::path(post, path = "/api/sessions/{id}/redo", params(SessionPath, StoreParam), tag = "commands", operation_id = "redo",
    responses((status = 200, description = "The result", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn redo(session: NamedSession) -> Reply {
    session.send(ClientCommand::Redo).await
}

/// What a compaction should keep in mind.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CompactBody {
    focus: Option<String>,
}

/// Replaces the older part of the path with a summary in the context. Stops a running turn first.
#[utoipa::path(post, path = "/api/sessions/{id}/compact", params(SessionPath, StoreParam), tag = "commands", operation_id = "compact",
    request_body = ref("#/components/schemas/CompactBody"),
    responses((status = 200, description = "The result", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn compact(
    session: NamedSession,
    JsonBody(CompactBody { focus }): JsonBody<CompactBody>,
) -> Reply {
    session.send(ClientCommand::Compact { focus }).await
}

/// The compaction to undo.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct UndoCompactionBody {
    /// The last one on the path if absent.
    entry: Option<EntryId>,
}

/// Moves to the position before a compaction.
#[utoipa::path(post, path = "/api/sessions/{id}/undo-compaction", params(SessionPath, StoreParam), tag = "commands",
    operation_id = "undoCompaction", request_body = ref("#/components/schemas/UndoCompactionBody"),
    responses((status = 200, description = "The result", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn undo_compaction(
    session: NamedSession,
    JsonBody(UndoCompactionBody { entry }): JsonBody<UndoCompactionBody>,
) -> Reply {
    session.send(ClientCommand::UndoCompaction { entry }).await
}

/// The branch to graft.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraftBody {
    /// The last entry of the branch.
    tip: EntryId,
    /// A model writes the conclusion.
    #[serde(default)]
    summarize: bool,
    #[serde(default)]
    instructions: Option<String>,
}

/// Adds the conclusion of another branch to the current position.
#[utoipa::path(post, path = "/api/sessions/{id}/graft", params(SessionPath, StoreParam), tag = "commands", operation_id = "graft",
    request_body = ref("#/components/schemas/GraftBody"),
    responses((status = 200, description = "The result", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn graft(session: NamedSession, JsonBody(body): JsonBody<GraftBody>) -> Reply {
    let GraftBody { tip, summarize, instructions } = body;
    session.send(ClientCommand::Graft { tip, summarize, instructions }).await
}

/// A command of the user.
#[utoipa::path(post, path = "/api/sessions/{id}/shell", params(SessionPath, StoreParam), tag = "commands", operation_id = "runShell",
    request_body = ref("#/components/schemas/UserCommand"),
    responses((status = 200, description = "The command has ended", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn shell(session: NamedSession, JsonBody(command): JsonBody<UserCommand>) -> Reply {
    session.send(ClientCommand::RunShell(command)).await
}

/// What the agent of a session uses from now on. What is absent stays as it is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentBody {
    /// A model name as the user writes it.
    model: Option<String>,
    thinking: Option<ThinkingLevel>,
    approval: Option<ApprovalMode>,
}

/// Changes the model, the thinking level or the approval mode.
#[utoipa::path(patch, path = "/api/sessions/{id}/agent", params(SessionPath, StoreParam), tag = "commands",
    operation_id = "updateAgent", request_body = ref("#/components/schemas/AgentBody"),
    responses((status = 200, description = "The agent was changed", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn update_agent(session: NamedSession, JsonBody(body): JsonBody<AgentBody>) -> Reply {
    let client = session.client().await?;
    let commands = [
        body.model.map(|model| ClientCommand::SetModel { model }),
        body.thinking.map(|level| ClientCommand::SetThinking { level }),
        body.approval.map(|mode| ClientCommand::SetApproval { mode }),
    ];
    for command in commands.into_iter().flatten() {
        client.send(command).await?;
    }
    Ok(Json(CommandReply::Done))
}

/// Settings of the session to change.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SessionSettings {
    set: Map<String, Value>,
    unset: Vec<String>,
}

/// Changes settings of the session.
#[utoipa::path(patch, path = "/api/sessions/{id}/settings", params(SessionPath, StoreParam), tag = "commands",
    operation_id = "changeSessionSettings", request_body = ref("#/components/schemas/SessionSettings"),
    responses((status = 200, description = "The settings were changed", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn change_settings(
    session: NamedSession,
    JsonBody(body): JsonBody<SessionSettings>,
) -> Reply {
    let SessionSettings { set, unset } = body;
    session.send(ClientCommand::SetConfig { set, unset }).await
}
