//! Asks for approval to run a tool or to continue a long turn. Shows exactly what would run or change.
//!
//! Text from a model passes through [`visible`], so it cannot hide anything. A call cannot be allowed before its end was on the
//! screen.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::Arc;

use osier_protocol::{
    Allowance, AskReason, ClientCommand, ProposedChange, Question, UserAnswer, visible, visible_line,
};

use super::{ANSWER_PAUSE_MS, Overlay, OverlayArea, OverlayEvent, OverlayOutcome, TextPrompt};
use crate::code::{CodeColors, code_lines};
use crate::diff::{DiffCode, diff_rows, wide_diff_lines};
use crate::key::{Key, KeyCode};
use crate::msg::{Action, CommandPurpose};
use crate::panel::key_hints;
use crate::screen::Frame;
use crate::text::{Line, Style, hard_wrap, width};
use crate::theme::ColorRole;

/// A narrower screen shows nothing of the question.
const MIN_COLUMNS: usize = 4;

/// The columns of the marks before the details.
const MARK_COLUMNS: usize = 2;

/// Lines, with the columns and the version of the colors that they were drawn for.
type WrappedDetails = ((usize, u64), Arc<[Line]>);

/// The approval question.
#[derive(Debug)]
pub(crate) struct ApprovalPrompt {
    id: u64,
    question: Question,
    /// The sub-agent that asks.
    agent: Option<String>,
    selected: usize,
    /// The first visible line of the details.
    first_line: usize,
    /// When it was first drawn.
    first_shown: Option<u64>,
    /// The end of the details was on the screen.
    is_read: bool,
    colors: Arc<CodeColors>,
    /// The details as they were last drawn.
    wrapped_details: RefCell<WrappedDetails>,
}

impl ApprovalPrompt {
    /// `agent` is the sub-agent that asks.
    pub(crate) fn new(
        id: u64,
        question: Question,
        agent: Option<String>,
        colors: Arc<CodeColors>,
    ) -> ApprovalPrompt {
        ApprovalPrompt {
            id,
            question,
            agent,
            selected: 0,
            first_line: 0,
            first_shown: None,
            is_read: false,
            colors,
            wrapped_details: RefCell::new(((0, 0), Arc::default())),
        }
    }

    /// The answers: a letter, a label, and what is sent. `None` asks for the reason first.
    fn answers(&self) -> Vec<(char, String, Option<UserAnswer>)> {
        let question = match &self.question {
            Question::Tool(question) => question,
            Question::Continue { .. } | Question::Dialog(_) => {
                return vec![
                    ('y', "Yes, continue".to_owned(), Some(UserAnswer::Once)),
                    ('n', "No, stop here".to_owned(), Some(UserAnswer::No { reason: String::new() })),
                ];
            }
        };
        let mut answers = vec![('y', "Yes, once".to_owned(), Some(UserAnswer::Once))];
        for offer in &question.allowances {
            let (letter, words) = match offer {
                Allowance::Outside(_) => ('o', "Yes, always this command outside the sandbox".to_owned()),
                Allowance::Command(name) if offer.is_family() => {
                    ('p', format!("Yes, always `{name}` with harmless arguments"))
                }
                Allowance::Command(_) => ('p', "Yes, always exactly this command".to_owned()),
                Allowance::Tool(name) if name == "bash" => {
                    ('a', "Yes, always any command in the sandbox".to_owned())
                }
                Allowance::Tool(name) => ('a', format!("Yes, always {}", visible_line(name))),
            };
            answers.push((letter, words, Some(UserAnswer::Always { allowance: offer.clone() })));
        }
        answers.push(('n', "No, and continue without it".to_owned(), None));
        answers
    }

    fn submit_answer(&self, answer: Option<UserAnswer>) -> OverlayOutcome {
        let question = self.id;
        match answer {
            Some(UserAnswer::Once | UserAnswer::Always { allowance: _ }) if !self.is_read => {
                OverlayOutcome::Stay
            }
            Some(answer) => OverlayOutcome::CloseAndRun(vec![send_answer(question, answer)]),
            None => OverlayOutcome::Open(Box::new(TextPrompt::new(
                "Why not? The model gets your reason (optional)",
                "",
                move |reason| {
                    OverlayOutcome::CloseAndRun(vec![send_answer(question, UserAnswer::No { reason })])
                },
            ))),
        }
    }

    /// The details as lines. A title that does not fit is repeated first, in full.
    fn details(&self, columns: usize) -> Arc<[Line]> {
        let mut known = self.wrapped_details.borrow_mut();
        let version = (columns, self.colors.version());
        if known.0 != version {
            let title = self.title();
            let title = (width(&title) > columns).then(|| Line::styled(ColorRole::Warn, &title));
            let lines = title.into_iter().chain(self.unwrapped_details(columns.saturating_sub(MARK_COLUMNS)));
            *known = (version, lines.flat_map(|line| wrap_marked(&line, columns)).collect());
        }
        known.1.clone()
    }

