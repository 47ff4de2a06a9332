//! Draws a backtrack of the model to a checkpoint: a rule, the number of discarded messages, the message it returned to, and the
//! note.

use osier_protocol::entry_view::BacktrackView;

use super::RenderOptions;
use crate::markdown::render_markdown;
use crate::text::{Line, sanitize, width, wrap};
use crate::theme::ColorRole;

/// The number of characters shown of the message and of the note.
const MAX_MESSAGE_CHARS: usize = 200;
const MAX_NOTE_CHARS: usize = 300;
/// The maximum width of a rule.
const MAX_RULE_WIDTH: usize = 60;
const INDENT: &str = "    ";

pub(super) fn draw(backtrack: &BacktrackView, options: RenderOptions<'_>) -> Vec<Line> {
    let number = backtrack.checkpoint_id.map_or_else(|| "?".to_owned(), |number| number.to_string());
    let mut lines =
        vec![title_rule(&format!("Backtracked to Checkpoint {number}"), options.width), Line::new()];
    if backtrack.discarded > 0 {
        let discarded = format!("  Discarded {} messages", backtrack.discarded);
        lines.push(Line::styled(ColorRole::BacktrackInfo, &discarded));
    }
    let available_width = options.width.saturating_sub(INDENT.len() + 4);
    let message = shorten(&backtrack.original_user_message, MAX_MESSAGE_CHARS);
    if !message.is_empty() {
        lines.push(Line::styled(ColorRole::BacktrackInfo, "  Returned to:"));
        let message = message
            .split('\n')
            .flat_map(|line| wrap(&Line::styled(ColorRole::BacktrackUserMessage, line), available_width));
        lines.extend(draw_box(message.collect()));
    }
    lines.push(Line::styled(ColorRole::BacktrackInfo, "  Note from future:"));
    lines.extend(draw_box(render_markdown(
        &shorten(&backtrack.note, MAX_NOTE_CHARS),
        ColorRole::BacktrackNote,
        available_width,
        options.code,
    )));
    lines
}

/// A rule with a title. It is narrower than most screens, so it stays on one row when the terminal gets narrower.
fn title_rule(title: &str, max_width: usize) -> Line {
    let sides = max_width.min(MAX_RULE_WIDTH).saturating_sub(width(title) + 2);
    let left = "=".repeat((sides / 2).max(3));
    let right = "=".repeat((sides - sides / 2).max(3));
    Line::styled(ColorRole::Border, &left)
        .with(ColorRole::Backtrack, &format!(" {title} "))
        .with(ColorRole::Border, &right)
        .truncate(max_width)
}

/// The start of a text, with `...` if there is more.
fn shorten(text: &str, max_width: usize) -> String {
    let text = sanitize(text.trim());
    match text.char_indices().nth(max_width) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn draw_box(lines: Vec<Line>) -> Vec<Line> {
    let wide = lines.iter().map(Line::width).max().unwrap_or(0);
    let edge = |left: &str, right: &str| {
        Line::styled(ColorRole::Border, &format!("{INDENT}{left}{}{right}", "─".repeat(wide + 2)))
    };
    let inside = lines.into_iter().map(|line| {
        let pad = " ".repeat(wide - line.width());
        let mut line = line.prepend(ColorRole::Border, &format!("{INDENT}│ "));
        line.push(ColorRole::Border, &format!("{pad} │"));
        line
    });
    std::iter::once(edge("┌", "┐")).chain(inside).chain(std::iter::once(edge("└", "┘"))).collect()
}
