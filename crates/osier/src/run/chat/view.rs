//! The conversation on a plain terminal: what is said as it comes, tools in a line each, and nothing that moves about.

use osier_agent::{Event, Finished, Live};
use osier_session::Event as SessionEvent;
use osier_tree::entry::{Entry, read_entry};
use osier_tree::projection::preview::{Previews, inert, one_line};
use osier_tree::{Kind, Role};
use serde_json::Value;

use crate::out::{Style, painted};
use crate::run::answer::{self, Answer};
use crate::run::{card, told};

/// How many lines of a diff, and of the end of a command's output, are shown.
const DIFF: usize = 60;
const OUTPUT: usize = 8;

/// Whether there are colours.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    pub(super) fn on(self, style: Style, text: &str) -> String {
        painted(self.0, style, text)
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct View {
    answer: Answer,
    previews: Previews,
    home: Option<String>,
    pub(super) paint: Paint,
    /// The next message of the user is on the screen already: he typed it there.
    pub(super) typed: bool,
    /// Calls that were asked about: what they change was seen then.
    pub(super) asked: Vec<String>,
    /// What this process stores now is shown by whoever asked for it.
    pub(super) quiet: bool,
    /// Output of the user's command was shown while it ran.
    ran: bool,
}

impl View {
    pub(super) fn new(home: Option<&str>, paint: Paint) -> View {
        View {
            answer: Answer::new(true),
            previews: Previews::new(home),
            home: home.map(str::to_owned),
            paint,
            typed: false,
            asked: Vec::new(),
            quiet: false,
            ran: false,
        }
    }

