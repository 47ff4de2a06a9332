//! Test support: the interface on an emulated terminal, with scripted sessions.

pub(crate) mod emulator;
pub(crate) mod random;

use std::sync::Arc;

use expect_test::Expect;
use osier_agent::{Event, Live, Navigated, Question, Reply, ToolQuestion};
use osier_session::{CursorId, Event as SessionEvent};
use osier_store::{MemoryStore, Store, Texts};
use osier_testkit::Script;
use osier_tools::approvals::Why;
use osier_tools::{Allowance, Change, ToolCall};
use osier_tree::{Header, Seq};

use crate::key::{Input, Key};
use crate::msg::{Action, Forest, Msg, Path, Purpose};
use crate::screen::{Output, Screen};
use crate::state::{Facts, Reading, Setting, State};
use crate::theme::Theme;
use crate::update::update;
use crate::view::view;

/// The tree of a scripted session, as a tree view gets it.
pub(crate) fn forest(script: &Script) -> Forest {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let texts: Texts = runtime.block_on(async {
        let store = MemoryStore::default();
        let made = store.create(&Header::new("s", 0, "/x"), &script.lines).await.unwrap();
        store.previews("s", made.version).await.unwrap()
    });
    Forest { tree: Arc::new(script.tree.clone()), leaf: script.tree.leaf(), texts: Arc::new(texts) }
}

/// The interface without a real terminal and without an agent.
pub(crate) struct Desk {
    pub(crate) state: State,
    screen: Screen<Vec<u8>>,
    parser: vt100::Parser,
    pub(crate) script: Script,
    /// The actions it returned, except for printing.
    pub(crate) asked: Vec<Action>,
    /// The prompts it added to the history of all sessions.
    pub(crate) remembered: Vec<String>,
}

impl Desk {
    pub(crate) fn new(columns: u16, rows: u16) -> Desk {
        let setting = Setting { directory: "code".to_owned(), cwd: "/code".to_owned(), ..Setting::default() };
        let mut state = State::new(setting, columns.into(), rows.into());
        state.facts = Facts {
            model: "a/model".to_owned(),
            id: "5e551011-0000".to_owned(),
            session: "5e551011".to_owned(),
            ..Facts::default()
        };
        let mut screen = Screen::new(Vec::new(), Theme::dark(), columns.into(), rows.into());
        screen.set_reflows(false);
        let mut harness = Desk {
            state,
            screen,
            parser: vt100::Parser::new(rows, columns, 1000),
            script: Script::default(),
            asked: Vec::new(),
            remembered: Vec::new(),
        };
        harness.draw(Output::default());
        harness
    }

    /// A harness that shows the path of a scripted session.
    pub(crate) fn on(columns: u16, rows: u16, script: &str) -> Desk {
        let mut harness = Desk::new(columns, rows);
        harness.script = Script::run(script);
        harness.show_path();
        harness
    }

    pub(crate) fn show_path(&mut self) {
        let path = self.script.tree.path(self.script.tree.leaf());
        let lines = path.iter().map(|seq| self.script.lines[seq.index()].clone()).collect();
        self.state.facts.depth = path.len();
        self.hear(Msg::Path(Path { lines, entries: self.script.lines.len(), ..Path::default() }));
    }

    pub(crate) fn open_tree(&mut self) {
        self.state.reading.get_or_insert(Reading { fork: false, since: 0 });
        let forest = forest(&self.script);
        self.hear(Msg::Tree(Box::new(forest)));
    }

    /// Delivers the tree as if it was read again.
    pub(crate) fn grow_tree(&mut self) {
        let forest = forest(&self.script);
        self.hear(Msg::Grown(Box::new(forest)));
    }

    pub(crate) fn hear(&mut self, msg: Msg) {
        let actions = update(&mut self.state, msg);
        let mut output = Output::default();
        for action in actions {
            match action {
                Action::Print(pieces) => output.pieces.extend(pieces),
                Action::Show(pieces) => output = Output { pieces, replaces: true },
                Action::Redraw => self.screen.clear().unwrap(),
                Action::Remember(text) => self.remembered.push(text),
                action => self.asked.push(action),
            }
        }
        self.draw(output);
    }

