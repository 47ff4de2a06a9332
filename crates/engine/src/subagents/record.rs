//! What an agent did for its task, from the path of its session: the answer, a timeline, and evidence. Pure.

use std::collections::BTreeMap;

use osier_protocol::EntryLine;
use osier_protocol::entry_view::{EntryContent, MessageView, ReplyBlockView};
use osier_protocol::query::PathAnswer;
use osier_tree::projection::preview::one_line;
use serde_json::{Value, json};

use super::followed_run::RunEnd;

/// How many events the timeline of a task has at most. The first ones are dropped.
const MAX_EVENTS: usize = 100;

/// The size of the arguments and of a result in the timeline, in characters.
const MAX_DETAIL: usize = 400;

/// The size of the answer, in bytes.
const MAX_SUMMARY: usize = 32 << 10;

/// The longest time between two entries that counts as work. If it is longer, no process may have worked in between.
const MAX_STEP_MILLIS: i64 = 10 * 60 * 1000;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct TaskRecord {
    /// The last text of the agent.
    pub(crate) summary: String,
    pub(crate) turns: u64,
    pub(crate) tool_calls: u64,
    pub(crate) events: Vec<Value>,
    pub(crate) evidence: Vec<Value>,
    pub(crate) first_time: Option<i64>,
    pub(crate) last_time: Option<i64>,
    /// How long the agent worked, in milliseconds.
    pub(crate) work_millis: i64,
    /// What the last reply says about the end.
    last_reply: Option<RunEnd>,
}

/// A call and whether it failed.
struct FinishedCall {
    name: String,
    label: String,
    failed: bool,
}

impl TaskRecord {
    pub(crate) fn from_path(task_id: &str, entries: &[EntryLine]) -> TaskRecord {
        let run = format!("subagent-{task_id}");
        let mut record = TaskRecord::default();
        let mut open: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut finished = Vec::new();
        for view in entries.iter().filter_map(EntryLine::view) {
            let time = view.time;
            let step = time.zip(record.last_time).map_or(0, |(time, last)| time - last);
            record.work_millis += step.clamp(0, MAX_STEP_MILLIS);
            record.first_time = record.first_time.or(time);
            record.last_time = time.or(record.last_time);
            let EntryContent::Message(message) = &view.content else { continue };
            match message {
                MessageView::Assistant(reply) => {
                    record.turns += 1;
                    record.last_reply = Some(RunEnd::of_reply(reply));
                    let mut text = String::new();
                    for block in &reply.blocks {
                        match block {
                            ReplyBlockView::Text(part) => text.push_str(part),
                            ReplyBlockView::Thinking(_) => {}
                            ReplyBlockView::Call(call) => {
                                record.tool_calls += 1;
                                let label = call_label(&call.name, &call.arguments);
                                record.events.push(json!({
                                    "type": "tool_call", "runId": run, "taskId": task_id, "timestamp": time,
                                    "toolCallId": call.id, "name": call.name, "label": label,
                                    "args": short_arguments(&call.arguments),
                                }));
                                open.insert(call.id.clone(), (call.name.clone(), label));
                            }
                        }
                    }
                    if !text.trim().is_empty() {
                        record.summary =
                            text.trim()[..text.trim().floor_char_boundary(MAX_SUMMARY)].to_owned();
                    }
                }
                MessageView::ToolResult(result) => {
                    let (name, label) = open
                        .remove(&result.call_id)
                        .unwrap_or_else(|| (result.tool_name.clone(), String::new()));
                    record.events.push(json!({
                        "type": "tool_result", "runId": run, "taskId": task_id, "timestamp": time,
                        "toolCallId": result.call_id, "name": name, "label": label,
                        "result": one_line(&result.text, MAX_DETAIL), "isError": result.is_error,
                    }));
                    finished.push(FinishedCall { name, label, failed: result.is_error });
                }
                _ => {}
            }
        }
        record.events.drain(..record.events.len().saturating_sub(MAX_EVENTS));
        record.evidence = evidence(task_id, &finished);
        record
    }

