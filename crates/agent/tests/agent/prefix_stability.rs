//! Appending never changes what was sent before: in every API, the messages of each request start with those
//! of the request before it. Only a move, a context edit or a compaction starts over. Each model has its own
//! cache, so its requests extend what was sent to that model. A system prompt change is one more message.
//!
//! The request shown for a position is also exactly what was sent from there, byte for byte.
//!
//! Anthropic's cache markers move along with the end; they are not part of what is cached.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use osier_agent::{AgentConfig, AgentError, SystemPromptSource};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{Api, ModelError, ModelInfo, Registry, Request, ThinkingLevel, body_json, body_text};
use osier_protocol::{ClientCommand, Prompt, PromptTiming, UserAnswer};
use osier_store::MemoryStore;
use osier_tools::user_bash::UserCommand;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cache_billing::sent_from;
use crate::harness::Harness;

/// A random operation. A reply is a list of blocks: thinking, text, and several kinds of calls.
#[derive(Debug, Clone)]
enum Op {
    Say(Vec<Vec<u8>>),
    Fail(Vec<u8>),
    Stop(Vec<u8>),
    Resume,
    Bash(bool),
    Mark(u8),
    /// The process dies in the middle of a batch of calls, and another one continues.
    Die,
    Move(usize),
    /// The system prompt changes, as when an instruction file is edited.
    Patch,
    /// A steering message arrives while the calls of a reply run.
    Steer(Vec<u8>),
    /// Switches between the two models.
    Switch,
}

/// A system prompt that has been edited this many times.
#[derive(Debug, Default)]
struct EditedPrompt(AtomicUsize);

impl SystemPromptSource for EditedPrompt {
    fn sections(&self, _: i64) -> Vec<(String, String)> {
        let version = self.0.load(Ordering::Relaxed);
        let mut sections = vec![("preamble".to_owned(), "You work here.".to_owned())];
        // A section that appears, changes and disappears.
        if !version.is_multiple_of(3) {
            sections.push(("instructions".to_owned(), format!("Version {version}.")));
        }
        sections
    }
}

fn op() -> impl Strategy<Value = Op> {
    let reply = || prop::collection::vec(0u8..6, 0..4);
    prop_oneof![
        5 => prop::collection::vec(reply(), 1..4).prop_map(Op::Say),
        1 => reply().prop_map(Op::Fail),
        1 => reply().prop_map(Op::Stop),
        1 => Just(Op::Resume),
        1 => any::<bool>().prop_map(Op::Bash),
        2 => (0u8..3).prop_map(Op::Mark),
        1 => Just(Op::Die),
        1 => (0usize..100).prop_map(Op::Move),
        1 => Just(Op::Patch),
        1 => reply().prop_map(Op::Steer),
        1 => Just(Op::Switch),
    ]
}

pub(crate) fn model(api: Api) -> Arc<ModelInfo> {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::built_in);
    match api {
        Api::OpenaiCompletions => REGISTRY.find("openrouter/some/model").unwrap(),
        _ => REGISTRY.models().iter().find(|model| model.api == api).unwrap().clone(),
    }
}

/// A session for random operations.
struct RandomSession {
    script: ScriptedModel,
    models: [Arc<ModelInfo>; 2],
    system_prompt: Arc<EditedPrompt>,
    harness: Harness,
    /// Processes that died. They hang in a question and never write again.
    dead: Vec<Harness>,
    calls: usize,
    /// The number of requests when the leaf was last moved.
    moves: Vec<usize>,
}

/// Configures the agent of every process of a session.
fn apply_to(
    config: &mut AgentConfig,
    script: &ScriptedModel,
    models: &[Arc<ModelInfo>; 2],
    system_prompt: &Arc<EditedPrompt>,
) {
    config.model = Arc::new(script.clone());
    config.model_lookup = Arc::new(models.to_vec());
    config.default_model = models[0].clone();
    config.default_thinking = ThinkingLevel::Medium;
    config.system_prompt = system_prompt.clone();
    config.backtracking = true;
}

