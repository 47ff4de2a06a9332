//! Longer answers to commands: what a session cost, how two branches differ.

use osier_tree::projection::compare::{Comparison, Side};
use osier_tree::projection::preview::one_line;
use osier_tree::projection::usage::{Usage, UsageReport, format_cost, format_tokens};

use crate::text::{Line, Style};
use crate::theme::Role;

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

/// The models there are.
pub(crate) fn models(names: &[String], now: &str) -> Vec<Line> {
    let mut lines = vec![Line::of(Style::from(Role::Accent).bold(), "Models")];
    let row = |name: &String| {
        Line::of(Role::Text, &format!("  {name}"))
            .with(Role::Active, if name == now { "  ← now" } else { "" })
    };
    lines.extend(names.iter().map(row));
    lines.push(Line::of(Role::Dim, "/model NAME chooses one"));
    lines
}

/// Two branches, the one below the other if there is no room beside it.
pub(crate) fn comparison(comparison: &Comparison, columns: usize) -> Vec<Line> {
    let common = comparison.common_id.as_deref().unwrap_or("the beginning");
    let mut lines = vec![
        Line::of(Style::from(Role::Accent).bold(), "Two branches")
            .with(Role::Dim, &format!(" that part at {common}")),
    ];
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
