//! Asks whether a tool may run, or a long turn continue. Shows exactly what would run or change, and takes the answer.

use osier_agent::{Answer, Command, Question};
use osier_tools::approvals::Why;
use osier_tools::{Allowance, Change};

use super::{ALONE, Ask, News, Outcome, Overlay, Room};
use crate::key::{Code, Key};
use crate::markdown::highlight;
use crate::msg::{Action, Purpose};
use crate::screen::Frame;
use crate::text::{Line, Style, clean, hard_wrap};
use crate::theme::Role;

/// See the module.
#[derive(Debug)]
pub(crate) struct Approve {
    id: u64,
    question: Question,
    at: usize,
    /// The first line shown of what would happen.
    from: usize,
    /// When it was first drawn.
    shown: Option<u64>,
}

impl Approve {
    pub(crate) fn new(id: u64, question: Question) -> Approve {
        Approve { id, question, at: 0, from: 0, shown: None }
    }

    /// The answers: a letter, words, and what is sent. No answer means: ask why not.
    fn answers(&self) -> Vec<(char, String, Option<Answer>)> {
        let question = match &self.question {
            Question::Tool(question) => question,
            Question::Continue { .. } => {
                return vec![
                    ('y', "Yes, continue".to_owned(), Some(Answer::Once)),
                    ('n', "No, stop here".to_owned(), Some(Answer::No(String::new()))),
                ];
            }
        };
        let mut answers = vec![('y', "Yes, once".to_owned(), Some(Answer::Once))];
        for offer in &question.offers {
            let (letter, words) = match offer {
                Allowance::Outside(_) => ('a', "Yes, always outside the sandbox".to_owned()),
                Allowance::Command(name) if offer.is_family() => {
                    ('p', format!("Yes, always `{name}` with harmless arguments"))
                }
                Allowance::Command(_) => ('p', "Yes, always exactly this command".to_owned()),
                Allowance::Tool(name) => ('a', format!("Yes, always {}", clean(name))),
            };
            answers.push((letter, words, Some(Answer::Always(offer.clone()))));
        }
        answers.push(('n', "No, and continue without it".to_owned(), None));
        answers
    }

    fn give(&self, answer: Option<Answer>) -> Outcome {
        let question = self.id;
        match answer {
            Some(answer) => Outcome::End(vec![send(question, answer)]),
            None => Outcome::Open(Box::new(Ask::new(
                "Why not? The model is told (may be empty)",
                "",
                move |why| Outcome::End(vec![send(question, Answer::No(why))]),
            ))),
        }
    }

    /// What would happen, line by line.
    fn what(&self, columns: usize) -> Vec<Line> {
        let room = columns.saturating_sub(2);
        let Question::Tool(question) = &self.question else { return Vec::new() };
        let lines = match &question.what {
            Change::Command { command } => highlight(clean(command).trim_end(), "bash"),
            Change::Diff { diff, .. } => highlight(clean(diff).trim_end(), "diff"),
            Change::Call { arguments } => {
                let json = serde_json::to_string_pretty(arguments).unwrap_or_default();
                highlight(&clean(&json), "json")
            }
            Change::Nothing => Vec::new(),
        };
        let because = question.because.iter().map(|because| Line::of(Role::Warn, &clean(because)));
        let lines: Vec<Line> = because.chain(lines).collect();
        let lines = lines.iter().flat_map(|line| hard_wrap(line, room));
        lines.map(|line| line.behind(Role::Text, "  ")).collect()
    }

    fn title(&self) -> Line {
        let question = match &self.question {
            Question::Tool(question) => question,
            Question::Continue { model_calls } => {
                let text = format!("The model was called {model_calls} times for this prompt. Continue?");
                return Line::of(Style::from(Role::Warn).bold(), &text);
            }
        };
        let why = match question.why {
            Why::Writes | Why::Runs | Why::Sandbox => "",
            Why::Outside => " (outside the project)",
            Why::Guarded => " (programs are run from this file)",
        };
        let name = &question.call.name;
        let what = match &question.what {
            Change::Diff { path, created: true, .. } => format!("Allow {name} to create {path}?"),
            Change::Diff { path, .. } => format!("Allow {name} to change {path}?"),
            Change::Command { .. } if question.why == Why::Sandbox => {
                format!("Allow {name} to run this command again, outside the sandbox?")
            }
            Change::Command { .. } => format!("Allow {name} to run this command?"),
            _ => format!("Allow {name}?"),
        };
        Line::of(Style::from(Role::Warn).bold(), &what).with(Role::Dim, why)
    }

    fn page(&self, room: Room) -> usize {
        room.rows.saturating_sub(self.answers().len() + 3).max(1)
    }
}

fn send(question: u64, answer: Answer) -> Action {
    Action::Send(Command::Answer { question, answer }, Purpose::Answer)
}

impl Overlay for Approve {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        let answers = self.answers();
        let most = self.what(room.columns).len().saturating_sub(self.page(room));
        match (key.code, key.ctrl || key.alt) {
            (Code::Up, false) => self.at = (self.at + answers.len() - 1) % answers.len(),
            (Code::Down | Code::Tab, false) => self.at = (self.at + 1) % answers.len(),
            (Code::PageUp, _) => self.from = self.from.saturating_sub(self.page(room)),
            (Code::PageDown, _) => self.from = (self.from + self.page(room)).min(most),
            (Code::Enter, false) => return self.give(answers[self.at].2.clone()),
            (Code::Char(typed), false) => {
                let typed = typed.to_ascii_lowercase();
                let answer = answers.into_iter().find(|(letter, ..)| *letter == typed);
                return answer.map_or(Outcome::Pass, |(.., answer)| self.give(answer));
            }
            // Escape stops the turn, and the rest edits the draft.
            _ => return Outcome::Pass,
        }
        Outcome::Stay
    }

    fn shares_draft(&self) -> bool {
        true
    }

    fn is_answer(&self, key: Key, now: u64, draft_is_empty: bool) -> bool {
        let is_seen = self.shown.is_some_and(|at| now.saturating_sub(at) >= ALONE);
        let is_answer = match key.typed() {
            Some(typed) => self.answers().iter().any(|(letter, ..)| *letter == typed.to_ascii_lowercase()),
            // Enter sends a draft, if there is one.
            None => key == Code::Enter.into() && draft_is_empty,
        };
        is_seen && is_answer
    }

    fn shown(&mut self, now: u64) {
        self.shown.get_or_insert(now);
    }

    fn view(&self, room: Room) -> Frame {
        let what = self.what(room.columns);
        let page = self.page(room);
        let hidden = what.len().saturating_sub(page);
        let mut lines = vec![self.title()];
        lines.extend(what.into_iter().skip(self.from).take(page));
        if hidden > 0 {
            let seen = format!(
                "  lines {}–{} of {}; PageUp, PageDown",
                self.from + 1,
                self.from + page,
                page + hidden
            );
            lines.push(Line::of(Role::Warn, &seen));
        }
        for (at, (letter, words, _)) in self.answers().into_iter().enumerate() {
            let line = Line::of(Role::Accent, if at == self.at { "› " } else { "  " })
                .with(Style::from(Role::Accent).bold(), &letter.to_string())
                .with(Role::Text, &format!("  {words}"));
            lines.push(if at == self.at { line.on(Role::SelectedBg) } else { line });
        }
        Frame { lines: lines.into_iter().map(|line| line.cut(room.columns)).collect(), cursor: None }
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        match news {
            News::Answered(id) if *id == self.id => Outcome::Close,
            _ => Outcome::Stay,
        }
    }
}
