//! The body of an entry as HTML. Who wrote it, when, and its label are not part of it: the page shows those from the tree.

use maud::{Markup, PreEscaped, html};
use osier_protocol::entry_view::{
    BacktrackView, BranchSummaryView, ChangeView, CompactionView, EntryContent, EntryView, ImageView,
    entry_images,
};
use osier_protocol::graft::parse_graft;
use osier_protocol::usage::format_tokens;

use crate::markdown::markdown;
use crate::message::message;
use crate::subagents::subagents;
use crate::text::{beginning, escaped_line};
use crate::tool_list::tool_list;

/// What an entry shows.
#[derive(Debug, Clone, Copy)]
pub struct EntryBody<'a> {
    pub view: &'a EntryView,
    pub images: &'a [ImageView<'a>],
}

/// The body of an entry. Empty for marks, moves and internal entries of extensions.
pub fn render_entry(body: EntryBody<'_>) -> String {
    let view = body.view;
    let markup = match &view.content {
        EntryContent::Message(content) => message(content, body.images, view.in_context),
        EntryContent::Compaction(view) => compaction(view),
        EntryContent::BranchSummary(view) => branch_summary(view),
        EntryContent::Backtrack(view) => backtrack(view),
        EntryContent::Subagents(view) => subagents(view),
        EntryContent::Change(view) => change(view),
        EntryContent::Custom { .. } | EntryContent::Update { .. } | EntryContent::Other => html! {},
    };
    markup.into_string()
}

/// The body of a stored line. `None` if it is not an entry.
pub fn render_line(line: &[u8]) -> Option<String> {
    let entry = osier_tree::entry::parse_entry(line).ok()?;
    let (view, images) = (EntryView::read(&entry), entry_images(&entry));
    let body = render_entry(EntryBody { view: &view, images: &images });
    Some(body + &tool_list(&entry).into_string())
}

fn summary(title: &str, text: &str) -> Markup {
    html! { details.summary { summary { (PreEscaped(escaped_line(title))) } (markdown(text)) } }
}

fn compaction(view: &CompactionView) -> Markup {
    let tokens =
        view.tokens_before.map(|tokens| format!(" of {} tokens", format_tokens(tokens))).unwrap_or_default();
    html! {
        (summary(&format!("Compaction{tokens}"), &view.summary))
        p.notice { "From here on, the model gets this summary instead of what is above." }
    }
}

fn branch_summary(view: &BranchSummaryView) -> Markup {
    match parse_graft(&view.summary) {
        Some(graft) => {
            summary(&format!("Conclusion of branch {}", beginning(graft.tip, 80)), graft.conclusion)
        }
        None => summary("Summary of the branch that was left", &view.summary),
    }
}

fn backtrack(view: &BacktrackView) -> Markup {
    let number = view.checkpoint_id.map_or_else(|| "?".to_owned(), |number| number.to_string());
    html! {
        p.backtrack-title { "Backtracked to checkpoint " (number) }
        @if view.discarded > 0 { p.notice { "Discarded " (view.discarded) " messages" } }
        @if !view.original_user_message.trim().is_empty() {
            div.returned { p.notice { "Returned to" } (markdown(beginning(&view.original_user_message, 2_000))) }
        }
        div.note { (markdown(&view.note)) }
        @if !view.addendum.trim().is_empty() { (summary("Added by the program", &view.addendum)) }
    }
}

fn change(view: &ChangeView) -> Markup {
    let text = match view {
        ChangeView::Model { provider, model } => format!("Model: {provider}/{model}"),
        ChangeView::ThinkingLevel(level) => format!("Thinking: {level}"),
    };
    html! { p.change { (PreEscaped(escaped_line(beginning(&text, 200)))) } }
}
