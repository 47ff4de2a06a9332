//! A batch of sub-agents, and its results with the record of their work: a timeline, evidence, and how tools were routed.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::preview::field;
use crate::entry::Entry;
use crate::scan::RawJson;
use crate::time::{self, Millis};

/// A batch of sub-agents, or its results.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentsView {
    pub batch_id: Option<String>,
    /// The call that delegated the tasks.
    pub tool_call_id: Option<String>,
    pub status: Option<String>,
    /// Whether these are results, and not tasks.
    pub has_results: bool,
    /// The tasks of a batch, or the results.
    pub items: Vec<SubagentView>,
    /// What the sub-agents of the whole batch did, in order of time.
    pub events: Vec<SubagentEventView>,
    pub evidence: Vec<EvidenceView>,
    pub routes: Vec<ToolRouteView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentView {
    /// The task that a result belongs to has the same id.
    pub id: Option<String>,
    /// The task in a few words.
    pub title: String,
    /// The answer, or what is known of it.
    pub text: String,
    pub status: Option<String>,
    /// The agent that does the task.
    pub agent: Option<String>,
    /// The session in which it works.
    pub session_id: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    pub tool_calls: u64,
    pub tokens: u64,
    pub started: Option<Millis>,
    pub ended: Option<Millis>,
    /// What this sub-agent did, in order of time.
    pub events: Vec<SubagentEventView>,
}

/// Something that a sub-agent did.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentEventView {
    /// `run_start`, `tool_call`, `tool_result`, `run_end`, or another word.
    pub kind: String,
    /// The tool, if it is about one.
    pub tool: Option<String>,
    pub label: Option<String>,
    /// How a run ended.
    pub status: Option<String>,
    pub time: Option<Millis>,
}

/// A conclusion from the tool results of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceView {
    pub kind: String,
    pub title: String,
    pub summary: String,
    pub files: Vec<String>,
    pub count: Option<u64>,
}

/// Where a tool ran, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRouteView {
    pub tool: String,
    pub requested: Option<String>,
    pub chosen: Option<String>,
    pub reason: Option<String>,
    /// Whether the tool was allowed; none if the record does not tell.
    pub allowed: Option<bool>,
}

pub(super) fn read(entry: &Entry<'_>) -> SubagentsView {
    let content = field(entry, "content");
    let part = |key: &str| content.and_then(|content| content.get(key));
    let metadata = field(entry, "metadata").or_else(|| part("metadata"));
    let record = |key: &str| metadata.and_then(|metadata| metadata.get(key));
    let lists = ["tasks", "results"].into_iter().filter_map(part);
    SubagentsView {
        batch_id: content.and_then(|content| text(content, "batchId")),
        tool_call_id: content.and_then(|content| text(content, "toolCallId")),
        has_results: part("results").is_some(),
        status: content.and_then(|content| text(content, "status")),
        items: lists.flat_map(|list| each(Some(list), item)).collect(),
        events: in_order(each(record("processEvents"), event)),
        evidence: each(record("evidenceSummaries"), evidence),
        routes: each(record("toolRuntimeRoutes"), route),
    }
}

fn each<T>(list: Option<RawJson<'_>>, mut read: impl FnMut(RawJson<'_>) -> T) -> Vec<T> {
    let mut all = Vec::new();
    if let Some(list) = list {
        list.each_item(|item| all.push(read(item)));
    }
    all
}

fn text(object: RawJson<'_>, key: &str) -> Option<String> {
    object.get(key).and_then(RawJson::text).map(Cow::into_owned)
}

