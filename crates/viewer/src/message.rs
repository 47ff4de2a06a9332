//! Messages: of the user, of the model, of extensions.

use maud::{Markup, PreEscaped, html};
use osier_protocol::entry_view::{
    AssistantView, CustomMessageView, ImageView, MessageView, OtherMessageView, ReplyBlockView,
    UserMessageView,
};
use osier_protocol::usage::{format_cost, format_tokens};

use crate::image::images;
use crate::markdown::markdown;
use crate::text::{beginning, escaped, escaped_line};
use crate::tool_call::tool_call;
use crate::tool_result::{tool_result, user_command};

pub(crate) fn message(message: &MessageView, attached: &[ImageView<'_>], in_context: bool) -> Markup {
    match message {
        MessageView::User(user) => user_message(user, attached),
        MessageView::Assistant(reply) => assistant(reply),
        MessageView::ToolResult(result) => tool_result(result, attached),
        MessageView::UserCommand(run) => user_command(run, in_context),
        MessageView::Custom(custom) => custom_message(custom, attached),
        MessageView::Other(other) => html! {
            details.output { summary { (other_title(other)) } (markdown(&other.text)) }
            (images(attached))
        },
    }
}

fn other_title(other: &OtherMessageView) -> Markup {
    match other.role_name.as_str() {
        "system" => html! { "System prompt" },
        name => PreEscaped(escaped_line(beginning(name, 60))),
    }
}

/// Prompts are shown as Markdown: people paste code and lists.
fn user_message(user: &UserMessageView, attached: &[ImageView<'_>]) -> Markup {
    html! {
        (markdown(user.text.trim_end()))
        (images(attached))
    }
}

fn assistant(reply: &AssistantView) -> Markup {
    html! {
        @for block in &reply.blocks {
            @match block {
                ReplyBlockView::Text(text) => (markdown(text)),
                ReplyBlockView::Thinking(text) => (thinking(text)),
                ReplyBlockView::Call(call) => (tool_call(call)),
            }
        }
        (ending(reply))
        (origin(reply))
    }
}

/// The model, and what the reply cost.
fn origin(reply: &AssistantView) -> Markup {
    let usage = reply.usage.filter(|usage| usage.total_tokens > 0);
    html! {
        p.origin {
            @if let Some(model) = &reply.model { span.model { (PreEscaped(escaped_line(beginning(model, 100)))) } }
            @if let Some(usage) = usage {
                span title="tokens read and written" { (format_tokens(usage.total_tokens.saturating_sub(usage.output))) " → " (format_tokens(usage.output)) }
                @if usage.cost > 0.0 { span { (format_cost(usage.cost)) } }
            }
        }
    }
}

fn thinking(text: &str) -> Markup {
    html! {
        @if !text.trim().is_empty() {
            details.thinking { summary { "Thinking" } (markdown(text.trim())) }
        }
    }
}

fn ending(reply: &AssistantView) -> Markup {
    let error = reply.error.as_deref().unwrap_or_default().trim();
    match reply.stop_reason.as_deref() {
        Some("aborted") => html! { p.notice { "Stopped" } },
        Some("error") => html! { p.notice.error { (PreEscaped(escaped(beginning(error, 8_000)))) } },
        Some("length") => html! { p.notice { "Cut off at the model's output limit" } },
        _ => html! {},
    }
}

fn custom_message(custom: &CustomMessageView, attached: &[ImageView<'_>]) -> Markup {
    html! {
        p.custom-type { (PreEscaped(escaped_line(beginning(&custom.custom_type, 100)))) }
        (markdown(&custom.text))
        (images(attached))
    }
}