    /// Only a diff uses the columns, for two texts side by side.
    fn unwrapped_details(&self, columns: usize) -> Vec<Line> {
        let text = |text: &str| visible(text.strip_suffix('\n').unwrap_or(text));
        let Question::Tool(question) = &self.question else { return Vec::new() };
        let because = question.sandbox_denial.iter().flat_map(|because| {
            visible(because).lines().map(|line| Line::styled(ColorRole::Warn, line)).collect::<Vec<_>>()
        });
        let lines = match &question.change {
            ProposedChange::Command { command } => code_lines("bash", &text(command), Some(&self.colors)),
            ProposedChange::Diff { diff, created: true, .. } if diff.is_empty() => {
                vec![Line::styled(ColorRole::Dim, "(empty file)")]
            }
            ProposedChange::Diff { diff, .. } if diff.is_empty() => {
                vec![Line::styled(ColorRole::Dim, "(no changes)")]
            }
            ProposedChange::Diff { path, diff, .. } => {
                let (diff, code) = (text(diff), DiffCode::of_file(path, Some(&self.colors)));
                wide_diff_lines(&diff, columns, code).unwrap_or_else(|| diff_rows(&diff, code))
            }
            ProposedChange::Call { arguments } => {
                let json = serde_json::to_string_pretty(arguments).unwrap_or_default();
                code_lines("json", &visible(&json), Some(&self.colors))
            }
            ProposedChange::Nothing => Vec::new(),
        };
        because.chain(lines).collect()
    }

    /// The question, after the name of the sub-agent that asks.
    fn title(&self) -> String {
        match &self.agent {
            Some(agent) => format!("[{}] {}", visible_line(agent), self.question_text()),
            None => self.question_text(),
        }
    }

    /// The reason comes first, so it stays visible when the rest is truncated.
    fn question_text(&self) -> String {
        let question = match &self.question {
            Question::Tool(question) => question,
            Question::Continue { model_calls } => {
                return format!("The model was called {model_calls} times for this prompt. Continue?");
            }
            Question::Dialog(question) => return visible_line(&question.title),
        };
        let reason = match question.reason {
            AskReason::Writes | AskReason::Runs | AskReason::Sandbox => "Allow",
            AskReason::Outside => "Outside the project: allow",
            AskReason::Guarded => "Programs run from this file: allow",
        };
        let name = visible_line(&question.call.name);
        match &question.change {
            ProposedChange::Diff { path, created: true, .. } => {
                format!("{reason} {name} to create {}?", visible_line(path))
            }
            ProposedChange::Diff { path, .. } => format!("{reason} {name} to change {}?", visible_line(path)),
            ProposedChange::Command { .. } if question.reason == AskReason::Sandbox => {
                format!("{reason} {name} to run this command again, outside the sandbox?")
            }
            ProposedChange::Command { .. } => format!("{reason} {name} to run this command?"),
            _ => format!("{reason} {name}?"),
        }
    }

    /// Whether the answers share one line because the screen has few rows.
    fn is_low(&self, area: OverlayArea) -> bool {
        area.rows < self.answers().len() + 5
    }

    /// The number of detail lines on the screen.
    fn page_height(&self, area: OverlayArea) -> usize {
        let others = if self.is_low(area) { 2 } else { self.answers().len() + 3 };
        area.rows.saturating_sub(others).max(1)
    }

    /// The last scroll position.
    fn last_scroll_position(&self, area: OverlayArea) -> usize {
        self.details(area.columns).len().saturating_sub(self.page_height(area))
    }

    /// Whether the end is on the screen now, or was.
    fn shows_end(&self, area: OverlayArea) -> bool {
        self.is_read || self.first_line >= self.last_scroll_position(area)
    }

    /// If not all lines fit: which ones are shown, and the keys that scroll.
    fn scroll_status(&self, area: OverlayArea) -> Option<String> {
        let (page, last) = (self.page_height(area), self.last_scroll_position(area));
        let from = self.first_line.min(last);
        let keys = match self.shows_end(area) {
            true => "PageUp, PageDown",
            false => "PageDown to the end to allow it",
        };
        (last > 0).then(|| format!("lines {}–{} of {}; {keys}", from + 1, from + page, last + page))
    }

