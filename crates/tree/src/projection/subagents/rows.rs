//! The rows of a batch: which source they come from, and their panels.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value, json};

use super::{
    BatchLiveness, PROJECTION_VERSION, ProjectionDiagnostics, ProjectionSource, SkippedResult,
    SubagentProjection, TaskPanel,
};
use crate::heads::Seq;
use crate::projection::preview::one_line;
use crate::projection::usage::UsageTotals;
use crate::scan::RawJson;
use crate::time;

/// The length of a title, in characters.
const TITLE_CHARS: usize = 80;

/// The records of one batch, in the form for JSON output.
#[derive(Debug, Default)]
pub(super) struct BatchRecords {
    pub(super) batch: Option<(Seq, Value)>,
    pub(super) update: Option<Value>,
    pub(super) result: Option<(Seq, Value)>,
    pub(super) tool_messages: Vec<Value>,
}

/// How a task ended: a row of `results` in a `subagent_result`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskOutcome(pub Map<String, Value>);

impl BatchRecords {
    /// The entry that carries the projection.
    pub(super) fn anchor(&self) -> Option<Seq> {
        self.result.as_ref().or(self.batch.as_ref()).map(|(seq, _)| *seq)
    }

    fn content(&self) -> &Value {
        self.batch.as_ref().map_or(&Value::Null, |(_, batch)| &batch["content"])
    }

    /// The sources with rows, the best first.
    fn sources(&self) -> Vec<(ProjectionSource, Vec<Value>)> {
        let of_result = self.result.as_ref().and_then(|(_, result)| list(&result["content"]["results"]));
        let of_tool =
            self.tool_messages.iter().filter(|message| self.is_own_call(message)).find_map(tool_rows);
        let of_batch = self.batch.as_ref().and_then(|(_, batch)| {
            let stored = list(&batch["metadata"]["results"]).or_else(|| list(&batch["content"]["results"]));
            stored.or_else(|| list(&batch["content"]["tasks"]))
        });
        let of_update = self.update.as_ref().and_then(|update| list(&update["payload"]["results"]));
        let sources = [
            (ProjectionSource::SubagentResult, of_result),
            (ProjectionSource::ToolMessage, of_tool),
            (ProjectionSource::MetadataFallback, of_update.or(of_batch)),
        ];
        sources.into_iter().filter_map(|(source, rows)| Some((source, rows?))).collect()
    }

    fn is_own_call(&self, message: &Value) -> bool {
        let (content, message) = (self.content(), &message["message"]);
        match content["toolCallId"].as_str() {
            Some(call) => message["toolCallId"].as_str() == Some(call),
            None => {
                let batch = content["batchId"].as_str();
                let named = tool_data(message).and_then(|data| data["batchId"].as_str().map(str::to_owned));
                named.is_none() || named.as_deref() == batch
            }
        }
    }

    /// A record of the metadata, from the best source that has it.
    fn metadata(&self, key: &str) -> Vec<Value> {
        let of_entry = |entry: &Value| {
            list(&entry["metadata"][key]).or_else(|| list(&entry["content"]["metadata"][key]))
        };
        let result = self.result.as_ref().and_then(|(_, result)| of_entry(result));
        let tool = || {
            let own = self.tool_messages.iter().filter(|message| self.is_own_call(message));
            own.filter_map(|message| tool_data(&message["message"])).find_map(|data| list(&data[key]))
        };
        let batch = || self.batch.as_ref().and_then(|(_, batch)| of_entry(batch));
        result.or_else(tool).or_else(batch).unwrap_or_default()
    }

    fn status(&self, liveness: BatchLiveness) -> String {
        let of_result = self.result.as_ref().and_then(|(_, result)| result["content"]["status"].as_str());
        let of_update = self.update.as_ref().and_then(|update| update["status"].as_str());
        let own = self.content()["status"].as_str();
        let status = of_result.or(of_update).or(own).unwrap_or("completed");
        // Only the turn that made a call works on its batch. Another program's batch is what that program says.
        let is_of_call = self.content()["toolCallId"].is_string();
        let is_open = status == "running" && is_of_call;
        if is_open { open_status(liveness).to_owned() } else { status.to_owned() }
    }
}

fn open_status(liveness: BatchLiveness) -> &'static str {
    match liveness {
        BatchLiveness::TurnRuns => "running",
        BatchLiveness::Idle => "interrupted",
    }
}

