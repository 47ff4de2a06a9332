//! Longer answers to commands: what a session cost, how two branches differ.

use osier_tree::projection::card::Card;
use osier_tree::projection::compare::{Comparison, Side};
use osier_tree::projection::preview::one_line;
use osier_tree::projection::usage::{Usage, UsageReport, format_cost, format_tokens};

use crate::clock::Clock;
use crate::markdown::highlight;
use crate::msg::{Switch, Switched};
use crate::text::{Line, Style, clean, hard_wrap, width};
use crate::theme::Role;

/// From so many columns on, things stand beside each other and not below.
const BESIDE: usize = 72;

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
        let beside = Line::of(Role::Dim, &format!("  {name:<12}")).with(Role::Text, value);
        if beside.width() <= columns {
            lines.push(beside);
            continue;
        }
        lines.push(Line::of(Role::Dim, &format!("  {name}")));
        let value = hard_wrap(&Line::of(Role::Text, value), columns.saturating_sub(4).max(1));
        lines.extend(value.into_iter().map(|line| line.behind(Role::Text, "    ")));
    }
    lines.push(Line::new());
    lines
}

/// Usage of the session, the path, each model and each branch.
pub(crate) fn usage(report: &UsageReport, columns: usize) -> Vec<Line> {
    let mut lines = vec![Line::of(Style::from(Role::Accent).bold(), "Usage")];
    let mut row = |name: &str, usage: &Usage| {
        let (tokens, cost) = (format_tokens(usage.total_tokens), format_cost(usage.cost));
        let requests = usage.requests;
        if columns < BESIDE {
            lines.push(Line::of(Role::Text, &format!("  {name}")).cut(columns));
            let told = format!("    {tokens} tokens · {requests} requests · {cost}");
            lines.push(Line::of(Role::Dim, &told).cut(columns));
            return;
        }
        let told = format!("{tokens:>9} tokens  {requests:>4} requests  {cost}");
        let name = Line::of(Role::Text, &format!("  {:<28}", one_line(name, 28)));
        lines.push(name.with(Role::Dim, &told).cut(columns));
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

/// Where one is now, and what became of where one was.
pub(crate) fn switched(switched: &Switched) -> Vec<String> {
    let Switched { now, before, .. } = switched;
    let back = if switched.can_return { format!("; /resume leads back to {before}") } else { String::new() };
    let place = match switched.how {
        Switch::Resumed => format!("now in {now}"),
        Switch::New => format!("now in {now}, a new session{back}"),
        Switch::Forked => format!("now in {now}, forked from {before}"),
    };
    let stopped = switched.stopped.then(|| format!("the turn was stopped; it is in {before}"));
    stopped.into_iter().chain([place]).collect()
}

/// One line about a move.
pub(crate) fn account(why: &str, from: &str, to: &str, columns: usize) -> String {
    let words = match why {
        "undo" => "undone: back",
        "redo" => "redone: forth",
        _ => "moved",
    };
    let key = match why {
        _ if columns < BESIDE => "",
        "undo" => " · alt+r redoes it",
        _ => " · alt+u undoes it",
    };
    let room = columns.saturating_sub(width(words) + width(key) + width(" from  to ")).max(16);
    // What the one does not need is for the other.
    let before = room - width(to).min(room / 2);
    let cut = |text: &str, room: usize| match text.strip_suffix('”') {
        Some(said) if width(text) > room => {
            Line::of(Role::Dim, said).cut(room.saturating_sub(1)).plain() + "”"
        }
        _ => Line::of(Role::Dim, text).cut(room).plain(),
    };
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
    if columns < BESIDE {
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
        let (from, to) = (format!("the answer “{}”", "一二三四五六七八九十".repeat(3)), "your message “b”");
        for columns in [40, 80, 200] {
            for why in ["move", "undo", "redo"] {
                let told = account(why, &from, to, columns);
                assert!(width(&told) <= columns, "{told}");
                assert!(told.contains("”") && told.contains(" to your "), "{told}");
            }
        }
        assert_eq!(
            account("undo", "the beginning", to, 80),
            "undone: back from the beginning to your message “b” · alt+r redoes it"
        );
    }

    fn usage_report() -> UsageReport {
        let usage = Usage { total_tokens: 123_456, requests: 12, cost: 1.25, ..Usage::default() };
        UsageReport { session: usage, path: usage, models: Vec::new(), branches: Vec::new() }
    }

    #[test]
    fn what_a_session_took_is_read_in_forty_columns_too() {
        let card = Card {
            id: "5e551011-0000-4000-8000-000000000000".to_owned(),
            file: Some("/home/me/.osier/sessions/--home-me-project--/a.jsonl".to_owned()),
            store: "file".to_owned(),
            ..Card::default()
        };
        for columns in [40, 80] {
            let mut lines = session(&card, Clock::default(), columns);
            lines.extend(usage(&usage_report(), columns));
            assert!(lines.iter().all(|line| line.width() <= columns && !line.plain().contains('…')));
        }
        let mut lines = session(&card, Clock::default(), 40);
        lines.extend(usage(&usage_report(), 40));
        expect_test::expect![[r#"
            Session
              id
                5e551011-0000-4000-8000-000000000000
              file
                /home/me/.osier/sessions/--home-me-p
                roject--/a.jsonl
              store       file
              begun       1970-01-01 00:00
              entries     0, of them 0 messages
              branches    0

            Usage
              the session
                123k tokens · 12 requests · $1.25
              this path
                123k tokens · 12 requests · $1.25
        "#]]
        .assert_eq(&crate::text::plain(&lines));
    }
}