    fn answer_lines(&self, area: OverlayArea) -> Vec<Line> {
        let is_open = self.shows_end(area);
        let answers = self.answers().into_iter().enumerate();
        let lines = answers.map(|(at, (letter, words, answer))| {
            let role = if answer.is_some() && !is_open { ColorRole::Dim } else { ColorRole::Text };
            let line = Line::styled(ColorRole::Accent, if at == self.selected { "› " } else { "  " })
                .with(Style::from(ColorRole::Accent).bold(), &letter.to_string())
                .with(role, &format!("  {words}"));
            if at == self.selected { line.filled(ColorRole::SelectedBg) } else { line }
        });
        lines.collect()
    }

    /// The answers and the scroll position in one line.
    fn short_line(&self, area: OverlayArea) -> Line {
        let answers = self.answers();
        let letters: Vec<String> = answers.iter().map(|(letter, ..)| letter.to_string()).collect();
        let line = Line::styled(Style::from(ColorRole::Accent).bold(), &letters.join("/"))
            .with(ColorRole::Text, &format!(" › {}", answers[self.selected].1));
        match self.scroll_status(area) {
            Some(place) if !self.shows_end(area) => Line::styled(ColorRole::Warn, &place),
            Some(place) => line.with(ColorRole::Dim, &format!(" · {place}")),
            None => line,
        }
    }
}

/// Wraps a line into rows. Marks continuation rows, so that they do not look like separate lines.
fn wrap_marked(line: &Line, columns: usize) -> Vec<Line> {
    let rows = hard_wrap(line, columns.saturating_sub(MARK_COLUMNS)).into_iter().enumerate();
    rows.map(|(at, row)| row.prepend(ColorRole::Dim, if at == 0 { "  " } else { "↳ " })).collect()
}

fn send_answer(question: u64, answer: UserAnswer) -> Action {
    Action::Send(ClientCommand::Answer { question, answer }, CommandPurpose::Answer)
}

impl Overlay for ApprovalPrompt {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        let answers = self.answers();
        let last = self.last_scroll_position(area);
        match (key.code, key.ctrl || key.alt) {
            (KeyCode::Up, false) => self.selected = (self.selected + answers.len() - 1) % answers.len(),
            (KeyCode::Down | KeyCode::Tab, false) => self.selected = (self.selected + 1) % answers.len(),
            (KeyCode::PageUp, _) => {
                self.first_line = self.first_line.min(last).saturating_sub(self.page_height(area));
            }
            (KeyCode::PageDown, _) => self.first_line = (self.first_line + self.page_height(area)).min(last),
            (KeyCode::Home, _) if last > 0 => self.first_line = 0,
            (KeyCode::End, _) if last > 0 => self.first_line = last,
            (KeyCode::Enter, false) => return self.submit_answer(answers[self.selected].2.clone()),
            (KeyCode::Char(typed), false) => {
                let typed = typed.to_ascii_lowercase();
                let answer = answers.into_iter().find(|(letter, ..)| *letter == typed);
                return answer.map_or(OverlayOutcome::Pass, |(.., answer)| self.submit_answer(answer));
            }
            // Escape stops the turn; other keys edit the draft.
            _ => return OverlayOutcome::Pass,
        }
        OverlayOutcome::Stay
    }

    fn shares_draft(&self) -> bool {
        true
    }

    fn answer_letters(&self) -> Vec<char> {
        self.answers().into_iter().map(|(letter, ..)| letter).collect()
    }

    fn is_seen(&self, now: u64) -> bool {
        self.first_shown.is_some_and(|at| now.saturating_sub(at) >= ANSWER_PAUSE_MS)
    }

    fn escape_stops_turn(&self) -> bool {
        true
    }

    fn note_shown(&mut self, area: OverlayArea) {
        if area.columns >= MIN_COLUMNS {
            self.first_shown.get_or_insert(area.now);
            self.is_read = self.shows_end(area);
        }
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let from = self.first_line.min(self.last_scroll_position(area));
        let mut lines = vec![Line::styled(Style::from(ColorRole::Warn).bold(), &self.title())];
        lines.extend(self.details(area.columns).iter().skip(from).take(self.page_height(area)).cloned());
        if self.is_low(area) {
            lines.push(self.short_line(area));
        } else {
            lines.extend(
                self.scroll_status(area).map(|place| Line::styled(ColorRole::Warn, &format!("  {place}"))),
            );
            lines.extend(self.answer_lines(area));
            let keys = [("↑↓", "select"), ("enter", "confirm"), ("esc", "stop the turn")];
            lines.push(key_hints(&keys, area.columns));
        }
        Frame { lines: lines.into_iter().map(|line| line.truncate(area.columns)).collect(), cursor: None }
    }

    fn border(&self) -> ColorRole {
        ColorRole::Warn
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            OverlayEvent::Answered(id) if *id == self.id => OverlayOutcome::Close,
            _ => OverlayOutcome::Stay,
        }
    }
}
