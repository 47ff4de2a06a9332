//! Batches of sub-agents: a card for each task, its timeline, what was found, and where tools ran.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use maud::{Markup, PreEscaped, html};
use osier_protocol::entry_view::{
    EvidenceView, SubagentEventView, SubagentView, SubagentsView, ToolRouteView,
};
use osier_protocol::time;
use osier_protocol::usage::format_tokens;

use crate::markdown::markdown;
use crate::text::{beginning, escaped, escaped_line};
use crate::tool_result::count;

/// The longest name or word that is shown, in bytes.
const MAX_WORD: usize = 200;

/// The longest title that is shown in one line, in bytes. The rest of a longer one is folded.
const MAX_TITLE: usize = 200;
/// An answer of at most so many bytes is open at first.
const MAX_OPEN: usize = 1_200;

/// The tasks of a batch, or its results. The page puts both together: tasks and results with the same id are one.
pub(crate) fn subagents(view: &SubagentsView) -> Markup {
    let shown: HashSet<&SubagentEventView> = view.items.iter().flat_map(|item| &item.events).collect();
    let others: Vec<SubagentEventView> =
        view.events.iter().filter(|event| !shown.contains(event)).cloned().collect();
    html! {
        div.subagents data-batch=[view.batch_id.as_deref()] {
            @for item in &view.items { (task(item, view)) }
            (timeline(&others))
            (evidence(&merged_evidence(&view.evidence)))
            (routes(&distinct(&view.routes)))
        }
    }
}

fn word(text: &str) -> Markup {
    PreEscaped(escaped_line(beginning(text, MAX_WORD)))
}

fn task(item: &SubagentView, batch: &SubagentsView) -> Markup {
    let status = item.status.as_deref().or(batch.status.as_deref()).unwrap_or_default();
    html! {
        section.task data-task=[item.id.as_deref()] data-status=(beginning(status, 20)) {
            header.task-header {
                span.agent { (word(item.agent.as_deref().unwrap_or_default())) }
                span.task-title dir="auto" { (PreEscaped(escaped_line(short_title(&item.title)))) }
                span.task-numbers { (numbers(item)) }
                span.status { (word(shown_status(status))) }
                @if let Some(session) = &item.session_id { span.task-session data-session=(session) {} }
            }
            p.task-activity {}
            @if item.title.trim() != short_title(&item.title) {
                details.prompt { summary { "Prompt" } (markdown(&item.title)) }
            }
            @if let Some(error) = item.error.as_deref().filter(|error| !error.trim().is_empty()) {
                p.notice.error { (PreEscaped(escaped(beginning(error.trim(), 2_000)))) }
            }
            (answer(&item.text))
            (timeline(&item.events))
        }
    }
}

/// The first line of a title, if it fits.
fn short_title(title: &str) -> &str {
    beginning(title.trim().lines().next().unwrap_or_default(), MAX_TITLE)
}

/// As people spell it.
fn shown_status(status: &str) -> &str {
    if status == "cancelled" { "canceled" } else { status }
}

