//! Longer answers to commands: what a session cost, how two branches differ.

use osier_tree::projection::card::Card;
use osier_tree::projection::compare::{Comparison, Side};
use osier_tree::projection::preview::one_line;
use osier_tree::projection::usage::{Usage, UsageReport, format_cost, format_tokens};

use crate::clock::Clock;
use crate::markdown::highlight;
use crate::text::{Line, Style, clean, hard_wrap, width};
use crate::theme::Role;

/// Which session this is, and how large.
pub(crate) fn session(card: &Card, clock: Clock, columns: usize) -> Vec<Line> {
    let rows = [
        ("id", card.id.clone()),
        ("name", card.name.clone().unwrap_or_default()),
        ("file", card.file.clone().unwrap_or_default()),
        ("store", card.store.clone()),
        ("begun", clock.full(card.created)),
        ("entries", format!("{}, of them {} messages", card.entry_count, card.message_count)),
        ("branches", card.branches.to_string()),
        ("forked from", card.parent_session_id.clone().unwrap_or_default()),
    ];
    let mut lines = vec![Line::of(Style::from(Role::Accent).bold(), "Session")];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let line = Line::of(Role::Dim, &format!("  {name:<12}")).with(Role::Text, value);
        lines.extend(hard_wrap(&line, columns));
    }
    lines.push(Line::new());
    lines
}

/// Usage of the session, the path, each model and each branch.
pub(crate) fn usage(report: &UsageReport, columns: usize) -> Vec<Line> {
    let mut lines = vec![Line::of(Style::from(Role::Accent).bold(), "Usage")];
    let mut row = |name: &str, usage: &Usage| {
        let told = format!(
            "{:>9} tokens  {:>4} requests  {}",
            format_tokens(usage.total_tokens),
            usage.requests,
            format_cost(usage.cost)
        );
        lines.push(
            Line::of(Role::Text, &format!("  {:<28}", one_line(name, 28)))
                .with(Role::Dim, &told)
                .cut(columns),
        );
    };
    row("the session", &report.session);
    row("this path", &report.path);
    for model in &report.models {
        row(&format!("model {}", model.model.as_deref().unwrap_or("unknown")), &model.usage);
    }
    for branch in &report.branches {
        let active = if branch.active { " (here)" } else { "" };
        row(&format!("branch to {}{active}", branch.tip), &branch.usage);
    }
    lines
}

/// One line about a move.
pub(crate) fn account(why: &str, from: &str, to: &str, columns: usize) -> String {
    let words = match why {
        "undo" => "undone: back",
        "redo" => "redone: forth",
        _ => "moved",
    };
    let key = match why {
        _ if columns < 72 => "",
        "undo" => " · alt+r redoes it",
        _ => " · alt+u undoes it",
    };
    let room = columns.saturating_sub(width(words) + width(key) + width(" from  to ")).max(16);
    // What the one does not need is for the other.
    let before = room - width(to).min(room / 2);
    let cut = |text: &str, room: usize| Line::of(Role::Dim, text).cut(room).plain();
    let from = cut(from, before);
    let to = cut(to, room - width(&from));
    format!("{words} from {from} to {to}{key}")
}

/// An entry that is drawn nowhere, as it is stored.
pub(crate) fn raw(line: &[u8], columns: usize) -> Vec<Line> {
    let entry: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    let text = serde_json::to_string_pretty(&entry).unwrap_or_default();
    highlight(&clean(&text), "json").iter().flat_map(|line| hard_wrap(line, columns)).collect()
}

/// Two branches, the one below the other if there is no room beside it.
pub(crate) fn comparison(comparison: &Comparison, columns: usize) -> Vec<Line> {
    let common = comparison.common_id.as_deref().unwrap_or("the beginning");
    let mut lines = vec![Line::of(Role::Dim, &format!("They part at {common}."))];
    if columns < 72 {
        lines.extend(side(&comparison.left, columns));
        lines.push(Line::new());
        lines.extend(side(&comparison.right, columns));
    } else {
        let half = (columns - 3) / 2;
        let (left, right) = (side(&comparison.left, half), side(&comparison.right, half));
        for at in 0..left.len().max(right.len()) {
            let mut line = left.get(at).cloned().unwrap_or_default();
            let pad = " ".repeat(half - line.width());
            line.push(Role::Border, &format!("{pad} │ "));
            line.spans.extend(right.get(at).cloned().unwrap_or_default().spans);
            lines.push(line);
        }
    }
    if !comparison.modified_by_both.is_empty() {
        let both = comparison.modified_by_both.join(", ");
        lines.push(Line::of(Role::Warn, &format!("changed by both: {both}")).cut(columns));
    }
    lines
}

fn side(side: &Side, columns: usize) -> Vec<Line> {
    let name = side.label.as_deref().or(side.tip_id.as_deref()).unwrap_or("the beginning");
    let mut lines = vec![
        Line::of(Style::from(Role::Label).bold(), name),
        Line::of(
            Role::Dim,
            &format!(
                "{} messages, {} tokens, {}",
                side.messages,
                format_tokens(side.usage.total_tokens),
                format_cost(side.usage.cost)
            ),
        ),
    ];
    if !side.modified_files.is_empty() {
        lines.push(Line::of(Role::Added, &format!("changed {}", side.modified_files.join(", "))));
    }
    for said in &side.said {
        let role = if said.role == "user" { Role::User } else { Role::Text };
        lines.push(Line::of(role, &one_line(&said.text, 300)));
    }
    if side.left_out > 0 {
        lines.push(Line::of(Role::Dim, &format!("… {} more", side.left_out)));
    }
    lines.into_iter().map(|line| line.cut(columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_a_move_is_one_line_on_every_screen() {
        let (from, to) = ("assistant: \"一二三四五六七八九十\"".repeat(3), "user: \"b\"");
        for columns in [40, 80, 200] {
            for why in ["move", "undo", "redo"] {
                let told = account(why, &from, to, columns);
                assert!(width(&told) <= columns, "{told}");
                assert!(told.contains(" to user: "), "{told}");
            }
        }
        assert_eq!(
            account("undo", "the beginning", to, 80),
            "undone: back from the beginning to user: \"b\" · alt+r redoes it"
        );
    }
}
