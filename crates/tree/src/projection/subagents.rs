//! The projection of sub-agent batches: one panel per task, the timeline, evidence and tool routes of each batch, in one
//! shape for new and old records. Clients show this and never look into the stored metadata.
//!
//! It is a pure function of the entries and of whether a turn runs. It is computed for snapshots and never stored; a stored
//! one is ignored. `docs/session-format.md` describes the shape.

mod rows;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Lines;
use super::context::with_field;
use super::json::entry_json;
use super::usage::UsageTotals;
use crate::entry::{EntryKind, MessageRole, flag};
use crate::fold::SessionTree;
use crate::heads::{Head, Seq};
use crate::scan::{RawJson, write_json_string};
use rows::{BatchRecords, project, row_id};

pub use rows::{TaskOutcome, task_panel};

/// The version of the shape.
pub const PROJECTION_VERSION: u32 = 1;

/// How many entries below a batch are searched for the result of its call. Only old records need it.
const MAX_SEARCHED: usize = 1000;

/// A batch of sub-agents as clients show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProjection {
    pub version: u32,
    /// Always `backend-projection`.
    pub source: String,
    pub batch_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// `running`, `completed`, `failed`, `cancelled`, or `interrupted` if the process ended before the batch did.
    pub status: String,
    /// Sorted by `sortOrder`, then by task id.
    pub task_panels: Vec<TaskPanel>,
    /// Conclusions from the tool results.
    pub evidence: Vec<Value>,
    /// What the sub-agents did, in order of time.
    pub process_events: Vec<Value>,
    /// Which tools the sub-agents had, and why.
    pub tool_runtime_routes: Vec<Value>,
    /// What all tasks used together.
    pub usage: UsageTotals,
    pub diagnostics: ProjectionDiagnostics,
}

/// One task as clients show it. Live events have the same shape. It has many fields because clients show all of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskPanel {
    /// Unique in the session.
    pub key: String,
    pub task_id: String,
    pub sort_order: u64,
    /// The agent that does the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A few words for people.
    pub title: String,
    /// The prompt of the task.
    pub goal: String,
    /// `queued`, `running`, `completed`, `failed`, `cancelled` or `interrupted`.
    pub status: String,
    /// The answer, or what is known of it.
    pub summary: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The session in which the agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it does now. Only in live events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// The number of model calls and of tool calls.
    pub turns: u64,
    pub tool_calls: u64,
    pub usage: UsageTotals,
    /// In milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
}

/// Where a projection comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionDiagnostics {
    /// Always `canonical-backend-projection`.
    pub projection_path: String,
    pub selected_source: ProjectionSource,
    /// All sources with data, the best first.
    pub input_sources: Vec<ProjectionSource>,
    pub raw_result_count: usize,
    pub deduped_result_count: usize,
    pub projected_task_count: usize,
    pub skipped_result_count: usize,
    pub skipped_results: Vec<SkippedResult>,
    /// The panels do not come from a `subagent_result`.
    pub fallback_used: bool,
}

/// A source of results, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProjectionSource {
    SubagentResult,
    /// The result of the call that delegated the tasks.
    ToolMessage,
    /// The batch itself and its update.
    #[default]
    MetadataFallback,
}

/// A result without a panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedResult {
    pub index: usize,
    pub reason: String,
}

/// Whether a batch without an end can still be at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchLiveness {
    /// A turn runs on its path.
    TurnRuns,
    /// No process works on it, so it was interrupted.
    Idle,
}

/// The entries whose lines [`subagent_projections`] needs.
pub fn subagent_entries(tree: &SessionTree) -> Vec<Seq> {
    let is_ours = |kind| matches!(kind, EntryKind::SubagentBatch | EntryKind::SubagentResult);
    let mut entries: Vec<Seq> = tree
        .heads()
        .iter()
        .filter(|(_, head)| is_ours(head.kind) && !head.has_flag(flag::SUPERSEDED))
        .flat_map(|(seq, head)| match head.kind {
            EntryKind::SubagentBatch => {
                let update = tree.marks().latest_update(tree.id(seq).as_str());
                [seq].into_iter().chain(update).chain(tool_messages(tree, seq)).collect()
            }
            _ => vec![seq],
        })
        .collect();
    entries.sort();
    entries.dedup();
    entries
}

/// The batches without an end. If they are stored as running, their status depends on [`BatchLiveness`].
pub fn open_batches(tree: &SessionTree) -> Vec<Seq> {
    let is_open = |seq: Seq, head: &Head| {
        head.kind == EntryKind::SubagentBatch && !tree.marks().has_ended(tree.id(seq).as_str())
    };
    tree.heads().iter().filter(|(seq, head)| is_open(*seq, head)).map(|(seq, _)| seq).collect()
}