    /// How the agent ended; `None` if it did not.
    pub(super) fn end(&self, path: &PathAnswer) -> Option<RunEnd> {
        self.last_reply.clone().filter(|_| !path.unfinished_turn)
    }

    /// The timeline with its start and its end.
    pub(super) fn timeline(
        &self,
        task_id: &str,
        started: Option<i64>,
        ended: Option<i64>,
        status: &str,
    ) -> Vec<Value> {
        let run = format!("subagent-{task_id}");
        let start = json!({ "type": "run_start", "runId": run, "taskId": task_id, "timestamp": started });
        let end = json!({ "type": "run_end", "runId": run, "taskId": task_id, "timestamp": ended, "status": status });
        [start].into_iter().chain(self.events.iter().cloned()).chain([end]).collect()
    }
}

/// What a call is about, in a few words.
pub(crate) fn call_label(name: &str, arguments: &Value) -> String {
    let keys = ["path", "command", "pattern", "glob", "query", "prompt"];
    let about = keys.iter().find_map(|key| arguments.get(*key)?.as_str());
    match about {
        Some(about) => one_line(about, 80),
        None => name.to_owned(),
    }
}

fn short_arguments(arguments: &Value) -> Value {
    let text = arguments.to_string();
    if text.len() <= MAX_DETAIL { arguments.clone() } else { json!(one_line(&text, MAX_DETAIL)) }
}

/// Conclusions from the calls that succeeded.
fn evidence(task_id: &str, calls: &[FinishedCall]) -> Vec<Value> {
    let kinds: [(&str, &str, &[&str]); 4] = [
        ("files-read", "Files read", &["read"]),
        ("files-changed", "Files changed", &["write", "edit"]),
        ("searches", "Searches", &["grep", "find", "ls"]),
        ("commands", "Commands run", &["bash"]),
    ];
    let one = |(kind, title, tools): (&str, &str, &[&str])| {
        let done: Vec<&FinishedCall> =
            calls.iter().filter(|call| tools.contains(&call.name.as_str()) && !call.failed).collect();
        let mut labels: Vec<&str> = done.iter().map(|call| call.label.as_str()).collect();
        labels.sort_unstable();
        labels.dedup();
        let files: &[&str] = if kind.starts_with("files") { &labels } else { &[] };
        let count = if files.is_empty() { done.len() } else { files.len() };
        let summary = one_line(&labels.join(", "), MAX_DETAIL);
        (!done.is_empty()).then(|| {
            json!({ "kind": kind, "title": title, "summary": summary, "files": files, "count": count, "taskId": task_id })
        })
    };
    kinds.into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_timeline_and_evidence() {
        let lines = [
            r#"{"type":"message","id":"1","parentId":null,"timestamp":"1970-01-01T00:00:01.000Z","message":{"role":"user","content":"look"}}"#,
            r#"{"type":"message","id":"2","parentId":"1","timestamp":"1970-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a.rs"}}],"stopReason":"toolUse"}}"#,
            r#"{"type":"message","id":"3","parentId":"2","timestamp":"1970-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"fn main"}],"isError":false}}"#,
            r#"{"type":"message","id":"4","parentId":"3","timestamp":"1970-01-01T00:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"It is empty."}],"stopReason":"stop"}}"#,
        ];
        let entries: Vec<EntryLine> = lines.iter().map(|line| EntryLine::from(line.as_bytes())).collect();
        let record = TaskRecord::from_path("t", &entries);
        assert_eq!((record.summary.as_str(), record.turns, record.tool_calls), ("It is empty.", 2, 1));
        let events = record.timeline("t", Some(1), Some(9), "completed");
        let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
        assert_eq!(kinds, ["run_start", "tool_call", "tool_result", "run_end"]);
        assert_eq!((&events[1]["label"], &events[2]["result"]), (&json!("a.rs"), &json!("fn main")));
        assert_eq!((record.first_time, record.last_time), (Some(1000), Some(4000)));
        assert_eq!(record.work_millis, 3000);
        assert_eq!(record.evidence.len(), 1);
        assert_eq!(
            (&record.evidence[0]["kind"], &record.evidence[0]["files"]),
            (&json!("files-read"), &json!(["a.rs"]))
        );
    }
}
