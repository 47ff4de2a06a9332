//! Batches of sub-agents: a card for each task, its timeline, what was found, and where tools ran.

use maud::{Markup, PreEscaped, html};
use osier_protocol::entry_view::{
    EvidenceView, SubagentEventView, SubagentView, SubagentsView, ToolRouteView,
};
use osier_protocol::time;

use crate::markdown::markdown;
use crate::text::{beginning, escaped_line};
use crate::tool_result::count;

/// The longest name or word that is shown, in bytes.
const MAX_WORD: usize = 200;

pub(crate) fn subagents(view: &SubagentsView) -> Markup {
    html! {
        div.subagents {
            @for item in &view.items { (task(item)) }
            (timeline(&view.events))
            (evidence(&view.evidence))
            (routes(&view.routes))
        }
    }
}

fn word(text: &str) -> Markup {
    PreEscaped(escaped_line(beginning(text, MAX_WORD)))
}

fn task(item: &SubagentView) -> Markup {
    html! {
        section.task {
            @if let Some(status) = &item.status { span.status data-status=(beginning(status, 20)) { (word(status)) } }
            (markdown(&item.text))
            (timeline(&item.events))
        }
    }
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
