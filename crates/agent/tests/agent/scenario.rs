//! Scripted scenarios on a session tree. A script goes in; out come the tree before and after, what the model
//! would see, and the result of each step.
//!
//! A script line is one step, optionally with replies of the model: `say hello > hi`. The steps before `---`
//! are the setup.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use expect_test::Expect;
use osier_agent::{AgentConfig, CompactionConfig, Hook, Hooks, RegisteredHook};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{ModelError, ModelInfo, StopReason, ThinkingLevel};
use osier_protocol::{ClientCommand, ClientEvent, CommandReply, MoveCommand, TurnOutcome};
use osier_session::{Durability, IdSource, Session, SessionEnv, WallClock};
use osier_store::{MemoryStore, Store, StoreError};
use osier_testkit::{ScriptedSession, draw};
use osier_tools::ApprovalMode;
use osier_tools::user_bash::UserCommand;
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::scan::RawJson;
use osier_tree::{EntryKind, Header, Seq, summary};
use serde_json::json;

use crate::harness::Harness;
use crate::render::{indent, message, summarizer_input, table};

/// Advances by one second on each call.
#[derive(Debug, Default)]
struct TickingClock(AtomicI64);

impl WallClock for TickingClock {
    fn now(&self) -> i64 {
        1_767_225_600_000 + self.0.fetch_add(1000, Ordering::Relaxed)
    }
}

/// `00000001`, `00000002`, …
#[derive(Debug, Default)]
struct SequentialIds(AtomicUsize);

impl IdSource for SequentialIds {
    fn entry(&self) -> String {
        format!("{:08}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn session(&self) -> String {
        format!("session-{}", self.entry())
    }
}

/// A deterministic clock and ids, without waiting for the disk.
pub(crate) fn env() -> SessionEnv {
    let (clock, ids) = (Arc::new(TickingClock::default()), Arc::new(SequentialIds::default()));
    SessionEnv { clock, ids, durability: Durability::Os, ..SessionEnv::default() }
}

/// See the module documentation.
pub(crate) struct Scenario {
    pub(crate) harness: Harness,
    /// The drawing of the tree after the setup.
    before: String,
    /// The number of entries, and of requests sent, after the setup.
    entries: usize,
    asked: usize,
    calls: usize,
    markers: bool,
    /// The results of the steps.
    pub(crate) results: Vec<String>,
}

/// The agent configuration of a scenario.
pub(crate) struct ScenarioConfig {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: Arc<ModelInfo>,
    pub(crate) compaction: CompactionConfig,
    pub(crate) backtracking: bool,
    pub(crate) restore_on_move: bool,
    pub(crate) summary_model: Option<Arc<ModelInfo>>,
    pub(crate) hook: Option<Arc<dyn Hook>>,
}

impl Default for ScenarioConfig {
    fn default() -> ScenarioConfig {
        ScenarioConfig {
            store: Arc::new(MemoryStore::default()),
            model: Arc::new(ScriptedModel::info()),
            // Scenarios are short; everything but the last few words counts as history.
            compaction: CompactionConfig { automatic: true, reserve: None, keep_recent: Some(20) },
            backtracking: false,
            restore_on_move: true,
            summary_model: None,
            hook: None,
        }
    }
}

impl ScenarioConfig {
    pub(crate) fn backtracking() -> ScenarioConfig {
        ScenarioConfig { backtracking: true, ..ScenarioConfig::default() }
    }

    pub(crate) fn hooked(hook: impl Hook + 'static) -> ScenarioConfig {
        ScenarioConfig { hook: Some(Arc::new(hook)), ..ScenarioConfig::default() }
    }

    /// A model with this context window.
    pub(crate) fn window(tokens: u64) -> ScenarioConfig {
        let model = ModelInfo { context_window: tokens, max_output: 1000, ..ScriptedModel::info() };
        ScenarioConfig { model: Arc::new(model), ..ScenarioConfig::default() }
    }

    pub(crate) fn apply_to(&self, agent_config: &mut AgentConfig) {
        let other = ModelInfo { id: "other".to_owned(), ..(*self.model).clone() };
        let known: Vec<Arc<ModelInfo>> = vec![self.model.clone(), Arc::new(other)];
        agent_config.default_model = self.model.clone();
        agent_config.model_lookup = Arc::new(known);
        agent_config.compaction = self.compaction;
        agent_config.backtracking = self.backtracking;
        agent_config.restore_on_move = self.restore_on_move;
        agent_config.summary_model = self.summary_model.clone();
        let hook = self.hook.clone().map(|hook| RegisteredHook::new("test", hook));
        agent_config.hooks = Arc::new(Hooks::new(hook.into_iter().collect()));
        agent_config.approval_mode = Some(ApprovalMode::Yolo);
    }
}

/// Runs a script and compares the rendered result.
pub(crate) async fn check(script: &str, expected: Expect) {
    check_with(ScenarioConfig::default(), script, expected).await;
}

pub(crate) async fn check_with(config: ScenarioConfig, script: &str, expected: Expect) {
    expected.assert_eq(&Scenario::run(config, script).await.render().await);
}

impl Scenario {
    pub(crate) async fn run(config: ScenarioConfig, script: &str) -> Scenario {
        let (setup_script, rest) = script.split_once("---").unwrap_or((script, ""));
        let mut scenario = Scenario::set_up(config, setup_script).await;
        scenario.run_script(rest).await;
        scenario
    }

