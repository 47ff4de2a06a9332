//! May a tool do this? Shows exactly what would run or change, and takes the answer.

use osier_agent::{Answer, Command, Question};
use osier_tools::approvals::Why;
use osier_tools::{Allowance, Change};

use super::{Ask, News, Outcome, Overlay, Room};
use crate::key::{Code, Key};
use crate::markdown::highlight;
use crate::msg::{Action, Purpose};
use crate::screen::Frame;
use crate::text::{Line, Style, clean, hard_wrap};
use crate::theme::Role;

/// Whoever was typing when the question came has not answered it: keys count only after so many milliseconds without one.
const UNSEEN: u64 = 500;
/// The same if there is something in the editor: between two words people think.
const WRITING: u64 = 1500;

/// See the module.
#[derive(Debug)]
pub(crate) struct Approve {
    id: u64,
    question: Question,
    at: usize,
    /// The first line shown of what would happen.
    from: usize,
    /// When it came up, or when a key last came too early.
    since: u64,
    /// Something was being written. It goes on where it was.
    writing: bool,
}

impl Approve {
    pub(crate) fn new(id: u64, question: Question, now: u64, writing: bool) -> Approve {
        Approve { id, question, at: 0, from: 0, since: now, writing }
    }

    /// Whether a key was meant for the editor. Then the next one is not an answer either.
    fn is_early(&mut self, key: Key, now: u64) -> bool {
        let pause = if self.writing { WRITING } else { UNSEEN };
        let may_answer = key.typed().is_some() || matches!(key.code, Code::Enter | Code::Backspace);
        let is_early = may_answer && now < self.since + pause;
        if is_early {
            self.since = now;
        }
        is_early
    }

    /// The answers: a letter, words, and what is sent. No answer means: ask why not.
    fn answers(&self) -> Vec<(char, String, Option<Answer>)> {
        let mut answers = vec![('y', "yes, once".to_owned(), Some(Answer::Once))];
        for offer in &self.question.offers {
            let (letter, words) = match offer {
                Allowance::Command(_) => {
                    let prefix = offer.to_string();
                    ('p', format!("yes, always `{}`", clean(prefix.trim_start_matches("bash:"))))
                }
                Allowance::Tool(name) => ('a', format!("yes, always {}", clean(name))),
            };
            answers.push((letter, words, Some(Answer::Always(offer.clone()))));
        }
        answers.push(('n', "no, and tell it why".to_owned(), None));
        answers
    }

    fn give(&self, answer: Option<Answer>) -> Outcome {
        let question = self.id;
        match answer {
            Some(answer) => Outcome::End(vec![send(question, answer)]),
            None => Outcome::Open(Box::new(Ask::new("Why not? (may be empty)", "", move |why| {
                Outcome::End(vec![send(question, Answer::No(why))])
            }))),
        }
    }

    /// What would happen, line by line.
    fn what(&self, columns: usize) -> Vec<Line> {
        let room = columns.saturating_sub(2);
        let lines = match &self.question.what {
            Change::Command { command } => highlight(clean(command).trim_end(), "bash"),
            Change::Diff { diff, .. } => highlight(clean(diff).trim_end(), "diff"),
            Change::Call { arguments } => {
                let json = serde_json::to_string_pretty(arguments).unwrap_or_default();
                highlight(&clean(&json), "json")
            }
            Change::Nothing => Vec::new(),
        };
        let lines = lines.iter().flat_map(|line| hard_wrap(line, room));
        lines.map(|line| line.behind(Role::Text, "  ")).collect()
    }

    fn title(&self) -> Line {
        let why = match self.question.why {
            Why::Writes => "it changes a file",
            Why::Runs => "it runs a command",
            Why::Outside => "it changes a file outside the project",
            Why::Guarded => "it changes a file that makes programs run",
        };
        let name = &self.question.call.name;
        let what = match &self.question.what {
            Change::Diff { path, created: true, .. } => format!("{name} creates {path}"),
            Change::Diff { path, .. } => format!("{name} changes {path}"),
            _ => name.clone(),
        };
        Line::of(Style::from(Role::Warn).bold(), &format!("May it do this? {what}"))
            .with(Role::Dim, &format!(" ({why})"))
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
        if self.is_early(key, room.now) {
            let goes_on = self.writing && key.code != Code::Enter;
            return if goes_on { Outcome::Pass } else { Outcome::Stay };
        }
        let answers = self.answers();
        let most = self.what(room.columns).len().saturating_sub(self.page(room));
        match (key.code, key.ctrl) {
            // Whoever cancels stops the turn: that is for the one below.
            (Code::Char('c'), true) => return Outcome::Pass,
            (Code::Escape, _) => return self.give(Some(Answer::No(String::new()))),
            (Code::Up, _) => self.at = (self.at + answers.len() - 1) % answers.len(),
            (Code::Down | Code::Tab, _) => self.at = (self.at + 1) % answers.len(),
            (Code::PageUp, _) => self.from = self.from.saturating_sub(self.page(room)),
            (Code::PageDown, _) => self.from = (self.from + self.page(room)).min(most),
            (Code::Home, _) => self.from = 0,
            (Code::End, _) => self.from = most,
            (Code::Enter, _) => return self.give(answers[self.at].2.clone()),
            (Code::Char(typed), false) => {
                let typed = typed.to_ascii_lowercase();
                if let Some((.., answer)) = answers.into_iter().find(|(letter, ..)| *letter == typed) {
                    return self.give(answer);
                }
            }
            _ => {}
        }
        Outcome::Stay
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