fn numbers(item: &SubagentView) -> String {
    let calls = (item.tool_calls > 0).then(|| count(item.tool_calls, "call"));
    let tokens = (item.tokens > 0).then(|| format!("{} tokens", format_tokens(item.tokens)));
    let seconds =
        item.started.zip(item.ended).map_or(0, |(start, end)| end.saturating_sub(start).max(0) / 1000);
    let seconds = (seconds > 0).then(|| format!("{seconds} s"));
    [calls, tokens, seconds].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn answer(text: &str) -> Markup {
    html! {
        @if !text.trim().is_empty() {
            details.answer open[text.len() <= MAX_OPEN] { summary { "Answer" } (markdown(text)) }
        }
    }
}

/// Findings with the same title, such as the files that each task read, are one.
fn merged_evidence(all: &[EvidenceView]) -> Vec<EvidenceView> {
    let mut merged: Vec<EvidenceView> = Vec::new();
    // Where each title is, and the summaries and files that it has.
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut seen: HashSet<(usize, bool, &str)> = HashSet::new();
    for evidence in all {
        let at = *places.entry(&evidence.title).or_insert(merged.len());
        let is_new_summary = seen.insert((at, true, &evidence.summary));
        let files = evidence.files.iter().filter(|file| seen.insert((at, false, file))).cloned().collect();
        let Some(known) = merged.get_mut(at) else {
            merged.push(EvidenceView { files, ..evidence.clone() });
            continue;
        };
        if is_new_summary {
            known.summary.push_str("\n\n");
            known.summary.push_str(&evidence.summary);
        }
        known.files.extend(files);
        known.count = known.count.zip(evidence.count).map(|(left, right)| left.saturating_add(right));
    }
    merged
}

/// Without repetitions.
fn distinct<T: Clone + Eq + Hash>(all: &[T]) -> Vec<T> {
    let mut seen = HashSet::new();
    all.iter().filter(|item| seen.insert(*item)).cloned().collect()
}

fn timeline(events: &[SubagentEventView]) -> Markup {
    html! {
        @if !events.is_empty() {
            details.timeline {
                summary { "Timeline" span.amount { (count(events.len() as u64, "event")) } }
                ol { @for event in events { (timeline_event(event)) } }
            }
        }
    }
}

fn timeline_event(event: &SubagentEventView) -> Markup {
    html! {
        li data-kind=(beginning(&event.kind, 20)) {
            @if let Some(at) = event.time { time datetime=(time::format(at)) { (clock(at)) } " " }
            span.kind { (word(&event.kind.replace('_', " "))) }
            @if let Some(tool) = &event.tool { " " code { (word(tool)) } }
            @if let Some(label) = &event.label { " " (word(label)) }
            @if let Some(status) = &event.status { " · " (word(status)) }
        }
    }
}

/// The time of day, in UTC.
fn clock(at: time::Millis) -> String {
    time::format(at).get(11..19).unwrap_or_default().to_owned()
}

fn evidence(all: &[EvidenceView]) -> Markup {
    html! {
        @if !all.is_empty() {
            details.evidence {
                summary { "Evidence" span.amount { (count(all.len() as u64, "finding")) } }
                ul { @for evidence in all { li {
                    strong { (word(&evidence.title)) }
                    @if let Some(number) = evidence.count { " (" (number) ")" }
                    @if !evidence.summary.is_empty() { (markdown(&evidence.summary)) }
                    @for file in evidence.files.iter().take(50) { code.file { (word(file)) } " " }
                } } }
            }
        }
    }
}

fn routes(all: &[ToolRouteView]) -> Markup {
    html! {
        @if !all.is_empty() {
            details.routes {
                summary { "Where tools ran" span.amount { (count(all.len() as u64, "tool")) } }
                div.table { table {
                    thead { tr { th { "Tool" } th { "Requested" } th { "Ran in" } th { "Reason" } } }
                    tbody { @for route in all { tr.refused[route.allowed == Some(false)] {
                        td { code { (word(&route.tool)) } }
                        td { (word(route.requested.as_deref().unwrap_or("–"))) }
                        td { (word(route.chosen.as_deref().unwrap_or("–"))) @if route.allowed == Some(false) { " (refused)" } }
                        td { (word(route.reason.as_deref().unwrap_or_default())) }
                    } } }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str) -> SubagentEventView {
        SubagentEventView { kind: kind.to_owned(), ..SubagentEventView::default() }
    }

    fn evidence(title: &str, file: &str) -> EvidenceView {
        let (title, summary) = (title.to_owned(), file.to_owned());
        EvidenceView {
            title,
            summary,
            files: vec![file.to_owned()],
            count: Some(1),
            ..EvidenceView::default()
        }
    }

    #[test]
    fn nothing_is_shown_twice() {
        let item = SubagentView { events: vec![event("run_start")], ..SubagentView::default() };
        let route = ToolRouteView { tool: "read".to_owned(), ..ToolRouteView::default() };
        let view = SubagentsView {
            items: vec![item],
            events: vec![event("run_start"), event("queued")],
            evidence: vec![evidence("Files read", "a.rs"), evidence("Files read", "b.rs")],
            routes: vec![route.clone(), route],
            ..SubagentsView::default()
        };
        let markup = subagents(&view).into_string();
        for part in [">run start<", ">queued<", "Files read", "<code>read</code>"] {
            assert_eq!(markup.matches(part).count(), 1, "{part} in {markup}");
        }
        assert!(markup.contains("(2)") && markup.contains("a.rs") && markup.contains("b.rs"), "{markup}");
    }

    #[test]
    fn a_task_names_its_agent_numbers_and_session() {
        let item = SubagentView {
            id: Some("t1".to_owned()),
            title: "Count <files>\nand say how many".to_owned(),
            agent: Some("scout".to_owned()),
            status: Some("cancelled".to_owned()),
            session_id: Some("s1".to_owned()),
            tool_calls: 3,
            tokens: 2_000,
            started: Some(1_000),
            ended: Some(5_500),
            ..SubagentView::default()
        };
        let markup =
            subagents(&SubagentsView { items: vec![item], ..SubagentsView::default() }).into_string();
        for part in [
            "data-task=\"t1\"",
            ">scout<",
            "Count &lt;files&gt;<",
            "and say how many",
            "3 calls · 2.0k tokens · 4 s",
            ">canceled<",
            "data-session=\"s1\"",
        ] {
            assert!(markup.contains(part), "{part} in {markup}");
        }
    }
}
