//! The spinner and the status line. When there is little room, the least important parts are left out first.

use osier_protocol::query::SandboxStatus;
use osier_protocol::usage::{format_cost, format_tokens};
use osier_protocol::{ApprovalMode, ThinkingLevel, TokenCount, one_line};

use crate::extension_ui::WorkingLook;
use crate::state::UiState;
use crate::text::{Line, Style, parse_styled, width};
use crate::theme::ColorRole;

const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
/// The usual time of a step of the animation.
const TICK_MS: u64 = 120;
/// The width of the context bar.
const BAR_COLUMNS: usize = 8;
/// The longest name of a git branch that is shown.
const MAX_BRANCH_CHARS: usize = 40;

/// The status line: host of the gateway, directory, model, context usage, cost, position in the tree, session.
pub(crate) fn status_line(state: &UiState) -> Line {
    let facts = &state.status;
    let directory = match &facts.git_branch {
        Some(branch) => format!("{} ({})", state.config.directory, one_line(branch, MAX_BRANCH_CHARS)),
        None => state.config.directory.clone(),
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
    let name = facts.name.clone().unwrap_or_else(|| facts.short_id.clone());
    let task = facts.task_of.as_deref().map(|id| format!("task of {}", id.get(..8).unwrap_or(id)));
    let task = task.unwrap_or_default();
    // Each part with its importance.
    let problem = state.connection_problem.as_deref().unwrap_or_default();
    let mut pieces = vec![
        (11, Line::styled(Style::from(ColorRole::Warn).bold(), problem)),
        (12, Line::styled(Style::from(ColorRole::Accent).bold(), &task)),
        (7, Line::styled(ColorRole::Accent, state.config.gateway.as_deref().unwrap_or_default())),
        (4, Line::styled(ColorRole::Dim, &directory)),
        (9, Line::styled(ColorRole::Text, &model)),
        (
            10,
            Line::styled(
                Style::from(ColorRole::Warn).bold(),
                facts.approval_mode.map_or("", |mode| approval_text(mode, state)),
            ),
        ),
        (8, context_meter(state)),
        (5, Line::styled(ColorRole::Dim, &cost)),
        (6, Line::styled(ColorRole::Dim, &tips)),
        (2, Line::styled(ColorRole::Dim, &name)),
        (1, Line::styled(ColorRole::Dim, &state.status.store)),
    ];
    pieces.retain(|(_, piece)| !piece.is_empty());
    let total = |pieces: &[(u8, Line)]| pieces.iter().map(|(_, piece)| piece.width() + 3).sum::<usize>();
    while pieces.len() > 1 && total(&pieces) > state.columns + 3 {
        let least = pieces.iter().enumerate().min_by_key(|(_, (worth, _))| *worth).map_or(0, |(at, _)| at);
        pieces.remove(least);
    }
    let mut line = Line::new();
    for (at, (_, piece)) in pieces.into_iter().enumerate() {
        line.push(ColorRole::Border, if at > 0 { " │ " } else { "" });
        line.spans.extend(piece.spans);
    }
    line.truncate(state.columns)
}

/// The approval mode, if it is not the default one.
fn approval_text(mode: ApprovalMode, state: &UiState) -> &'static str {
    match mode {
        ApprovalMode::Default => "",
        ApprovalMode::Sandbox if !matches!(state.sandbox, SandboxStatus::Active { .. }) => {
            "no sandbox: asks before running anything"
        }
        ApprovalMode::AutoEdit | ApprovalMode::Sandbox | ApprovalMode::Yolo => mode.name(),
    }
}

fn context_meter(state: &UiState) -> Line {
    let window = state.status.context_window;
    let used = state.context.tokens;
    if window == 0 || used == 0 {
        return Line::new();
    }
    let part = (used as f64 / window as f64).min(1.0);
    let full = (part * BAR_COLUMNS as f64).round() as usize;
    let role = match part {
        part if part >= 0.9 => ColorRole::Bad,
        part if part >= 0.7 => ColorRole::Warn,
        _ => ColorRole::Good,
    };
    Line::styled(role, &"█".repeat(full))
        .with(ColorRole::Border, &"░".repeat(BAR_COLUMNS - full))
        .with(ColorRole::Dim, &format!(" {}/{}", state.context, format_tokens(window)))
}

/// The line about work in progress, if any.
pub(crate) fn spinner_line(state: &UiState) -> Option<Line> {
    let activity = &state.activity;
    let look = &state.extensions.working;
    if !activity.is_active() || look.hidden {
        return None;
    }
    let passed = activity.elapsed(state.now, state.clock.now);
    let doing = match () {
        () if !activity.open_questions.is_empty() => "waiting for your answer".to_owned(),
        () if activity.stopping => "stopping".to_owned(),
        () if activity.retrying.is_some() => activity.retrying.clone().unwrap_or_default(),
        () if activity.summary.is_some() => "summarizing".to_owned(),
        () if activity.is_only_exploring() => "exploring".to_owned(),
        () if !activity.turn_running => match activity.working_extension() {
            Some((_, Some(command))) if activity.user_command.is_none() => format!("running /{command}"),
            Some((_, None)) if activity.user_command.is_none() => {
                "an extension checks your prompt".to_owned()
            }
            _ => "running your command".to_owned(),
        },
        () if look.message.is_some() => look.message.clone().unwrap_or_default(),
        () if !state.transcript.pending_calls().is_empty() => "running tools".to_owned(),
        () => state.reply.activity().to_owned(),
    };
    let written = state.reply.chars_written;
    let mut line = working_sign(look, passed);
    line.spans.extend(parse_styled(&doing).0.dimmed().spans);
    line.push(ColorRole::Dim, &format!(" · {}", format_elapsed(passed)));
    if written > 0 {
        let tokens = TokenCount::estimated(written.div_ceil(4) as u64);
        line.push(ColorRole::Dim, &format!(" · ↓ {tokens} tokens"));
    }
    let hint = match activity.open_questions.is_empty() {
        true => " · esc to stop",
        false if state.overlays.last().is_some_and(|overlay| overlay.escape_stops_turn()) => {
            " · esc to stop the turn"
        }
        // Escape closes the overlay instead.
        false => "",
    };
    let fits = line.width() + width(hint) <= state.columns;
    Some(line.with(ColorRole::Dim, if fits { hint } else { "" }).truncate(state.columns))
}

/// The current step of the animation, and a space behind it.
fn working_sign(look: &WorkingLook, passed: u64) -> Line {
    let Some(frames) = &look.frames else {
        return Line::styled(Style::from(ColorRole::Accent).bold(), spinner(passed))
            .with(ColorRole::Dim, " ");
    };
    let interval = look.interval.unwrap_or(TICK_MS).max(TICK_MS / 2);
    match frames.get((passed / interval) as usize % frames.len().max(1)) {
        Some(frame) => parse_styled(frame).0.with(ColorRole::Dim, " "),
        None => Line::new(),
    }
}

/// A frame of the spinner.
pub(crate) fn spinner(milliseconds: u64) -> &'static str {
    SPINNER[(milliseconds / TICK_MS) as usize % SPINNER.len()]
}

pub(crate) fn format_elapsed(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    if seconds < 60 { format!("{seconds} s") } else { format!("{}:{:02} min", seconds / 60, seconds % 60) }
}
