//! The markup around the content. Everything that depends on a selection is drawn by the browser code.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::assets::{STYLE, policy_hash};
use crate::export::SessionSummary;
use crate::text::escaped_line;

const FILTERS: &[(&str, &str)] = &[
    ("default", "Default"),
    ("no-tools", "No tools"),
    ("user-only", "User only"),
    ("labeled-only", "Labeled only"),
    ("all", "All entries"),
];

/// The beginning of an export, up to the data.
pub(crate) fn export_head(summary: &SessionSummary, script: &str) -> String {
    let head = html! {
        (DOCTYPE)
        // Closed by the browser: the rest of the file is the body.
        (PreEscaped("<html lang=\"en\">"))
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy(script));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="referrer" content="no-referrer";
            meta name="color-scheme" content="light dark";
            meta name="generator" content=(concat!("Osier ", env!("CARGO_PKG_VERSION")));
            title { (plain_line(&summary.title)) }
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("<body>"))
        (page(summary))
    };
    head.into_string()
}

/// Nothing is loaded and nothing runs, except this style, this script, and images inside the file.
fn policy(script: &str) -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; \
         trusted-types osier; require-trusted-types-for 'script'",
        policy_hash(script),
        policy_hash(STYLE)
    )
}

fn plain_line(text: &str) -> String {
    osier_protocol::one_line(text, 200)
}

fn page(summary: &SessionSummary) -> Markup {
    html! {
        a.skip href="#transcript" { "Skip to the conversation" }
        header.top {
            button #toggle-tree type="button" aria-controls="sidebar" aria-expanded="true" title="Show or hide the tree (b)" {
                span aria-hidden="true" { "☰" } span.word { "Tree" }
            }
            p.brand dir="auto" { (PreEscaped(escaped_line(&plain_line(&summary.title)))) }
            div.actions {
                button #back-to-leaf type="button" title="Back to the leaf" hidden {
                    span aria-hidden="true" { "↧" } span.word { "Back to the leaf" }
                }
                button #toggle-thinking type="button" aria-pressed="false" title="Open or close all thinking (t)" { "Thinking" }
                button #toggle-output type="button" aria-pressed="false" title="Open or close all tool output (o)" { "Output" }
                button #save-log type="button" title="Save the session as JSONL, which Osier and pi can open" { "JSONL" }
                button #export-actions type="button" aria-haspopup="menu" { "More" }
                button #toggle-theme type="button" title="Light or dark" { span aria-hidden="true" { "◐" } span.visually-hidden { "Light or dark" } }
            }
        }
        div.layout {
            (sidebar())
            main #main {
                (session_header(summary))
                noscript { p.notice { "This page draws the conversation with its own script. Allow JavaScript to read it." } }
                div #transcript tabindex="-1" role="region" aria-label="Conversation" { p.notice { "Reading the session…" } }
            }
        }
        div #menu popover role="menu" aria-label="Actions" tabindex="-1" {}
        div #message role="status" aria-live="polite" {}
    }
}

fn sidebar() -> Markup {
    html! {
        nav #sidebar aria-label="Tree" {
            div.tree-tools {
                input #search type="search" placeholder="Search" aria-label="Search entries" autocomplete="off" spellcheck="false";
                select #filter aria-label="Filter" {
                    @for (value, name) in FILTERS { option value=(value) { (name) } }
                }
                button #fold-branches type="button" title="Fold or unfold all branches" aria-pressed="false" { "Fold" }
            }
            div.tree-view {
                div #tree tabindex="0" role="tree" aria-label="Entries" { div #rows role="presentation" {} }
                canvas #overview aria-hidden="true" hidden {}
            }
            p #tree-status role="status" {}
            div #resize-tree role="separator" aria-orientation="vertical" aria-label="Width of the tree" aria-valuemin="200" tabindex="0" title="Drag to resize; double-click for the usual width" {}
        }
    }
}

fn session_header(summary: &SessionSummary) -> Markup {
    html! {
        header.session {
            h1 dir="auto" { (PreEscaped(escaped_line(&plain_line(&summary.title)))) }
            dl {
                @for (name, value) in summary.facts() {
                    div { dt { (name) } dd { (PreEscaped(escaped_line(&value))) } }
                }
            }
        }
    }
}
