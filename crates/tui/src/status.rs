//! The last lines: what goes on, and where one is. What matters least is left out first when there is little room.

use osier_model::ThinkingLevel;
use osier_tools::approvals::Mode;
use osier_tree::projection::usage::{format_cost, format_tokens};

use crate::state::State;
use crate::text::{Line, Style, width};
use crate::theme::Role;
use crate::update::answering::shares_draft;

const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
/// Columns of the bar.
const BAR: usize = 8;

/// Where one is: directory, model, how full the context is, cost, and the place in the tree.
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
    // By how much each is missed.
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

/// What may be done without asking, if it is more than usual.
fn unasked(mode: Mode, state: &State) -> &'static str {
    match mode {
        Mode::Default => "",
        Mode::Sandbox if state.setting.protection().is_err() => "no sandbox: asks before it runs anything",
        Mode::AutoEdit | Mode::Sandbox | Mode::Yolo => mode.name(),
    }
}

fn context(state: &State) -> Line {
    let window = state.facts.window;
    if window == 0 || state.context == 0 {
        return Line::new();
    }
    let part = (state.context as f64 / window as f64).min(1.0);
    let full = (part * BAR as f64).round() as usize;
    let role = match part {
        part if part >= 0.9 => Role::Bad,
        part if part >= 0.7 => Role::Warn,
        _ => Role::Good,
    };
    Line::of(role, &"█".repeat(full))
        .with(Role::Border, &"░".repeat(BAR - full))
        .with(Role::Dim, &format!(" {}/{}", format_tokens(state.context), format_tokens(window)))
}

/// What goes on, if anything does.
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
    let mut told = format!(" {doing} · {}", elapsed(passed));
    if written > 0 {
        told += &format!(" · ↓ {} tokens", format_tokens(written.div_ceil(4) as u64));
    }
    let sign = SPINNER[(passed / 120) as usize % SPINNER.len()];
    let line = Line::of(Style::from(Role::Accent).bold(), sign).with(Role::Dim, &told);
    let hint = match work.asked.is_empty() {
        true => " · escape stops",
        false if shares_draft(state) => " · escape stops the turn",
        // Above the question lies something that Escape closes.
        false => "",
    };
    let fits = line.width() + width(hint) <= state.columns;
    Some(line.with(Role::Dim, if fits { hint } else { "" }).cut(state.columns))
}

fn elapsed(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    if seconds < 60 { format!("{seconds} s") } else { format!("{}:{:02} min", seconds / 60, seconds % 60) }
}
