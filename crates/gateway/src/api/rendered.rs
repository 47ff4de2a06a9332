//! Entries as HTML, for the page. The viewer makes the markup, so it is the same as in an export.

use axum::Json;
use osier_engine::{EntryRow, EntryRows, ShownEntries};
use osier_protocol::entry_view::{EntryContent, SubagentsView};
use osier_protocol::{EntryId, TreeRow};
use osier_viewer::entry::render_line;
use osier_viewer::{render_diff, render_markdown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{JsonBody, NamedSession, Params, SessionPath, StoreParam};

/// The most entries in a request.
const MAX_ENTRIES: usize = 200;

/// Which entries to render.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RenderedParams {
    /// Their ids, with commas between them.
    ids: Option<String>,
    /// Instead of ids: the last entries of the path, at most this many.
    last: Option<usize>,
}

/// Entries as HTML.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenderedEntries {
    entries: Vec<RenderedEntry>,
    leaf_id: Option<EntryId>,
    /// The number of entries of the path before the first one. Only with `last`.
    hidden_entries: usize,
    /// Named entries that exist and are not in this response, because it has at most 16 MB of entries: name them in the next request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    omitted: Vec<EntryId>,
}

/// An entry as HTML.
#[derive(Debug, Serialize, JsonSchema)]
struct RenderedEntry {
    row: TreeRow,
    html: String,
    /// What the HTML shows of a batch of sub-agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    subagents: Option<SubagentsView>,
}

/// Renders entries to HTML, each once. Entries that do not exist are left out.
#[utoipa::path(get, path = "/api/sessions/{id}/rendered", params(SessionPath, StoreParam, RenderedParams), tag = "queries",
    operation_id = "getRenderedEntries",
    responses((status = 200, description = "The entries", body = ref("#/components/schemas/RenderedEntries"))))]
pub(crate) async fn entries(
    session: NamedSession,
    Params(params): Params<RenderedParams>,
) -> Result<Json<RenderedEntries>, ApiError> {
    let ids: Vec<&str> =
        params.ids.iter().flat_map(|ids| ids.split(',')).filter(|id| !id.is_empty()).collect();
    if ids.len() > MAX_ENTRIES {
        return Err(ApiError::invalid(format!("a request can name {MAX_ENTRIES} entries")));
    }
    let shown = match params.last {
        Some(last) => ShownEntries::LastOfPath(last.min(MAX_ENTRIES)),
        None => ShownEntries::Ids(&ids),
    };
    let rows = session.gateway.engine().entry_rows(session.stored(), shown).await?;
    let EntryRows { entries, leaf_id, hidden_entries, omitted } = rows;
    let entries = on_blocking_thread(move || entries.into_iter().map(rendered_entry).collect()).await;
    Ok(Json(RenderedEntries { entries, leaf_id, hidden_entries, omitted }))
}

fn rendered_entry(EntryRow { row, line }: EntryRow) -> RenderedEntry {
    let subagents = line.view().and_then(|view| match &view.content {
        EntryContent::Subagents(view) => Some(view.clone()),
        _ => None,
    });
    RenderedEntry { row, html: render_line(line.bytes()).unwrap_or_default(), subagents }
}

/// Renders on another thread, because a large text takes long.
async fn on_blocking_thread<T: Send + 'static>(render: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(render).await {
        Ok(rendered) => rendered,
        // The task is never canceled, so it panicked.
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// What to render.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenderBody {
    parts: Vec<RenderPart>,
}

/// Something that is not stored, or not yet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum RenderPart {
    /// An entry, such as a reply that is being written.
    Entry {
        #[schemars(with = "Map<String, Value>")]
        entry: Value,
    },
    /// A diff in the unified format.
    Diff {
        text: String,
    },
    Markdown {
        text: String,
    },
}

/// Parts as HTML, in their order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RenderedParts {
    html: Vec<String>,
}

/// Renders texts that are not stored, such as a reply that is being written.
#[utoipa::path(post, path = "/api/render", tag = "engine", operation_id = "render",
    request_body = ref("#/components/schemas/RenderBody"),
    responses((status = 200, description = "The parts as HTML", body = ref("#/components/schemas/RenderedParts"))))]
pub(crate) async fn render(JsonBody(RenderBody { parts }): JsonBody<RenderBody>) -> Json<RenderedParts> {
    let html = on_blocking_thread(move || parts.iter().map(render_part).collect()).await;
    Json(RenderedParts { html })
}

fn render_part(part: &RenderPart) -> String {
    match part {
        RenderPart::Entry { entry } => render_line(entry.to_string().as_bytes()).unwrap_or_default(),
        RenderPart::Diff { text } => render_diff(text),
        RenderPart::Markdown { text } => render_markdown(text),
    }
}
