//! The spinner and the status line. When there is little room, the least important parts are left out first.

use osier_model::ThinkingLevel;
use osier_tools::approvals::Mode;
use osier_tree::projection::usage::{format_cost, format_tokens};
use osier_tree::tokens::TokenCount;

use crate::state::State;
use crate::text::{Line, Style, width};
use crate::theme::Role;
use crate::update::answering::shares_draft;

const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
/// The width of the context bar.
const BAR: usize = 8;

/// The status line: directory, model, context usage, cost, position in the tree, session.
pub(crate) fn status(state: &State) -> Line {
    let facts = &state.facts;
    let directory = match &facts.git_branch {
        Some(branch) => format!("{} ({branch})", state.setting.directory),
        None => state.setting.directory.clone(),
    };
    let model = match facts.thinking {
        ThinkingLevel::Off => facts.model.clone(),
        level => format!("{} · {}", facts.model, level.name()),
    };
    let tips = if facts.tips > 1 {
        format!("#{} · {} branches", facts.depth, facts.tips)
    } else {
        format!("#{}", facts.depth)
    };
    let cost = if facts.cost > 0.0 { format_cost(facts.cost) } else { String::new() };
    let name = facts.name.clone().unwrap_or_else(|| facts.session.clone());
    // Each part with its importance.
    let mut pieces = vec![
        (4, Line::of(Role::Dim, &directory)),
        (9, Line::of(Role::Text, &model)),
        (
            10,
            Line::of(Style::from(Role::Warn).bold(), facts.approval.map_or("", |mode| unasked(mode, state))),
        ),
        (8, context(state)),
        (5, Line::of(Role::Dim, &cost)),
        (6, Line::of(Role::Dim, &tips)),
        (2, Line::of(Role::Dim, &name)),
        (1, Line::of(Role::Dim, &state.setting.store)),
    ];
    pieces.retain(|(_, piece)| !piece.is_empty());
    let total = |pieces: &[(u8, Line)]| pieces.iter().map(|(_, piece)| piece.width() + 3).sum::<usize>();
    while pieces.len() > 1 && total(&pieces) > state.columns + 3 {
        let least = pieces.iter().enumerate().min_by_key(|(_, (worth, _))| *worth).map_or(0, |(at, _)| at);
        pieces.remove(least);
    }
    let mut line = Line::new();
    for (at, (_, piece)) in pieces.into_iter().enumerate() {
        line.push(Role::Border, if at > 0 { " │ " } else { "" });
        line.spans.extend(piece.spans);
    }
    line.cut(state.columns)
}

/// The approval mode, if it is not the default one.
fn unasked(mode: Mode, state: &State) -> &'static str {
    match mode {
        Mode::Default => "",
        Mode::Sandbox if state.setting.protection().is_err() => "no sandbox: asks before running anything",
        Mode::AutoEdit | Mode::Sandbox | Mode::Yolo => mode.name(),
    }
}

fn context(state: &State) -> Line {
    let window = state.facts.window;
    let used = state.context.tokens;
    if window == 0 || used == 0 {
        return Line::new();
    }
    let part = (used as f64 / window as f64).min(1.0);
    let full = (part * BAR as f64).round() as usize;
    let role = match part {
        part if part >= 0.9 => Role::Bad,
        part if part >= 0.7 => Role::Warn,
        _ => Role::Good,
    };
    Line::of(role, &"█".repeat(full))
        .with(Role::Border, &"░".repeat(BAR - full))
        .with(Role::Dim, &format!(" {}/{}", state.context, format_tokens(window)))
}

/// The line about work in progress, if any.
pub(crate) fn spinner(state: &State) -> Option<Line> {
    let work = &state.work;
    if !work.is_going_on() {
        return None;
    }
    let passed = state.now.saturating_sub(work.since);
    let doing = match () {
        () if !work.asked.is_empty() => "waiting for your answer".to_owned(),
        () if work.stopping => "stopping".to_owned(),
        () if work.retrying.is_some() => work.retrying.clone().unwrap_or_default(),
        () if work.summary.is_some() => "summarizing".to_owned(),
        () if !work.turn => "running your command".to_owned(),
        () if !state.script.waiting().is_empty() => "running tools".to_owned(),
        () => state.draft.doing().to_owned(),
    };
    let written = state.draft.written;
    let mut text = format!(" {doing} · {}", elapsed(passed));
    if written > 0 {
        text += &format!(" · ↓ {} tokens", TokenCount::estimated(written.div_ceil(4) as u64));
    }
    let sign = SPINNER[(passed / 120) as usize % SPINNER.len()];
    let line = Line::of(Style::from(Role::Accent).bold(), sign).with(Role::Dim, &text);
    let hint = match work.asked.is_empty() {
        true => " · esc to stop",
        false if shares_draft(state) => " · esc to stop the turn",
        // Escape closes the overlay above the question instead.
        false => "",
    };
    let fits = line.width() + width(hint) <= state.columns;
    Some(line.with(Role::Dim, if fits { hint } else { "" }).cut(state.columns))
}

fn elapsed(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    if seconds < 60 { format!("{seconds} s") } else { format!("{}:{:02} min", seconds / 60, seconds % 60) }
}