/// The results of tool calls that belong to the reply which started the batch.
fn tool_messages(tree: &SessionTree, batch: Seq) -> Vec<Seq> {
    let is_step = |seq: Seq| {
        let head = tree.head(seq);
        head.kind != EntryKind::Message || head.role == MessageRole::ToolResult
    };
    // Old records may have the batch and the result side by side below the reply.
    let mut above = tree.heads().ancestors(tree.head(batch).parent);
    let reply = above.find(|seq| !is_step(*seq));
    let mut open: Vec<Seq> = tree.children().of_entry(reply.unwrap_or(batch)).to_vec();
    let (mut found, mut searched) = (Vec::new(), 0);
    while let Some(seq) = open.pop().filter(|_| searched < MAX_SEARCHED) {
        searched += 1;
        if is_step(seq) {
            open.extend(tree.children().of_entry(seq));
            found.extend((tree.head(seq).role == MessageRole::ToolResult).then_some(seq));
        }
    }
    found.sort();
    found
}

/// The projection of every batch, by the entry that carries it: the `subagent_result`, or the batch if there is none.
/// `lines` must contain the lines of [`subagent_entries`].
pub fn subagent_projections(
    tree: &SessionTree,
    lines: &impl Lines,
    liveness: impl Fn(Seq) -> BatchLiveness,
) -> BTreeMap<Seq, SubagentProjection> {
    let mut records: FxHashMap<String, BatchRecords> = FxHashMap::default();
    for seq in subagent_entries(tree) {
        let head = tree.head(seq);
        let Some(entry) = read(lines, seq) else { continue };
        let id = batch_id(&entry, tree.id(seq).as_str());
        match head.kind {
            EntryKind::SubagentBatch => {
                let update = tree.marks().latest_update(tree.id(seq).as_str());
                let tool_messages = tool_messages(tree, seq);
                let of_batch = records.entry(id).or_default();
                of_batch.update = update.and_then(|update| read(lines, update));
                of_batch.tool_messages =
                    tool_messages.into_iter().filter_map(|seq| read(lines, seq)).collect();
                of_batch.batch = Some((seq, entry));
            }
            EntryKind::SubagentResult => records.entry(id).or_default().result = Some((seq, entry)),
            _ => {}
        }
    }
    records
        .iter()
        .filter_map(|(id, of_batch)| {
            let liveness = of_batch.batch.as_ref().map_or(BatchLiveness::Idle, |(seq, _)| liveness(*seq));
            Some((of_batch.anchor()?, project(id, of_batch, liveness)))
        })
        .collect()
}

fn read(lines: &impl Lines, seq: Seq) -> Option<Value> {
    serde_json::from_slice(&entry_json(&lines.entry(seq)?)).ok()
}

fn batch_id(entry: &Value, entry_id: &str) -> String {
    entry["content"]["batchId"].as_str().unwrap_or(entry_id).to_owned()
}

/// The line of a batch with another status, and with what its update says about the tasks that have ended.
pub fn with_update(batch: &[u8], status: &str, results: &[Value]) -> Vec<u8> {
    let content = RawJson::parse(batch).ok().and_then(|batch| Some((batch, batch.get("content")?)));
    let Some((batch, content)) = content.filter(|(_, content)| content.is_object()) else {
        return batch.to_vec();
    };
    let mut value = Vec::new();
    write_json_string(status, &mut value);
    let content = with_field(content, "status", &value);
    match updated_tasks(&content, results).and_then(|tasks| serde_json::to_vec(&tasks).ok()) {
        Some(tasks) => {
            let Ok(object) = RawJson::parse(&content) else { return with_field(batch, "content", &content) };
            with_field(batch, "content", &with_field(object, "tasks", &tasks))
        }
        None => with_field(batch, "content", &content),
    }
}

/// The tasks of a batch, each with the fields of its result. `None` if no task has one.
fn updated_tasks(content: &[u8], results: &[Value]) -> Option<Vec<Value>> {
    if results.is_empty() {
        return None;
    }
    let mut content: Value = serde_json::from_slice(content).ok()?;
    let Value::Array(mut tasks) = content.get_mut("tasks")?.take() else { return None };
    for task in &mut tasks {
        let id = row_id(task).filter(|_| task.is_object());
        let result = results.iter().find(|result| id.is_some() && row_id(result) == id);
        for (key, value) in result.and_then(Value::as_object).into_iter().flatten() {
            if task.get(key).is_none() {
                task[key] = value.clone();
            }
        }
    }
    Some(tasks)
}

/// A line in the form for JSON output, with its projection as `metadata.subagentProjection`.
pub fn with_projection(entry_json: &[u8], projection: &SubagentProjection) -> Vec<u8> {
    let Ok(Value::Object(mut entry)) = serde_json::from_slice(entry_json) else { return entry_json.to_vec() };
    let metadata = entry.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(serde_json::Map::new());
    }
    metadata["subagentProjection"] = serde_json::to_value(projection).unwrap_or_default();
    serde_json::to_vec(&entry).unwrap_or_else(|_| entry_json.to_vec())
}