impl RandomSession {
    async fn new(api: Api) -> RandomSession {
        let (script, first, system_prompt) =
            (ScriptedModel::new([]), model(api), Arc::new(EditedPrompt::default()));
        let second = ModelInfo { id: "another".to_owned(), ..ModelInfo::clone(&first) };
        let models = [first, Arc::new(second)];
        let harness = Harness::on(Arc::new(MemoryStore::default()), [], |config| {
            apply_to(config, &script, &models, &system_prompt);
        })
        .await;
        harness.write("a.txt", "text\n");
        RandomSession {
            script,
            models,
            system_prompt,
            harness,
            dead: Vec::new(),
            calls: 0,
            moves: Vec::new(),
        }
    }

    /// A reply with these blocks, and whether it calls tools.
    fn reply(&mut self, blocks: &[u8]) -> (ScriptedTurn, bool) {
        let mut turn = ScriptedTurn::new();
        let before = self.calls;
        for kind in blocks {
            let mut call = |turn: ScriptedTurn, name: &str, arguments: Value| {
                self.calls += 1;
                turn.call(format!("id {}", self.calls), name, &arguments)
            };
            turn = match kind {
                0 => turn.thinking("hm", "{\"type\":\"reasoning\"}"),
                1 => turn.thinking("unsigned", ""),
                2 => turn.text("said"),
                3 => call(turn, "read", json!({ "path": "a.txt" })),
                4 => call(turn, "todo", json!({ "items": [] })),
                _ => call(turn, "nothing", json!({})),
            };
        }
        (turn, self.calls > before)
    }

    async fn apply(&mut self, op: &Op) {
        match op {
            Op::Say(replies) => {
                for blocks in replies {
                    let (turn, calls) = self.reply(blocks);
                    self.script.push(turn);
                    if !calls {
                        return self.prompt().await;
                    }
                }
                self.script.push(ScriptedTurn::reply("enough"));
                self.prompt().await;
            }
            Op::Fail(blocks) => {
                let failure = ModelError::Network { provider: "p".into(), detail: "gone".into() };
                let turn = self.reply(blocks).0.fail(failure);
                self.script.push(turn);
                self.prompt().await;
            }
            Op::Stop(blocks) => {
                let turn = self.reply(blocks).0.text("stopped").hang();
                self.script.push(turn);
                let mut listener = self.harness.begin(ClientCommand::prompt("go")).await;
                listener.until_draft("stopped").await;
                self.harness.send(ClientCommand::Cancel).await;
            }
            Op::Resume => {
                let mut listener = self.harness.listen().await;
                match self.harness.worker.send(ClientCommand::Resume).await {
                    // An exhausted script is one more failure.
                    Ok(_) => drop(listener.end().await),
                    Err(error) => assert!(matches!(error, AgentError::NothingToResume), "{error}"),
                }
            }
            Op::Bash(excluded) => {
                let command = UserCommand { command: "echo hi".into(), exclude_from_context: *excluded };
                self.harness.send(ClientCommand::RunShell(command)).await;
            }
            Op::Mark(kind) => self.mark(*kind).await,
            Op::Patch => drop(self.system_prompt.0.fetch_add(1, Ordering::Relaxed)),
            Op::Steer(blocks) => self.steer(blocks).await,
            Op::Switch => {
                let now = self.harness.worker.model_choice().await.unwrap().model.id.clone();
                let other = self.models.iter().find(|model| model.id != now).unwrap();
                self.harness.send(ClientCommand::SetModel { model: other.full_name() }).await;
            }
            Op::Die => self.die().await,
            Op::Move(to) => {
                let tree = self.harness.session().tree();
                let path = tree.path(tree.leaf());
                if let Some(to) = path.get(*to % path.len().max(1)) {
                    self.harness.worker.cursor().move_to(Some(*to)).await.unwrap();
                    self.moves.push(self.script.requests().len());
                }
            }
        }
    }

    async fn prompt(&self) {
        self.harness.say("go").await;
    }

    async fn mark(&self, kind: u8) {
        let session = self.harness.session();
        let tree = session.tree();
        let setting = serde_json::Map::from_iter([("mine".to_owned(), json!(tree.len()))]);
        match (kind, tree.leaf()) {
            (0, Some(leaf)) => drop(session.label(tree.id(leaf).as_str(), Some("here")).await.unwrap()),
            (1, _) => drop(session.rename("a name").await.unwrap()),
            _ => drop(session.set_config(setting, Vec::new()).await.unwrap()),
        }
    }

