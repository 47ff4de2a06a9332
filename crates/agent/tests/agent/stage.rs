//! Small plays about trees: a script goes in; the tree before and after, what the model would see then, and what came of each
//! step come out.
//!
//! A line of a script is a step, or a step with replies of the model: `say hello > hi`. Steps before `---` set the scene.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use expect_test::Expect;
use osier_agent::gates::Gates;
use osier_agent::{Client, Command, Compacting, Event, Finished, Live, Navigation, Parts, Reply};
use osier_model::scripted::{Scripted, Turn};
use osier_model::{Failure, ModelInfo, StopReason, ThinkingLevel};
use osier_session::{Clock, Durability, Env, Event as SessionEvent, Ids, Session};
use osier_store::{MemoryStore, Store, StoreError};
use osier_testkit::{Script, draw};
use osier_tools::Mode;
use osier_tools::user_bash::UserCommand;
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::scan::Raw;
use osier_tree::{Header, Kind, Seq, summary};
use serde_json::json;

use crate::desk::Desk;
use crate::picture::{message, set_in, table, told_to_summarizer};

/// One second later each time it is asked.
#[derive(Debug, Default)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> i64 {
        1_767_225_600_000 + self.0.fetch_add(1000, Ordering::Relaxed)
    }
}

/// `00000001`, `00000002`, …
#[derive(Debug, Default)]
struct Counted(AtomicUsize);

impl Ids for Counted {
    fn entry(&self) -> String {
        format!("{:08}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn session(&self) -> String {
        format!("session-{}", self.entry())
    }
}

/// A process with a time and ids of its own, which waits for no disk.
pub(crate) fn env() -> Env {
    let (clock, ids) = (Arc::new(Ticks::default()), Arc::new(Counted::default()));
    Env { clock, ids, durability: Durability::Os, ..Env::default() }
}

/// See the module.
pub(crate) struct Stage {
    pub(crate) desk: Desk,
    /// How the tree was drawn when the scene was set.
    before: String,
    /// How many entries there were then, and how many requests had been sent.
    entries: usize,
    asked: usize,
    calls: usize,
    markers: bool,
    /// What came of the steps.
    pub(crate) told: Vec<String>,
}

/// How the agent of a stage differs from the usual one.
pub(crate) struct Props {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: Arc<ModelInfo>,
    pub(crate) compacting: Compacting,
    pub(crate) backtracking: bool,
    pub(crate) restore_on_move: bool,
    pub(crate) summary_model: Option<Arc<ModelInfo>>,
    pub(crate) gates: Option<Arc<dyn Gates>>,
}

impl Default for Props {
    fn default() -> Props {
        Props {
            store: Arc::new(MemoryStore::default()),
            model: Arc::new(Scripted::info()),
            // What was said in a play is short, and all but its last words is history.
            compacting: Compacting { automatic: true, reserve: None, keep_recent: Some(20) },
            backtracking: false,
            restore_on_move: true,
            summary_model: None,
            gates: None,
        }
    }
}

impl Props {
    pub(crate) fn backtracking() -> Props {
        Props { backtracking: true, ..Props::default() }
    }

    pub(crate) fn gated(gates: impl Gates + 'static) -> Props {
        Props { gates: Some(Arc::new(gates)), ..Props::default() }
    }

    /// A model with this window.
    pub(crate) fn window(tokens: u64) -> Props {
        let model = ModelInfo { context_window: tokens, max_output: 1000, ..Scripted::info() };
        Props { model: Arc::new(model), ..Props::default() }
    }

