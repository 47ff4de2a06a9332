//! Entries as HTML, for the page. The viewer makes the markup, so it is the same as in an export.

use axum::Json;
use osier_protocol::{Client, EntryId, EntryLine, TreeRow, TreeSnapshot};
use osier_viewer::entry::render_line;
use osier_viewer::{render_diff, render_markdown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{JsonBody, NamedSession, Params, SessionPath, StoreParam};

/// The most entries in a response.
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
}

/// An entry as HTML.
#[derive(Debug, Serialize, JsonSchema)]
struct RenderedEntry {
    row: TreeRow,
    html: String,
}

/// Renders entries to HTML. Entries that do not exist are left out.
#[utoipa::path(get, path = "/api/sessions/{id}/rendered", params(SessionPath, StoreParam, RenderedParams), tag = "queries",
    operation_id = "getRenderedEntries",
    responses((status = 200, description = "The entries", body = ref("#/components/schemas/RenderedEntries"))))]
pub(crate) async fn entries(
    session: NamedSession,
    Params(params): Params<RenderedParams>,
) -> Result<Json<RenderedEntries>, ApiError> {
    let client = session.client().await?;
    let (lines, hidden_entries) = match params.last {
        Some(last) => {
            let path = client.path(Some(last.min(MAX_ENTRIES))).await?;
            (path.entries, path.hidden_entries)
        }
        None => (lines(&*client, params.ids.as_deref().unwrap_or_default()).await?, 0),
    };
    let tree = client.tree().await?;
    let entries = lines.iter().filter_map(|line| rendered_entry(&tree, line)).collect();
    let leaf_id = tree.leaf.map(|seq| tree.id(seq));
    Ok(Json(RenderedEntries { entries, leaf_id, hidden_entries }))
}

async fn lines(client: &dyn Client, ids: &str) -> Result<Vec<EntryLine>, ApiError> {
    let ids: Vec<&str> = ids.split(',').filter(|id| !id.is_empty()).collect();
    if ids.len() > MAX_ENTRIES {
        return Err(ApiError::invalid(format!("a request can name {MAX_ENTRIES} entries")));
    }
    let mut lines = Vec::with_capacity(ids.len());
    for id in ids {
        match client.entry(id.into()).await {
            Ok(answer) => lines.push(answer.entry),
            Err(error) if error.code == osier_protocol::ErrorCode::EntryNotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(lines)
}

fn rendered_entry(tree: &TreeSnapshot, line: &EntryLine) -> Option<RenderedEntry> {
    let row = tree.row(tree.find_line(line)?);
    Some(RenderedEntry { row, html: render_line(line.bytes()).unwrap_or_default() })
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
    Json(RenderedParts { html: parts.iter().map(render_part).collect() })
}

fn render_part(part: &RenderPart) -> String {
    match part {
        RenderPart::Entry { entry } => render_line(entry.to_string().as_bytes()).unwrap_or_default(),
        RenderPart::Diff { text } => render_diff(text),
        RenderPart::Markdown { text } => render_markdown(text),
    }
}