    pub(crate) fn live(&mut self, live: Live) {
        self.hear(Msg::Event(Event::Live(live)));
    }

    pub(crate) fn session(&mut self, event: SessionEvent) {
        self.hear(Msg::Event(Event::Session(event)));
    }

    /// Runs script steps and reports the new entries.
    pub(crate) fn play(&mut self, steps: &str) {
        let from = self.script.lines.len();
        self.script.play(steps);
        self.announce(from);
    }

    /// Reports the entries from `from` on as committed.
    pub(crate) fn announce(&mut self, from: usize) {
        for at in from..self.script.lines.len() {
            let seq = Seq::new(at);
            let id: Arc<str> = self.script.tree.id(seq).as_str().into();
            let draft_id = self.state.draft.id.clone();
            let line = self.script.lines[at].clone().into();
            let cursor = Some(CursorId::MAIN);
            self.session(SessionEvent::Committed { seq, id, draft_id, foreign: false, cursor, line });
        }
    }

    /// Lets time pass without input.
    pub(crate) fn wait(&mut self, milliseconds: u64) {
        self.state.now += milliseconds;
        if self.state.due().is_some_and(|due| due <= self.state.now) {
            self.hear(Msg::Timer);
        }
    }

    /// Presses keys by name; `space` and `'text'` are typed.
    pub(crate) fn press(&mut self, keys: &str) {
        for word in keys.split(' ').filter(|word| !word.is_empty()) {
            self.state.now += 100;
            match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
                Some(text) => text.chars().for_each(|ch| self.key(Key::from(crate::key::Code::Char(ch)))),
                None if word == "space" => self.key(Key::from(crate::key::Code::Char(' '))),
                None => self.key(Key::parse(word).unwrap_or_else(|| panic!("unknown key {word}"))),
            }
        }
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.hear(Msg::Input(Input::Paste(text.to_owned())));
        self.press("enter");
    }

    fn key(&mut self, key: Key) {
        self.hear(Msg::Input(Input::Key(key)));
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(rows, columns);
        self.screen.resize(columns.into(), rows.into()).unwrap();
        self.hear(Msg::Input(Input::Resize(columns, rows)));
    }

    pub(crate) fn moved(&mut self, moved: Navigated) {
        self.hear(Msg::Replied(Purpose::Navigate, Box::new(Ok(Reply::Navigated(moved)))));
    }

    fn draw(&mut self, output: Output) {
        let frame = view(&self.state);
        assert!(frame.lines.len() <= self.state.rows, "the frame is too high");
        for line in &frame.lines {
            assert!(line.width() <= self.state.columns, "the line is too wide: {}", line.plain());
        }
        self.screen.draw(output, &frame, self.state.look(), self.state.is_covered()).unwrap();
        let bytes = std::mem::take(self.screen.out());
        self.parser.process(&bytes);
        self.state.drawn();
    }

    pub(crate) fn text(&self) -> String {
        let columns = self.parser.screen().size().1;
        let rows: Vec<String> =
            self.parser.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned() + "\n"
    }

    #[track_caller]
    pub(crate) fn check(&self, expected: Expect) {
        expected.assert_eq(&self.text());
    }

    /// The actions since the last call, in their debug format.
    pub(crate) fn asked(&mut self) -> String {
        let asked: Vec<String> = self.asked.drain(..).map(|action| format!("{action:?}\n")).collect();
        asked.concat()
    }
}

pub(crate) fn question(command: &str, offers: &[&str]) -> Question {
    question_about(Change::Command { command: command.to_owned() }, offers)
}

pub(crate) fn question_about(what: Change, offers: &[&str]) -> Question {
    let arguments = match &what {
        Change::Command { command } => serde_json::json!({ "command": command }),
        _ => serde_json::json!({}),
    };
    Question::Tool(ToolQuestion {
        call: ToolCall { id: "c1".into(), name: "bash".into(), arguments },
        what,
        why: Why::Runs,
        because: None,
        offers: offers.iter().map(|offer| Allowance::parse(offer)).collect(),
    })
}