    pub(crate) fn put_in(&self, parts: &mut Parts) {
        let other = ModelInfo { id: "other".to_owned(), ..(*self.model).clone() };
        let known: Vec<Arc<ModelInfo>> = vec![self.model.clone(), Arc::new(other)];
        parts.default_model = self.model.clone();
        parts.lookup = Arc::new(known);
        parts.compacting = self.compacting;
        parts.backtracking = self.backtracking;
        parts.restore_on_move = self.restore_on_move;
        parts.summary_model = self.summary_model.clone();
        parts.gates = self.gates.clone().unwrap_or_else(|| parts.gates.clone());
        parts.approval = Some(Mode::Yolo);
    }
}

/// Plays a script and compares what came of it.
pub(crate) async fn check(script: &str, expected: Expect) {
    check_with(Props::default(), script, expected).await;
}

pub(crate) async fn check_with(props: Props, script: &str, expected: Expect) {
    expected.assert_eq(&Stage::played(props, script).await.shown().await);
}

impl Stage {
    pub(crate) async fn played(props: Props, script: &str) -> Stage {
        let (scene, rest) = script.split_once("---").unwrap_or((script, ""));
        let mut stage = Stage::set(props, scene).await;
        stage.play(rest).await;
        stage
    }

    /// Plays what comes before.
    pub(crate) async fn set(props: Props, scene: &str) -> Stage {
        props.store.create(&Header::new("s", 0, "/x"), &[]).await.unwrap();
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let desk = Desk::open_in(env(), props.store.clone(), folder, [], |parts| props.put_in(parts)).await;
        desk.write("a.txt", "alpha\n");
        desk.write("b.txt", "beta\n");
        let (before, told, markers) = (String::new(), Vec::new(), props.backtracking);
        let mut stage = Stage { desk, before, entries: 0, asked: 0, calls: 0, markers, told };
        stage.play(scene).await;
        assert_eq!(stage.told, [""; 0], "the scene is set without surprises");
        stage.before = draw(&stage.script().await);
        stage.entries = stage.session().version().entries;
        stage.asked = stage.desk.model.requests().len();
        stage
    }

    pub(crate) async fn play(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut pieces = line.split('>').map(str::trim);
            let step = pieces.next().unwrap_or_default();
            let replies: Vec<&str> = pieces.collect();
            for reply in &replies {
                let turn = self.turn(reply);
                self.desk.model.push(turn);
            }
            let stopped = replies.iter().any(|reply| reply.contains("!hang"));
            if let Some(told) = self.step(step, stopped).await {
                self.told.push(format!("{step}: {told}"));
            }
            assert_eq!(self.desk.model.left(), 0, "nobody asked for all replies of {line:?}");
        }
    }

    /// A reply: words, `[calls]`, how it ends, and what it took.
    pub(crate) fn turn(&mut self, reply: &str) -> Turn {
        let mut turn = Turn::new();
        let mut rest = reply;
        while let Some((said, called)) = rest.split_once('[') {
            let (call, left) = called.split_once(']').unwrap();
            turn = self.call(words(turn, said), call);
            rest = left;
        }
        words(turn, rest)
    }

    fn call(&mut self, turn: Turn, call: &str) -> Turn {
        self.calls += 1;
        let (name, argument) = call.split_once(' ').unwrap_or((call, ""));
        let (name, arguments) = match name {
            "read" | "ls" => (name, json!({ "path": argument })),
            "write" => (name, json!({ "path": argument, "content": "new\n" })),
            "bash" => (name, json!({ "command": argument })),
            "todo" => (name, json!({ "items": [{ "content": argument, "status": "pending" }] })),
            "back" => {
                let (number, note) = argument.split_once(' ').unwrap();
                let number: i64 = number.parse().unwrap();
                ("backtrack", json!({ "checkpoint_id": number, "note": note }))
            }
            name => (name, serde_json::from_str(argument).unwrap_or_else(|_| json!({}))),
        };
        turn.call(format!("c{}", self.calls), name, &arguments)
    }