fn item(item: RawJson<'_>) -> SubagentView {
    let first = |keys: &[&str]| keys.iter().find_map(|key| text(item, key)).unwrap_or_default();
    let number = |key: &str| item.get(key).and_then(RawJson::number);
    let tokens = item.get("usage").and_then(|usage| usage.get("totalTokens")).and_then(RawJson::number);
    let events = item.get("processEvents");
    let events =
        events.or_else(|| item.get("resultPayload").and_then(|payload| payload.get("processEvents")));
    SubagentView {
        id: text(item, "id").or_else(|| text(item, "taskId")),
        title: first(&["description", "title", "prompt", "task", "goal"]),
        text: first(&["summary", "result"]),
        status: text(item, "status"),
        agent: text(item, "agent"),
        session_id: text(item, "sessionId"),
        error: text(item, "error"),
        tool_calls: number("toolCalls").unwrap_or_default() as u64,
        tokens: tokens.unwrap_or_default() as u64,
        started: number("startedAt").map(|time| time as Millis),
        ended: number("endedAt").map(|time| time as Millis),
        events: in_order(each(events, event)),
    }
}

fn event(event: RawJson<'_>) -> SubagentEventView {
    let stamp = event.get("timestamp");
    let number = stamp.and_then(RawJson::number).map(|time| time as Millis);
    SubagentEventView {
        kind: text(event, "type").or_else(|| text(event, "kind")).unwrap_or_default(),
        tool: text(event, "name").or_else(|| text(event, "toolName")),
        label: text(event, "label"),
        status: text(event, "status"),
        time: number.or_else(|| time::parse(&stamp?.text()?)),
    }
}

/// Sorted by time. An event without a time stays behind the one before it.
fn in_order(events: Vec<SubagentEventView>) -> Vec<SubagentEventView> {
    let mut last = Millis::MIN;
    let mut timed: Vec<(Millis, SubagentEventView)> = Vec::with_capacity(events.len());
    for event in events {
        last = event.time.unwrap_or(last);
        timed.push((last, event));
    }
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, event)| event).collect()
}

fn evidence(evidence: RawJson<'_>) -> EvidenceView {
    let word = |key| text(evidence, key).unwrap_or_default();
    let file = |file: RawJson<'_>| file.text().map(Cow::into_owned).unwrap_or_default();
    EvidenceView {
        kind: word("kind"),
        title: word("title"),
        summary: word("summary"),
        files: each(evidence.get("files"), file),
        count: evidence.get("count").and_then(RawJson::number).map(|count| count as u64),
    }
}

fn route(route: RawJson<'_>) -> ToolRouteView {
    let is_boolean = |value: &RawJson<'_>| value.is_true() || value.is_false();
    ToolRouteView {
        tool: text(route, "toolName").unwrap_or_default(),
        requested: text(route, "requestedRuntime"),
        chosen: text(route, "chosenRuntime"),
        reason: text(route, "reason"),
        allowed: route.get("allowed").filter(is_boolean).map(RawJson::is_true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_entry;

    #[test]
    fn the_record_of_a_batch_is_read_in_order_of_time() {
        let line = br#"{"type":"subagent_result","id":"1","content":{"batchId":"b1","status":"completed",
            "results":[{"id":"t1","status":"completed","goal":"do it","summary":"done","usage":{"totalTokens":7},"startedAt":5,"resultPayload":{"processEvents":[{"type":"run_start"}]}}]},
            "metadata":{"processEvents":[{"type":"run_end","timestamp":30,"status":"completed"},
            {"type":"tool_call","name":"read","label":"a.rs","timestamp":10},{"type":"tool_result","name":"read"}],
            "evidenceSummaries":[{"kind":"file-count","title":"Files","summary":"two","files":["a","b"],"count":2}],
            "toolRuntimeRoutes":[{"toolName":"bash","chosenRuntime":"sandbox","allowed":false}]}}"#;
        let view = read(&parse_entry(line).unwrap());
        let kinds: Vec<&str> = view.events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["tool_call", "tool_result", "run_end"]);
        assert_eq!((view.events[0].tool.as_deref(), view.events[0].time), (Some("read"), Some(10)));
        let item = &view.items[0];
        assert_eq!((item.title.as_str(), item.text.as_str(), item.events.len()), ("do it", "done", 1));
        assert_eq!((item.tokens, item.started, item.ended), (7, Some(5), None));
        assert!(view.has_results);
        assert_eq!((view.evidence[0].count, view.evidence[0].files.len()), (Some(2), 2));
        assert_eq!(view.routes[0].allowed, Some(false));
    }
}
