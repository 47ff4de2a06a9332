//! Draws a backtrack of the model to a checkpoint: a rule, the number of discarded messages, the message it returned to, and the
//! note.

use serde_json::Value;

use super::{Look, word};
use crate::markdown::markdown;
use crate::text::{Line, clean, width, wrap};
use crate::theme::Role;

/// The number of characters shown of the message and of the note.
const MESSAGE: usize = 200;
const NOTE: usize = 300;
/// The maximum width of a rule.
const RULE: usize = 60;
const INDENT: &str = "    ";

pub(super) fn draw(body: &Value, look: Look<'_>) -> Vec<Line> {
    let number = body["checkpointId"].as_u64().map_or_else(|| "?".to_owned(), |number| number.to_string());
    let mut lines = vec![rule(&format!("Backtracked to Checkpoint {number}"), look.width), Line::new()];
    let discarded = body["discarded"].as_u64().unwrap_or_default();
    if discarded > 0 {
        lines.push(Line::of(Role::BacktrackInfo, &format!("  Discarded {discarded} messages")));
    }
    let room = look.width.saturating_sub(INDENT.len() + 4);
    let message = begun(word(body, "originalUserMessage"), MESSAGE);
    if !message.is_empty() {
        lines.push(Line::of(Role::BacktrackInfo, "  Returned to:"));
        let rows =
            message.split('\n').flat_map(|line| wrap(&Line::of(Role::BacktrackUserMessage, line), room));
        lines.extend(boxed(rows.collect()));
    }
    lines.push(Line::of(Role::BacktrackInfo, "  Note from future:"));
    lines.extend(boxed(markdown(&begun(word(body, "note"), NOTE), Role::BacktrackNote, room)));
    lines
}

/// A rule with a title. It is narrower than most screens, so it stays on one row when the terminal gets narrower.
fn rule(title: &str, most: usize) -> Line {
    let sides = most.min(RULE).saturating_sub(width(title) + 2);
    let left = "=".repeat((sides / 2).max(3));
    let right = "=".repeat((sides - sides / 2).max(3));
    Line::of(Role::Border, &left)
        .with(Role::Backtrack, &format!(" {title} "))
        .with(Role::Border, &right)
        .cut(most)
}

/// The start of a text, with `...` if there is more.
fn begun(text: &str, most: usize) -> String {
    let text = clean(text.trim());
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn boxed(lines: Vec<Line>) -> Vec<Line> {
    let wide = lines.iter().map(Line::width).max().unwrap_or(0);
    let edge = |left: &str, right: &str| {
        Line::of(Role::Border, &format!("{INDENT}{left}{}{right}", "─".repeat(wide + 2)))
    };
    let inside = lines.into_iter().map(|line| {
        let pad = " ".repeat(wide - line.width());
        let mut line = line.behind(Role::Border, &format!("{INDENT}│ "));
        line.push(Role::Border, &format!("{pad} │"));
        line
    });
    std::iter::once(edge("┌", "┐")).chain(inside).chain(std::iter::once(edge("└", "┘"))).collect()
}
