//! Appending entries of one type, with a check of their fields.

use axum::Json;
use axum::http::StatusCode;
use osier_engine::{AppendParent, EntryPlacement, NewCompaction};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::entries::{StoredEntryBody, stored_entry};
use crate::error::ApiError;
use crate::extract::{EntryPath, JsonBody, NamedSession, SessionPath, StoreParam};

type Appended = Result<(StatusCode, Json<StoredEntryBody>), ApiError>;

/// Where a new entry goes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Placement {
    /// The parent; the leaf if absent. `null` makes a new root.
    #[serde(deserialize_with = "super::present")]
    #[schemars(with = "Option<String>")]
    parent_id: Option<Option<String>>,
    /// The id of the new entry. With an id, the request can be repeated: the entry is written once.
    entry_id: Option<String>,
}

impl From<Placement> for EntryPlacement {
    fn from(placement: Placement) -> EntryPlacement {
        let parent = match placement.parent_id {
            None => AppendParent::Leaf,
            Some(None) => AppendParent::Root,
            Some(Some(id)) => AppendParent::Entry(id),
        };
        EntryPlacement { parent, id: placement.entry_id }
    }
}

/// A message to append.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppendMessage {
    /// The whole message, which is stored unchanged.
    #[schemars(with = "Map<String, Value>")]
    message: Box<RawValue>,
    /// The parent; the leaf if absent. `null` makes a new root.
    // A flattened struct could not contain the text of the message.
    #[serde(default, deserialize_with = "super::present")]
    #[schemars(with = "Option<String>")]
    parent_id: Option<Option<String>>,
    /// The id of the new entry. With an id, the request can be repeated: the entry is written once.
    #[serde(default)]
    entry_id: Option<String>,
}

/// Appends a message.
#[utoipa::path(post, path = "/api/sessions/{id}/messages", params(SessionPath, StoreParam), tag = "entries",
    operation_id = "appendMessage", request_body = ref("#/components/schemas/AppendMessage"),
    responses((status = 201, description = "The entry was stored", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn append_message(
    session: NamedSession,
    JsonBody(body): JsonBody<AppendMessage>,
) -> Appended {
    let AppendMessage { message, parent_id, entry_id } = body;
    let placement = Placement { parent_id, entry_id }.into();
    stored_entry(session.operations.append_message(&placement, message.get().as_bytes()).await?)
}

/// A thinking level to append.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppendThinkingLevel {
    thinking_level: String,
    #[serde(flatten)]
    placement: Placement,
}

/// Appends a change of the thinking level.
#[utoipa::path(post, path = "/api/sessions/{id}/thinking-level-changes", params(SessionPath, StoreParam), tag = "entries",
    operation_id = "appendThinkingLevelChange", request_body = ref("#/components/schemas/AppendThinkingLevel"),
    responses((status = 201, description = "The entry was stored", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn append_thinking_level(
    session: NamedSession,
    JsonBody(body): JsonBody<AppendThinkingLevel>,
) -> Appended {
    stored_entry(
        session.operations.append_thinking_level(&body.placement.into(), &body.thinking_level).await?,
    )
}

/// A model to append.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppendModelChange {
    provider: String,
    model_id: String,
    #[serde(flatten)]
    placement: Placement,
}

/// Appends a change of the model.
#[utoipa::path(post, path = "/api/sessions/{id}/model-changes", params(SessionPath, StoreParam), tag = "entries",
    operation_id = "appendModelChange", request_body = ref("#/components/schemas/AppendModelChange"),
    responses((status = 201, description = "The entry was stored", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn append_model_change(
    session: NamedSession,
    JsonBody(body): JsonBody<AppendModelChange>,
) -> Appended {
    let (provider, model) = (&body.provider, &body.model_id);
    stored_entry(session.operations.append_model_change(&body.placement.into(), provider, model).await?)
}

/// A compaction to append.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppendCompaction {
    summary: String,
    /// An entry on the path.
    first_kept_entry_id: String,
    tokens_before: u64,
    #[serde(default)]
    details: Option<Value>,
    #[serde(flatten)]
    placement: Placement,
}

/// Appends a compaction that another program made. `compact` makes one.
#[utoipa::path(post, path = "/api/sessions/{id}/compactions", params(SessionPath, StoreParam), tag = "entries",
    operation_id = "appendCompaction", request_body = ref("#/components/schemas/AppendCompaction"),
    responses((status = 201, description = "The entry was stored", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn append_compaction(
    session: NamedSession,
    JsonBody(body): JsonBody<AppendCompaction>,
) -> Appended {
    let AppendCompaction { summary, first_kept_entry_id: first_kept, tokens_before, details, placement } =
        body;
    let extra = details.map(|details| ("details".to_owned(), details)).into_iter().collect();
    let compaction = NewCompaction { summary, first_kept, tokens_before, extra };
    stored_entry(session.operations.append_compaction(&placement.into(), &compaction).await?)
}

/// A branch summary to append.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AppendBranchSummary {
    /// The last entry of the branch.
    from_id: String,
    summary: String,
    #[serde(flatten)]
    placement: Placement,
}

/// Appends a summary of a branch that another program wrote. `move` writes one.
#[utoipa::path(post, path = "/api/sessions/{id}/branch-summaries", params(SessionPath, StoreParam), tag = "entries",
    operation_id = "appendBranchSummary", request_body = ref("#/components/schemas/AppendBranchSummary"),
    responses((status = 201, description = "The entry was stored", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn append_branch_summary(
    session: NamedSession,
    JsonBody(body): JsonBody<AppendBranchSummary>,
) -> Appended {
    let (from, summary) = (&body.from_id, &body.summary);
    stored_entry(session.operations.append_branch_summary(&body.placement.into(), from, summary).await?)
}

/// A label.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LabelBody {
    /// An empty label removes the label.
    label: Option<String>,
}

/// Labels an entry.
#[utoipa::path(put, path = "/api/sessions/{id}/entries/{entry}/label", params(EntryPath, StoreParam), tag = "entries",
    operation_id = "appendLabelChange", request_body = ref("#/components/schemas/LabelBody"),
    responses((status = 201, description = "The label was stored", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn label(
    session: NamedSession,
    JsonBody(LabelBody { label }): JsonBody<LabelBody>,
) -> Appended {
    stored_entry(session.operations.append_label(session.entry(), label.as_deref()).await?)
}

/// The name of a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NameBody {
    /// An empty name removes the name.
    name: String,
}

/// Names a session.
#[utoipa::path(put, path = "/api/sessions/{id}/name", params(SessionPath, StoreParam), tag = "entries",
    operation_id = "appendSessionInfo", request_body = ref("#/components/schemas/NameBody"),
    responses((status = 201, description = "The name was stored", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn rename(
    session: NamedSession,
    JsonBody(NameBody { name }): JsonBody<NameBody>,
) -> Appended {
    stored_entry(session.operations.rename(&name).await?)
}