    /// Runs the setup steps.
    pub(crate) async fn set_up(config: ScenarioConfig, setup_script: &str) -> Scenario {
        config.store.create(&Header::new("s", 0, "/x"), &[]).await.unwrap();
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let harness = Harness::open_in(env(), config.store.clone(), folder, [], |agent_config| {
            config.apply_to(agent_config);
        })
        .await;
        harness.write("a.txt", "alpha\n");
        harness.write("b.txt", "beta\n");
        let (before, results, markers) = (String::new(), Vec::new(), config.backtracking);
        let mut scenario = Scenario { harness, before, entries: 0, asked: 0, calls: 0, markers, results };
        scenario.run_script(setup_script).await;
        assert_eq!(scenario.results, [""; 0], "the setup has no unexpected results");
        scenario.before = draw(&scenario.script().await);
        scenario.entries = scenario.session().version().entries;
        scenario.asked = scenario.harness.model.requests().len();
        scenario
    }

    pub(crate) async fn run_script(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut pieces = line.split('>').map(str::trim);
            let step = pieces.next().unwrap_or_default();
            let replies: Vec<&str> = pieces.collect();
            for reply in &replies {
                let turn = self.turn(reply);
                self.harness.model.push(turn);
            }
            let stopped = replies.iter().any(|reply| reply.contains("!hang"));
            if let Some(results) = self.step(step, stopped).await {
                self.results.push(format!("{step}: {results}"));
            }
            assert_eq!(self.harness.model.remaining_turns(), 0, "unused replies in {line:?}");
        }
    }

    /// A reply: words, `[calls]`, how it ends, and its token usage.
    pub(crate) fn turn(&mut self, reply: &str) -> ScriptedTurn {
        let mut turn = ScriptedTurn::new();
        let mut rest = reply;
        while let Some((said, called)) = rest.split_once('[') {
            let (call, left) = called.split_once(']').unwrap();
            turn = self.call(words(turn, said), call);
            rest = left;
        }
        words(turn, rest)
    }