    /// What an event adds to the screen.
    pub(super) fn take(&mut self, event: &Event) -> String {
        match event {
            Event::Session(SessionEvent::Committed { line, foreign, .. }) => {
                let said = self.answer.take(event);
                let entry = read_entry(line).ok().map(|entry| self.entry(&entry, *foreign));
                said + &self.below(entry.unwrap_or_default())
            }
            Event::Session(SessionEvent::Draft { delta, .. })
                if delta.starts_with(r#"{"type":"thinking_start""#) =>
            {
                let thinking = self.paint.on(Style::Dim, "thinking …");
                self.below(thinking + "\n")
            }
            Event::Session(SessionEvent::ContinuedElsewhere { .. }) => {
                self.remark("another program goes on from here; what you say next makes a branch")
            }
            Event::Session(_) => self.answer.take(event),
            Event::Live(Live::SummaryText { text }) => {
                let text = self.answer.aside(text);
                self.paint.on(Style::Dim, &text)
            }
            Event::Live(live) => {
                let text = self.live(live);
                self.below(text)
            }
        }
    }

    /// A line between the others.
    pub(super) fn remark(&mut self, text: &str) -> String {
        let line = self.paint.on(Style::Dim, &inert(text));
        self.below(line + "\n")
    }

    pub(super) fn complaint(&mut self, text: &str) -> String {
        let line = self.paint.on(Style::Bad, &inert(text));
        self.below(line + "\n")
    }

    /// Text of its own, which may be long.
    pub(super) fn aside(&mut self, style: Style, text: &str) -> String {
        let text = self.paint.on(style, &inert(text));
        self.below(text + "\n")
    }

    /// Text that begins at the start of a line.
    pub(super) fn below(&mut self, text: String) -> String {
        if text.is_empty() { text } else { self.answer.break_line() + &text }
    }

    fn live(&mut self, live: &Live) -> String {
        match live {
            Live::BashOutput { text, .. } => {
                self.ran = true;
                inert(text).into_owned()
            }
            Live::TurnStarted => {
                self.answer.begin();
                String::new()
            }
            Live::TurnEnded { finished, error } => self.ended(*finished, error.as_deref()),
            Live::Queue { steering, follow_up } if steering.len() + follow_up.len() > 0 => {
                let waiting = format!("waiting to be said: {}", steering.len() + follow_up.len());
                self.paint.on(Style::Dim, &waiting) + "\n"
            }
            live => {
                let line = told::line(&Event::Live(live.clone()), self.home.as_deref());
                line.map(|line| self.paint.on(Style::Dim, &line) + "\n").unwrap_or_default()
            }
        }
    }

    fn ended(&self, finished: Option<Finished>, error: Option<&str>) -> String {
        let (style, text) = match (finished, error) {
            (Some(Finished::Done), _) => return String::new(),
            (Some(Finished::Cancelled), _) => (Style::Dim, "stopped".to_owned()),
            (Some(Finished::CutOff), _) => {
                (Style::Dim, "cut off at the model's output limit; say `go on` for the rest".to_owned())
            }
            (Some(Finished::Failed) | None, error) => {
                (Style::Bad, inert(error.unwrap_or("it failed")).into_owned())
            }
        };
        self.paint.on(style, &text) + "\n"
    }

    fn entry(&mut self, entry: &Entry<'_>, foreign: bool) -> String {
        let preview = self.previews.preview(entry);
        let dim = |text: &str| self.paint.on(Style::Dim, text) + "\n";
        match (entry.kind, entry.role) {
            (Kind::Message, Role::User) if std::mem::take(&mut self.typed) => String::new(),
            (Kind::Message, Role::Assistant | Role::System) => String::new(),
            // A turn begins with what is in force; only a change is news.
            (Kind::ModelChange | Kind::ThinkingLevelChange, _) if self.typed => String::new(),
            (Kind::Message, Role::ToolResult) => {
                answer::message(entry.line).map(|result| self.result(&result)).unwrap_or_default()
            }
            (Kind::Message, Role::BashExecution) => {
                answer::message(entry.line).map(|ran| self.ran(&ran)).unwrap_or_default()
            }
            (Kind::Compaction | Kind::BranchSummary | Kind::Backtrack | Kind::Leaf, _)
                if self.quiet && !foreign =>
            {
                String::new()
            }
            (Kind::Compaction | Kind::BranchSummary | Kind::Backtrack, _) if !foreign => {
                card::of(entry).map(|card| dim(&card.text())).unwrap_or_default()
            }
            (Kind::Custom | Kind::Config | Kind::Label | Kind::SessionInfo | Kind::Usage, _) => String::new(),
            _ if foreign => dim(&format!("elsewhere: {preview}")),
            _ => dim(&preview),
        }
    }

    /// The result of a tool: what changed, how a command ended, or what went wrong. The rest is for the model.
    fn result(&self, result: &Value) -> String {
        let details = &result["details"];
        let text = answer::text_of(result);
        if let Some(code) = details["exitCode"].as_i64() {
            let output = last_lines(&text);
            let end =
                self.paint.on(if code == 0 { Style::Dim } else { Style::Bad }, &format!("  exit {code}\n"));
            return self.paint.on(Style::Dim, &output) + &end;
        }
        if result["isError"] == true {
            let first = one_line(text.lines().next().unwrap_or_default(), 200);
            return self.paint.on(Style::Bad, &format!("  {first}")) + "\n";
        }
        let was_seen =
            result["toolCallId"].as_str().is_some_and(|id| self.asked.iter().any(|asked| asked == id));
        details["diff"].as_str().filter(|_| !was_seen).map(|text| diff(text, self.paint)).unwrap_or_default()
    }

    /// A command of the user's own, which was seen while it ran.
    fn ran(&mut self, ran: &Value) -> String {
        let output = match std::mem::take(&mut self.ran) {
            true => String::new(),
            false => ran["output"].as_str().map(|text| format!("{}\n", inert(text))).unwrap_or_default(),
        };
        let mut end = match ran["exitCode"].as_i64() {
            Some(code) => format!("exit {code}"),
            None => "stopped".to_owned(),
        };
        if ran["excludeFromContext"] == true {
            end += ", and the model will not see it";
        }
        let output = if output.trim().is_empty() { String::new() } else { output };
        output + &self.paint.on(Style::Dim, &end) + "\n"
    }
}

fn last_lines(text: &str) -> String {
    let text = inert(text);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let from = lines.len().saturating_sub(OUTPUT);
    let cut = if from > 0 { format!("  … {from} lines before\n") } else { String::new() };
    lines[from..].iter().fold(cut, |all, line| all + "  " + line + "\n")
}

/// A diff set in, its lines in colours.
pub(super) fn diff(text: &str, paint: Paint) -> String {
    let text = inert(text);
    let mut drawn = String::new();
    for line in text.lines().take(DIFF) {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Active,
            Some(b'-') => Style::Bad,
            _ => Style::Dim,
        };
        drawn += &format!("  {}\n", paint.on(style, line));
    }
    match text.lines().count().saturating_sub(DIFF) {
        0 => drawn,
        more => drawn + &paint.on(Style::Dim, &format!("  … {more} more lines")) + "\n",
    }
}