    /// Does a step, and says what came of it if that is worth a word.
    async fn step(&mut self, step: &str, stopped: bool) -> Option<String> {
        let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
        let command = match word {
            "say" => return self.turn_of(Command::prompt(rest), stopped).await,
            "resume" => return self.turn_of(Command::Resume, stopped).await,
            "move" => Command::Navigate(self.navigation(rest).await),
            "undo" => Command::Undo,
            "redo" => Command::Redo,
            "compact" => Command::Compact { focus: Some(rest.to_owned()).filter(|rest| !rest.is_empty()) },
            "uncompact" => {
                let entry = if rest.is_empty() { None } else { Some(self.id(rest).await) };
                Command::UndoCompaction { entry }
            }
            "graft" => {
                let (tip, summarize) = match rest.strip_suffix(", summarize") {
                    Some(tip) => (tip, true),
                    None => (rest, false),
                };
                Command::Graft { tip: self.id(tip).await, summarize, instructions: None }
            }
            "model" => {
                let provider = self.desk.worker.choice().await.unwrap().model.provider.clone();
                Command::SetModel(format!("{provider}/{rest}"))
            }
            "thinking" => Command::SetThinking(ThinkingLevel::parse(rest).unwrap()),
            "bash" => Command::Bash(UserCommand { command: rest.to_owned(), exclude_from_context: false }),
            _ => {
                self.append(word, rest).await;
                return None;
            }
        };
        let worker = self.desk.worker.clone();
        let reply = if stopped { self.stopped(command).await } else { worker.send(command).await };
        match reply {
            Err(error) => Some(format!("{error}")),
            Ok(Reply::Navigated(navigated)) => {
                let mut told: Vec<String> = Vec::new();
                told.extend(navigated.editor.map(|editor| format!("editor {:?}", editor.text)));
                told.extend(navigated.cancelled.then(|| "cancelled".to_owned()));
                told.extend(navigated.aborted.then(|| "aborted".to_owned()));
                told.extend(navigated.returned.iter().map(|said| format!("returned {:?}", said.text)));
                Some(told.join(", ")).filter(|told| !told.is_empty())
            }
            Ok(Reply::Compacted(compacted)) if compacted.entry.is_none() => Some("refused".to_owned()),
            Ok(_) => None,
        }
    }

    /// What is done to the session without the agent.
    async fn append(&self, word: &str, rest: &str) {
        let session = self.session();
        let entry = match word {
            "label" => {
                let (label, target) = rest.split_once(" on ").unwrap();
                return drop(session.label(&self.id(target).await, Some(label)).await.unwrap());
            }
            "delete" => return drop(session.delete_branch(&self.id(rest).await).await.unwrap()),
            "restore" => return drop(session.restore_branch(&self.id(rest).await).await.unwrap()),
            "note" => {
                json!({ "type": "custom_message", "customType": "ext", "content": rest, "display": true })
            }
            other => panic!("what is {other:?}?"),
        };
        session.append_entry(entry.to_string().as_bytes()).await.unwrap();
    }

    async fn turn_of(&mut self, command: Command, stopped: bool) -> Option<String> {
        let mut ear = self.desk.begin(command).await;
        if stopped {
            ear.until(|event| match event {
                Event::Session(SessionEvent::Draft { delta, .. }) => delta.contains('!').then_some(()),
                Event::Live(Live::SummaryText { text }) => text.contains('!').then_some(()),
                _ => None,
            })
            .await;
            self.desk.send(Command::Cancel).await;
        }
        let (finished, error) = ear.end().await;
        let mut told: Vec<String> = ear.notices();
        told.extend((finished != Some(Finished::Done)).then(|| match (finished, error) {
            (Some(finished), None) => format!("{finished:?}"),
            (Some(finished), Some(error)) => format!("{finished:?}: {error}"),
            (None, error) => error.unwrap_or_default(),
        }));
        Some(told.join("; ")).filter(|told| !told.is_empty())
    }

    /// Stops a summary while it is being written.
    async fn stopped(&self, command: Command) -> Result<Reply, osier_agent::Error> {
        let mut ear = self.desk.listen().await;
        let worker = self.desk.worker.clone();
        let task = tokio::spawn(async move { worker.send(command).await });
        ear.until(|event| matches!(event, Event::Live(Live::SummaryText { .. })).then_some(())).await;
        self.desk.send(Command::Cancel).await;
        task.await.unwrap()
    }