    fn call(&mut self, turn: ScriptedTurn, call: &str) -> ScriptedTurn {
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

    /// Runs a step, and returns its result unless it is unremarkable.
    async fn step(&mut self, step: &str, stopped: bool) -> Option<String> {
        let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
        let command = match word {
            "say" => return self.run_turn(ClientCommand::prompt(rest), stopped).await,
            "resume" => return self.run_turn(ClientCommand::Resume, stopped).await,
            "move" => ClientCommand::Move(self.move_command(rest).await),
            "undo" => ClientCommand::Undo,
            "redo" => ClientCommand::Redo,
            "compact" => {
                ClientCommand::Compact { focus: Some(rest.to_owned()).filter(|rest| !rest.is_empty()) }
            }
            "uncompact" => {
                let entry = if rest.is_empty() { None } else { Some(self.id(rest).await.into()) };
                ClientCommand::UndoCompaction { entry }
            }
            "graft" => {
                let (tip, summarize) = match rest.strip_suffix(", summarize") {
                    Some(tip) => (tip, true),
                    None => (rest, false),
                };
                ClientCommand::Graft { tip: self.id(tip).await.into(), summarize, instructions: None }
            }
            "model" => {
                let provider = self.harness.worker.model_choice().await.unwrap().model.provider.clone();
                ClientCommand::SetModel { model: format!("{provider}/{rest}") }
            }
            "thinking" => ClientCommand::SetThinking { level: ThinkingLevel::parse(rest).unwrap() },
            "bash" => {
                ClientCommand::RunShell(UserCommand { command: rest.to_owned(), exclude_from_context: false })
            }
            _ => {
                self.append(word, rest).await;
                return None;
            }
        };
        let worker = self.harness.worker.clone();
        let reply = if stopped { self.stopped(command).await } else { worker.send(command).await };
        match reply {
            Err(error) => Some(format!("{error}")),
            Ok(CommandReply::Moved(navigated)) => {
                let mut results: Vec<String> = Vec::new();
                results.extend(navigated.editor_text.map(|text| format!("editor {text:?}")));
                results.extend(navigated.cancelled.then(|| "cancelled".to_owned()));
                results.extend(navigated.aborted.then(|| "aborted".to_owned()));
                results.extend(navigated.returned.iter().map(|said| format!("returned {:?}", said.text)));
                Some(results.join(", ")).filter(|results| !results.is_empty())
            }
            Ok(CommandReply::Compacted(compacted)) if !compacted.compressed => Some("refused".to_owned()),
            Ok(_) => None,
        }
    }

    /// Changes the session without the agent.
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
            other => panic!("unknown word {other:?}"),
        };
        session.append_entry(entry.to_string().as_bytes()).await.unwrap();
    }

    async fn run_turn(&mut self, command: ClientCommand, stopped: bool) -> Option<String> {
        let mut listener = self.harness.begin(command).await;
        if stopped {
            listener
                .until(|event| match event {
                    ClientEvent::DraftDelta { delta, .. } => delta.text().contains('!').then_some(()),
                    ClientEvent::SummaryText { text } => text.contains('!').then_some(()),
                    _ => None,
                })
                .await;
            self.harness.send(ClientCommand::Cancel).await;
        }
        let (finished, error) = listener.end().await;
        let mut results: Vec<String> = listener.notices();
        results.extend((finished != Some(TurnOutcome::Done)).then(|| match (finished, error) {
            (Some(finished), None) => format!("{finished:?}"),
            (Some(finished), Some(error)) => format!("{finished:?}: {error}"),
            (None, error) => error.unwrap_or_default(),
        }));
        Some(results.join("; ")).filter(|results| !results.is_empty())
    }

    /// Cancels a summary while it is being written.
    async fn stopped(&self, command: ClientCommand) -> Result<CommandReply, osier_agent::AgentError> {
        let mut listener = self.harness.listen().await;
        let worker = self.harness.worker.clone();
        let task = tokio::spawn(async move { worker.send(command).await });
        listener.until(|event| matches!(event, ClientEvent::SummaryText { .. }).then_some(())).await;
        self.harness.send(ClientCommand::Cancel).await;
        task.await.unwrap()
    }

    /// `TEXT, option, option`.
    pub(crate) async fn move_command(&self, rest: &str) -> MoveCommand {
        let mut words = rest.split(", ");
        let mut move_command = MoveCommand { target_id: None, ..MoveCommand::default() };
        match words.next() {
            Some("root") | None => {}
            Some(target) => move_command.target_id = Some(self.id(target).await.into()),
        }
        for option in words {
            match option.split_once(' ').unwrap_or((option, "")) {
                ("exact", _) => move_command.exact = true,
                ("summarize", _) => move_command.summarize = true,
                ("stop", _) => move_command.stop_turn = true,
                ("label", label) => move_command.label = Some(label.to_owned()),
                ("about", own) => move_command.custom_instructions = Some(own.to_owned()),
                ("only", own) => {
                    (move_command.custom_instructions, move_command.replace_instructions) =
                        (Some(own.to_owned()), true);
                }
                (other, _) => panic!("unknown word {other:?}"),
            }
        }
        move_command
    }

    pub(crate) fn session(&self) -> &Session {
        self.harness.session()
    }

    /// The last entry whose preview contains this text.
    pub(crate) async fn id(&self, text: &str) -> String {
        let script = self.script().await;
        let mut previews = Previews::new(None);
        let entries = script.lines.iter().map(|line| parse_entry(line).unwrap());
        let found = entries.filter(|entry| previews.preview(entry).contains(text)).last();
        found.map_or_else(|| text.to_owned(), |entry| entry.id.to_string())
    }

    /// The current log.
    pub(crate) async fn script(&self) -> ScriptedSession {
        let session = self.session();
        let version = session.version();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let all: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
        let read = |_, line: &[u8]| -> Result<(), StoreError> {
            lines.push(line.to_vec());
            Ok(())
        };
        session.for_each_line(version, &all, read).await.unwrap();
        ScriptedSession::from_lines(lines)
    }

    /// What the model would see, one line per message.
    pub(crate) async fn seen(&self) -> Vec<String> {
        let script = self.script().await;
        let at = self.harness.worker.cursor().position();
        let plan = script.tree.context_entries(at);
        script.tree.prepare_request(&plan, &script.lines, self.markers).messages.iter().map(message).collect()
    }

    /// The notes that the model wrote since the setup, as it will read them.
    async fn notes(&self) -> Vec<String> {
        let script = self.script().await;
        let entries = script.lines[self.entries..].iter().map(|line| parse_entry(line).unwrap());
        let notes = entries.filter(|entry| entry.kind == EntryKind::Backtrack);
        notes.map(|entry| entry.get("content").and_then(RawJson::text).unwrap().into_owned()).collect()
    }

    pub(crate) async fn render(&self) -> String {
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
        let asked = self.harness.model.requests();
        for request in asked[self.asked..].iter().filter(|request| request.system == summary::SYSTEM_PROMPT) {
            shown += &format!("\nasked for a summary\n{}", summarizer_input(request));
        }
        for note in self.notes().await {
            shown += &format!("\nnote\n{}", indent(&note));
        }
        if !self.results.is_empty() {
            shown += &format!("\n{}\n", self.results.join("\n"));
        }
        shown
    }
}

/// Parses the words of a reply and its end: `!cut`, `!fail`, `!overflow`, `!hang`, and `#N` for N tokens.
fn words(turn: ScriptedTurn, said: &str) -> ScriptedTurn {
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
        "!fail" => turn.fail(ModelError::Network { provider: provider(), detail: "gone".to_owned() }),
        "!overflow" => turn.fail(overflow()),
        "!hang" => turn.hang(),
        tokens => turn.usage(tokens[1..].parse().unwrap(), 0),
    })
}

pub(crate) fn overflow() -> ModelError {
    ModelError::ContextOverflow { needed: None, window: None, detail: "too long".to_owned() }
}
