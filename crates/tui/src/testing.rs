//! Test support: the interface on an emulated terminal, with scripted sessions.

pub(crate) mod emulator;
pub(crate) mod random;

use std::sync::Arc;

use expect_test::Expect;
use osier_protocol::query::SessionStatus;
use osier_protocol::{
    AskReason, ClientEvent, CommandReply, EntryEvent, EntryId, MoveEvent, MoveReason, MoveReply, Question,
    ToolQuestion, TreeSnapshot,
};
use osier_store::{MemoryStore, PreviewTexts, Store};
use osier_testkit::ScriptedSession;
use osier_tools::{Allowance, ProposedChange, ToolCall};
use osier_tree::entry::parse_entry;
use osier_tree::scan::RawJson;
use osier_tree::{EntryKind, EntryReason, Header, Seq};

use crate::key::{Input, Key};
use crate::msg::{Action, CommandPurpose, Msg, PathTail};
use crate::screen::{Screen, ScreenOutput};
use crate::state::{TreeRequest, UiConfig, UiState};
use crate::theme::Theme;
use crate::update::update;
use crate::view::view;

/// The tree of a scripted session, as a tree view gets it.
pub(crate) fn tree_snapshot(script: &ScriptedSession) -> TreeSnapshot {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let texts: PreviewTexts = runtime.block_on(async {
        let store = MemoryStore::default();
        let made = store.create(&Header::new("s", 0, "/x"), &script.lines).await.unwrap();
        store.previews("s", made.version).await.unwrap()
    });
    TreeSnapshot::new(Arc::new(script.tree.clone()), script.tree.leaf(), Arc::new(texts))
}

/// The interface without a real terminal and without an agent.
pub(crate) struct Harness {
    pub(crate) state: UiState,
    screen: Screen<Vec<u8>>,
    parser: vt100::Parser,
    pub(crate) script: ScriptedSession,
    /// The actions it returned, except for printing.
    pub(crate) actions: Vec<Action>,
    /// The prompts it added to the history of all sessions.
    pub(crate) added_to_history: Vec<String>,
}

impl Harness {
    pub(crate) fn new(columns: u16, rows: u16) -> Harness {
        let config =
            UiConfig { directory: "code".to_owned(), cwd: "/code".to_owned(), ..UiConfig::default() };
        let mut state = UiState::new(config, columns.into(), rows.into());
        state.status = SessionStatus {
            model: "a/model".to_owned(),
            id: "5e551011-0000".into(),
            short_id: "5e551011".to_owned(),
            approval_mode: None,
            ..SessionStatus::default()
        };
        let mut screen = Screen::new(Vec::new(), Theme::dark(), columns.into(), rows.into());
        screen.set_reflows(false);
        let mut harness = Harness {
            state,
            screen,
            parser: vt100::Parser::new(rows, columns, 1000),
            script: ScriptedSession::default(),
            actions: Vec::new(),
            added_to_history: Vec::new(),
        };
        harness.draw(ScreenOutput::default());
        harness
    }

    /// A harness that shows the path of a scripted session.
    pub(crate) fn with_session(columns: u16, rows: u16, script: &str) -> Harness {
        let mut harness = Harness::new(columns, rows);
        harness.script = ScriptedSession::run(script);
        harness.show_path();
        harness
    }

    pub(crate) fn show_path(&mut self) {
        let path = self.script.tree.path(self.script.tree.leaf());
        let lines = path.iter().map(|seq| self.script.lines[seq.index()].clone().into()).collect();
        self.state.status.depth = path.len();
        self.update(Msg::Path(PathTail {
            lines,
            log_entries: self.script.lines.len(),
            ..PathTail::default()
        }));
    }

    pub(crate) fn open_tree(&mut self) {
        self.state.tree_request.get_or_insert(TreeRequest { fork: false, entry: None, since: 0 });
        let snapshot = tree_snapshot(&self.script);
        self.update(Msg::Tree(Box::new(snapshot)));
    }

    /// Delivers the tree as if it was read again.
    pub(crate) fn refresh_tree(&mut self) {
        let snapshot = tree_snapshot(&self.script);
        self.update(Msg::TreeChanged(Box::new(snapshot)));
    }

    pub(crate) fn update(&mut self, msg: Msg) {
        let actions = update(&mut self.state, msg);
        let mut output = ScreenOutput::default();
        for action in actions {
            match action {
                Action::Print(pieces) => output.pieces.extend(pieces),
                Action::Show(pieces) => output = ScreenOutput { pieces, replaces_history: true },
                Action::Redraw => self.screen.clear().unwrap(),
                Action::AddToHistory(text) => self.added_to_history.push(text),
                action => self.actions.push(action),
            }
        }
        self.draw(output);
    }