    /// A reply that ends in a call which needs approval.
    fn asking(&mut self, blocks: &[u8]) -> ScriptedTurn {
        let turn = self.reply(blocks).0;
        self.calls += 1;
        turn.call(format!("id {}", self.calls), "bash", &json!({ "command": "true" }))
    }

    async fn steer(&mut self, blocks: &[u8]) {
        let turn = self.asking(blocks);
        self.script.push(turn);
        self.script.push(ScriptedTurn::reply("steered"));
        let mut listener = self.harness.begin(ClientCommand::prompt("go")).await;
        let (question, _) = listener.until_asked().await;
        let text = "this way".to_owned();
        self.harness
            .send(ClientCommand::timed_prompt(Prompt { text, ..Prompt::default() }, PromptTiming::Steer))
            .await;
        self.harness
            .send(ClientCommand::Answer { question, answer: UserAnswer::No { reason: String::new() } })
            .await;
        listener.end().await;
    }

    async fn die(&mut self) {
        let turn = self.asking(&[2, 3]);
        self.script.push(turn);
        self.harness.begin(ClientCommand::prompt("go")).await.until_asked().await;
        let again = Harness::open(self.harness.store.clone(), self.harness.folder.clone(), [], |config| {
            apply_to(config, &self.script, &self.models, &self.system_prompt);
        })
        .await;
        self.dead.push(std::mem::replace(&mut self.harness, again));
    }
}

/// The part of the body that a longer conversation repeats: its messages, and everything before them.
fn sent(request: &Request) -> (Vec<Value>, Value) {
    let mut body = body_json(request).unwrap();
    let (list, before) = match request.model.api {
        Api::OpenaiResponses => ("input", "instructions"),
        Api::GoogleGenerativeAi => ("contents", "systemInstruction"),
        _ => ("messages", "system"),
    };
    unmark(&mut body);
    let mut messages = body[list].take().as_array().unwrap().clone();
    let is_prompt = |message: &Value| message["role"] == "system" || message["role"] == "developer";
    let prompt =
        if messages.first().is_some_and(is_prompt) { messages.remove(0) } else { body[before].take() };
    (messages, json!([prompt, body["tools"].take()]))
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(list) => list.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn check(api: Api, ops: &[Op]) -> Result<usize, TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut session = RandomSession::new(api).await;
        for op in ops {
            session.apply(op).await;
        }
        let requests = session.script.requests();
        let bodies: Vec<_> = requests.iter().map(sent).collect();
        for (at, (new, now)) in bodies.iter().enumerate() {
            let same = |earlier: &usize| requests[*earlier].model.id == requests[at].model.id;
            let Some(last) = (0..at).rev().find(same) else { continue };
            let (old, before) = &bodies[last];
            let between = |happened: &[usize]| happened.iter().any(|sent| (last + 1..=at).contains(sent));
            if !between(&session.moves) {
                prop_assert!(new.len() >= old.len(), "request {} is shorter", at);
                prop_assert_eq!(&new[..old.len()], &old[..], "request {} begins differently", at);
                prop_assert_eq!(before, now, "prompt and tools of request {}", at);
            }
        }
        for (request, from) in requests.iter().zip(sent_from(&session.harness.session().tree())) {
            let shown = session.harness.worker.request_at(from).await.unwrap().request;
            prop_assert_eq!(&shown, request);
            prop_assert_eq!(body_text(&shown), body_text(request));
        }
        Ok(bodies.len())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_request_extends_the_previous_one(ops in prop::collection::vec(op(), 1..9)) {
        for api in [Api::AnthropicMessages, Api::OpenaiCompletions, Api::OpenaiResponses, Api::GoogleGenerativeAi] {
            check(api, &ops)?;
        }
    }
}

#[test]
fn random_operations_send_many_requests() {
    let all = [
        Op::Say(vec![vec![0, 2, 3, 4], vec![5]]),
        Op::Mark(0),
        Op::Bash(false),
        Op::Fail(vec![0, 3]),
        Op::Resume,
        Op::Stop(vec![3]),
        Op::Die,
        Op::Say(vec![vec![2]]),
        Op::Patch,
        Op::Steer(vec![2, 3]),
        Op::Switch,
        Op::Say(vec![vec![0, 2]]),
        Op::Switch,
        Op::Say(vec![vec![2]]),
    ];
    assert_eq!(check(Api::AnthropicMessages, &all).unwrap(), 12);
}