    /// `TEXT, option, option`.
    pub(crate) async fn navigation(&self, rest: &str) -> Navigation {
        let mut words = rest.split(", ");
        let mut wish = Navigation { target: None, ..Navigation::default() };
        match words.next() {
            Some("root") | None => {}
            Some(target) => wish.target = Some(self.id(target).await),
        }
        for option in words {
            match option.split_once(' ').unwrap_or((option, "")) {
                ("exact", _) => wish.exact = true,
                ("summarize", _) => wish.summarize = true,
                ("stop", _) => wish.stop_turn = true,
                ("label", label) => wish.label = Some(label.to_owned()),
                ("about", own) => wish.instructions = Some(own.to_owned()),
                ("only", own) => {
                    (wish.instructions, wish.replace_instructions) = (Some(own.to_owned()), true);
                }
                (other, _) => panic!("what is {other:?}?"),
            }
        }
        wish
    }

    pub(crate) fn session(&self) -> &Session {
        self.desk.session()
    }

    /// The last entry that is drawn with this text in it.
    pub(crate) async fn id(&self, text: &str) -> String {
        let script = self.script().await;
        let mut previews = Previews::new(None);
        let entries = script.lines.iter().map(|line| read_entry(line).unwrap());
        let found = entries.filter(|entry| previews.preview(entry).contains(text)).last();
        found.map_or_else(|| text.to_owned(), |entry| entry.id.to_string())
    }

    /// The log as it is now.
    pub(crate) async fn script(&self) -> Script {
        let session = self.session();
        let version = session.version();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let all: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
        let read = |_, line: &[u8]| -> Result<(), StoreError> {
            lines.push(line.to_vec());
            Ok(())
        };
        session.each_line(version, &all, read).await.unwrap();
        Script::of_lines(lines)
    }

    /// What the model would see, a line for each message.
    pub(crate) async fn seen(&self) -> Vec<String> {
        let script = self.script().await;
        let at = self.desk.worker.cursor().place();
        let plan = script.tree.context_entries(at);
        script.tree.request(&plan, &script.lines, self.markers).messages.iter().map(message).collect()
    }

    /// What the model wrote to itself since the scene was set, as it will read it.
    async fn notes(&self) -> Vec<String> {
        let script = self.script().await;
        let entries = script.lines[self.entries..].iter().map(|line| read_entry(line).unwrap());
        let notes = entries.filter(|entry| entry.kind == Kind::Backtrack);
        notes.map(|entry| entry.get("content").and_then(Raw::text).unwrap().into_owned()).collect()
    }

    pub(crate) async fn shown(&self) -> String {
        let after = draw(&self.script().await);
        let same = if after == self.before { "after: the same".to_owned() } else { "after".to_owned() };
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let after = if same == "after" { lines(&after) } else { Vec::new() };
        let columns = vec![
            ("before".to_owned(), lines(&self.before)),
            (same, after),
            ("the model would see".to_owned(), self.seen().await),
        ];
        let mut shown = table(&columns);
        let asked = self.desk.model.requests();
        for request in asked[self.asked..].iter().filter(|request| request.system == summary::SYSTEM) {
            shown += &format!("\nasked for a summary\n{}", told_to_summarizer(request));
        }
        for note in self.notes().await {
            shown += &format!("\nnote\n{}", set_in(&note));
        }
        if !self.told.is_empty() {
            shown += &format!("\n{}\n", self.told.join("\n"));
        }
        shown
    }
}

/// Words of a reply and its end: `!cut`, `!fail`, `!overflow`, `!hang`, and `#N` for N tokens.
fn words(turn: Turn, said: &str) -> Turn {
    let provider = || "p".to_owned();
    let (ends, text): (Vec<&str>, Vec<&str>) =
        said.split_whitespace().partition(|word| word.starts_with(['!', '#']));
    let text = text.join(" ");
    let hangs = ends.contains(&"!hang");
    let turn = match text.as_str() {
        _ if hangs => turn.text(format!("{text} !")),
        "" => turn,
        text => turn.text(text),
    };
    ends.into_iter().fold(turn, |turn, end| match end {
        "!cut" => turn.stop(StopReason::Length),
        "!fail" => turn.fail(Failure::Network { provider: provider(), said: "gone".to_owned() }),
        "!overflow" => turn.fail(overflow()),
        "!hang" => turn.hang(),
        tokens => turn.usage(tokens[1..].parse().unwrap(), 0),
    })
}

pub(crate) fn overflow() -> Failure {
    Failure::Overflow { needed: None, window: None, said: "too long".to_owned() }
}