    pub(crate) fn event(&mut self, event: ClientEvent) {
        self.update(Msg::Event(event));
    }

    /// Runs script steps and reports the new entries.
    pub(crate) fn run_steps(&mut self, steps: &str) {
        let from = self.script.lines.len();
        self.script.run_steps(steps);
        self.commit_from(from);
    }

    /// Reports the entries from `from` on as committed.
    pub(crate) fn commit_from(&mut self, from: usize) {
        for at in from..self.script.lines.len() {
            let entry = self.entry_event(at);
            let moved = move_event(&entry);
            self.event(ClientEvent::Entry(entry));
            moved.into_iter().for_each(|moved| self.event(ClientEvent::Moved(moved)));
        }
    }

    pub(crate) fn entry_event(&self, at: usize) -> EntryEvent {
        EntryEvent {
            seq: at,
            generation: None,
            id: self.script.tree.id(Seq::new(at)).to_entry_id(),
            draft_id: self.state.reply.id.clone(),
            foreign: false,
            off_path: false,
            is_hook_message: false,
            entry: self.script.lines[at].clone().into(),
        }
    }

    /// Lets time pass without input.
    pub(crate) fn wait(&mut self, milliseconds: u64) {
        self.state.now += milliseconds;
        if self.state.timer_due().is_some_and(|due| due <= self.state.now) {
            self.update(Msg::Timer);
        }
    }

    /// Presses keys by name; `space` and `'text'` are typed.
    pub(crate) fn press(&mut self, keys: &str) {
        for word in keys.split(' ').filter(|word| !word.is_empty()) {
            self.state.now += 100;
            match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
                Some(text) => text.chars().for_each(|ch| self.key(Key::from(crate::key::KeyCode::Char(ch)))),
                None if word == "space" => self.key(Key::from(crate::key::KeyCode::Char(' '))),
                None => self.key(Key::parse(word).unwrap_or_else(|| panic!("unknown key {word}"))),
            }
        }
    }

    pub(crate) fn submit(&mut self, text: &str) {
        self.update(Msg::Input(Input::Paste(text.to_owned())));
        self.press("enter");
    }

    pub(crate) fn key(&mut self, key: Key) {
        self.update(Msg::Input(Input::Key(key)));
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(rows, columns);
        self.screen.resize(columns.into(), rows.into()).unwrap();
        self.update(Msg::Input(Input::Resize(columns, rows)));
    }

    pub(crate) fn moved(&mut self, moved: MoveReply) {
        self.update(Msg::Replied(CommandPurpose::Navigate, Box::new(Ok(CommandReply::Moved(moved)))));
    }

    fn draw(&mut self, output: ScreenOutput) {
        let frame = view(&self.state);
        assert!(frame.lines.len() <= self.state.rows, "the frame is too high");
        for line in &frame.lines {
            assert!(line.width() <= self.state.columns, "the line is too wide: {}", line.plain());
        }
        self.screen.draw(output, &frame, self.state.render_options(), self.state.is_covered()).unwrap();
        let bytes = std::mem::take(self.screen.out());
        self.parser.process(&bytes);
        self.state.note_drawn();
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
    pub(crate) fn take_actions(&mut self) -> String {
        let actions: Vec<String> = self.actions.drain(..).map(|action| format!("{action:?}\n")).collect();
        actions.concat()
    }
}

/// The move that an entry makes, as the agent announces it.
fn move_event(event: &EntryEvent) -> Option<MoveEvent> {
    let entry = parse_entry(event.entry.bytes()).ok().filter(|entry| entry.kind == EntryKind::Leaf)?;
    let from = entry.get("data").and_then(|data| data.get("fromId")).and_then(RawJson::text);
    Some(MoveEvent {
        seq: Some(event.seq),
        new_leaf_id: entry.parent.as_deref().map(EntryId::from),
        old_leaf_id: from.as_deref().map(EntryId::from),
        reason: match entry.reason {
            EntryReason::Undo => MoveReason::Undo,
            EntryReason::Redo => MoveReason::Redo,
            _ => MoveReason::Move,
        },
        summary_entry: None,
        from_hook: false,
    })
}

pub(crate) fn command_question(command: &str, offers: &[&str]) -> Question {
    change_question(ProposedChange::Command { command: command.to_owned() }, offers)
}

pub(crate) fn change_question(what: ProposedChange, offers: &[&str]) -> Question {
    let arguments = match &what {
        ProposedChange::Command { command } => serde_json::json!({ "command": command }),
        _ => serde_json::json!({}),
    };
    Question::Tool(ToolQuestion {
        call: ToolCall { id: "c1".into(), name: "bash".into(), arguments },
        change: what,
        reason: AskReason::Runs,
        sandbox_denial: None,
        allowances: offers.iter().map(|offer| Allowance::parse(offer)).collect(),
    })
}