fn list(value: &Value) -> Option<Vec<Value>> {
    value.as_array().filter(|items| !items.is_empty()).cloned()
}

/// The structured part of a tool result: its details, or its text if that is JSON.
fn tool_data(message: &Value) -> Option<Value> {
    let has_rows = |data: &Value| data["results"].is_array();
    if has_rows(&message["details"]) {
        return Some(message["details"].clone());
    }
    let blocks =
        message["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    let texts = message["content"].as_str().into_iter().chain(blocks);
    texts.filter_map(|text| serde_json::from_str(text).ok()).find(has_rows)
}

fn tool_rows(message: &Value) -> Option<Vec<Value>> {
    list(&tool_data(&message["message"])?["results"])
}

pub(super) fn project(batch_id: &str, records: &BatchRecords, liveness: BatchLiveness) -> SubagentProjection {
    let mut sources = records.sources();
    let input_sources: Vec<ProjectionSource> = sources.iter().map(|(source, _)| *source).collect();
    let (selected, mut raw) = if sources.is_empty() { Default::default() } else { sources.swap_remove(0) };
    let status = records.status(liveness);
    let tasks = list(&records.content()["tasks"]).unwrap_or_default();
    let known: FxHashSet<String> = raw.iter().filter_map(row_id).collect();
    raw.extend(tasks.iter().filter(|task| row_id(task).is_some_and(|id| !known.contains(&id))).cloned());
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    for (at, task) in tasks.iter().enumerate() {
        if let Some(id) = row_id(task) {
            places.entry(id).or_insert(at);
        }
    }
    let mut diagnostics = ProjectionDiagnostics {
        projection_path: "canonical-backend-projection".to_owned(),
        selected_source: selected,
        input_sources,
        raw_result_count: raw.len(),
        fallback_used: selected != ProjectionSource::SubagentResult,
        ..ProjectionDiagnostics::default()
    };
    let rows = deduplicated(&raw);
    diagnostics.deduped_result_count = rows.len();
    let mut panels = Vec::new();
    for (index, row) in rows {
        let skipped = |reason: &str| SkippedResult { index, reason: reason.to_owned() };
        match (row.as_object(), row_id(row)) {
            (None, _) => diagnostics.skipped_results.push(skipped("it is not an object")),
            (_, None) => diagnostics.skipped_results.push(skipped("it has no id")),
            (Some(row), Some(id)) => {
                let at = places.get(&id).copied();
                let row = with_task(row, at.map(|at| &tasks[at]));
                let order = at.unwrap_or(index) as u64;
                panels.push(panel(batch_id, &id, &row, order, &status));
            }
        }
    }
    panels.sort_by(|a, b| a.sort_order.cmp(&b.sort_order).then_with(|| a.task_id.cmp(&b.task_id)));
    diagnostics.projected_task_count = panels.len();
    diagnostics.skipped_result_count = diagnostics.skipped_results.len();
    let of_rows = |key: &str| -> Vec<Value> {
        raw.iter()
            .flat_map(|row| match &row["resultPayload"][key] {
                Value::Array(items) => items.clone(),
                Value::Null => Vec::new(),
                one => vec![one.clone()],
            })
            .collect()
    };
    let or_rows = |key: &str, of_row: &str| {
        let found = records.metadata(key);
        if found.is_empty() { of_rows(of_row) } else { found }
    };
    let own_usage = records.result.as_ref().map(|(_, result)| usage(&result["usage"]));
    SubagentProjection {
        version: PROJECTION_VERSION,
        source: "backend-projection".to_owned(),
        batch_id: batch_id.to_owned(),
        tool_call_id: records.content()["toolCallId"].as_str().map(str::to_owned),
        status,
        evidence: or_rows("evidenceSummaries", "evidenceSummary"),
        process_events: in_order(or_rows("processEvents", "processEvents")),
        tool_runtime_routes: or_rows("toolRuntimeRoutes", "toolRuntimeRoutes"),
        usage: own_usage.flatten().unwrap_or_else(|| panels.iter().map(|panel| &panel.usage).sum()),
        task_panels: panels,
        diagnostics,
    }
}

/// Each row with its place. Of rows with the same id, the last one, at the place of the first.
fn deduplicated(raw: &[Value]) -> Vec<(usize, &Value)> {
    let mut rows: Vec<(usize, &Value)> = Vec::new();
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    for (index, row) in raw.iter().enumerate() {
        let id = row_id(row);
        if let Some(known) = id.as_ref().and_then(|id| places.get(id)) {
            rows[*known].1 = row;
            continue;
        }
        places.extend(id.map(|id| (id, rows.len())));
        rows.push((index, row));
    }
    rows
}

pub(super) fn row_id(row: &Value) -> Option<String> {
    let id = ["id", "taskId"].into_iter().map(|key| &row[key]).find(|id| !id.is_null())?;
    id.as_str().map(str::to_owned).or_else(|| id.is_number().then(|| id.to_string()))
}

/// A row, with the fields of its task that it does not have.
fn with_task(row: &Map<String, Value>, task: Option<&Value>) -> Map<String, Value> {
    let mut merged = task.and_then(Value::as_object).cloned().unwrap_or_default();
    merged.extend(row.clone());
    merged
}

/// The panel of a task. `task` has the fields of the task in its batch, `outcome` what is known of it.
pub fn task_panel(
    batch_id: &str,
    task_id: &str,
    order: u64,
    task: &Value,
    outcome: &TaskOutcome,
) -> TaskPanel {
    let row = with_task(&outcome.0, Some(task));
    panel(batch_id, task_id, &row, order, "running")
}

fn panel(batch_id: &str, id: &str, row: &Map<String, Value>, order: u64, batch_status: &str) -> TaskPanel {
    let text = |keys: &[&str]| keys.iter().find_map(|key| row.get(*key)?.as_str()).map(str::to_owned);
    let number = |key: &str| row.get(key).and_then(Value::as_u64).unwrap_or_default();
    let moment = |key: &str| match row.get(key)? {
        Value::String(text) => time::parse(text),
        other => other.as_i64(),
    };
    let goal = text(&["goal", "prompt", "task"]).unwrap_or_default();
    let title = text(&["title", "description"]).filter(|title| !title.trim().is_empty());
    // What a task was when the batch ended is not known of old records.
    let status = match text(&["status"]) {
        Some(status) if !matches!(status.as_str(), "running" | "queued") => status,
        Some(status) if batch_status == "running" => status,
        _ => batch_status.to_owned(),
    };
    TaskPanel {
        key: format!("{batch_id}:{id}"),
        task_id: id.to_owned(),
        sort_order: row.get("sortOrder").and_then(Value::as_u64).unwrap_or(order),
        agent: text(&["agent", "agentId"]),
        title: one_line(title.as_ref().unwrap_or(&goal), TITLE_CHARS),
        goal,
        status,
        summary: text(&["summary", "result"]).unwrap_or_default(),
        error: text(&["error"]),
        session_id: text(&["sessionId"]),
        model: text(&["model"]),
        activity: None,
        turns: number("turns"),
        tool_calls: number("toolCalls"),
        usage: row.get("usage").and_then(usage).unwrap_or_default(),
        started_at: moment("startedAt"),
        ended_at: moment("endedAt"),
    }
}

fn usage(value: &Value) -> Option<UsageTotals> {
    let bytes = serde_json::to_vec(value).ok()?;
    RawJson::parse(&bytes).ok().and_then(UsageTotals::parse)
}

/// Sorted by time. An event without a time stays behind the one before it.
fn in_order(events: Vec<Value>) -> Vec<Value> {
    let mut last = i64::MIN;
    let mut timed: Vec<(i64, Value)> = Vec::with_capacity(events.len());
    for event in events {
        let stamp = &event["timestamp"];
        let parsed = stamp.as_i64().or_else(|| stamp.as_f64().map(|time| time as i64));
        last = parsed.or_else(|| time::parse(stamp.as_str()?)).unwrap_or(last);
        timed.push((last, event));
    }
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, event)| event).collect()
}

impl TaskOutcome {
    pub fn with(mut self, key: &str, value: Value) -> TaskOutcome {
        self.0.insert(key.to_owned(), value);
        self
    }

    pub fn status(&self) -> &str {
        self.0.get("status").and_then(Value::as_str).unwrap_or_default()
    }

    pub fn to_json(&self) -> Value {
        json!(self.0)
    }
}
