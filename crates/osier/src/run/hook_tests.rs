//! Every caller of this program asks the hooks exactly once, and a hook can refuse or alter: the command line, print mode,
//! JSON mode, and the program around the terminal. The interface itself is tested on a terminal in `osier-tui`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use osier_engine::recording_hook::{ALTERED, RecordingHook};
use osier_engine::{Engine, EngineConfig, KeepWhen, LocalClient};
use osier_local_engine::{LocalEngine, LocalEngineOptions, LocalSession};
use osier_protocol::{Client, ClientCommand, NewSessionOptions, OpenedSession, Prompt, PromptTiming};
use osier_settings::HostEnvironment;
use osier_tui::Host;
use osier_tui::msg::OpenTarget;

use super::args::{Args, OutputMode};
use super::host::TerminalHost;
use super::open_target;
use super::print::{self, PrintOptions};
use crate::home::Home;
use crate::sessions;

#[derive(Debug, Parser)]
struct SessionsLine {
    #[command(flatten)]
    args: sessions::Args,
}

#[derive(Debug, Parser)]
struct RunLine {
    #[command(flatten)]
    args: Args,
}

/// The program with a hook, in a folder of its own.
struct Program {
    home: Home,
    hook: Arc<RecordingHook>,
    _folder: tempfile::TempDir,
}

fn command_variables() -> Vec<(OsString, OsString)> {
    std::env::var_os("PATH").map(|path| ("PATH".into(), path)).into_iter().collect()
}

impl Program {
    fn new() -> Program {
        let folder = tempfile::tempdir().unwrap();
        let (work, own) = (folder.path().join("work"), folder.path().join("home"));
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(work.join("notes.txt"), "buy milk\n").unwrap();
        std::fs::write(own.join("config.toml"), "[compaction]\nkeep_recent_tokens = 10\n").unwrap();
        let host = HostEnvironment {
            folder: own,
            user: None,
            variable: |_| None,
            variables: command_variables,
            utc_offset: || 0,
            host_name: || "test".to_owned(),
            launcher: PathBuf::new,
        };
        let (mut home, _) = Home::load(&work, host);
        let hook = Arc::new(RecordingHook::default());
        let config = EngineConfig { hooks: hook.registered(), ..home.engine.config().clone() };
        home.engine = Engine::new(config);
        Program { home, hook, _folder: folder }
    }

    /// What hooks were asked and saw, without the start and end of agents and sessions.
    fn calls(&self) -> Vec<&'static str> {
        let of_life = ["session_start", "session_shutdown", "session_opened", "session_closed"];
        self.hook.take_calls().into_iter().filter(|call| !of_life.contains(call)).collect()
    }

    /// A session of a run with these options.
    async fn open(&self, line: &[&str], options: LocalEngineOptions) -> (Arc<LocalEngine>, LocalSession) {
        let args = RunLine::parse_from(["osier"].iter().chain(line)).args;
        let options = LocalEngineOptions { keep: options.keep, ..args.engine_options(options.has_user) };
        let options = LocalEngineOptions { keeps_left_turn: true, ..options };
        let engine = Arc::new(LocalEngine::new(self.home.clone(), options));
        let session = open_target::prepare(&args, &engine).await.unwrap().open().await.unwrap();
        (engine, session)
    }

    /// `osier -p` with these options.
    async fn print(&self, line: &[&str], mode: OutputMode, prompt: &str) -> String {
        let options = LocalEngineOptions { keep: KeepWhen::Always, ..LocalEngineOptions::default() };
        let (_, session) = self.open(line, options).await;
        let options = PrintOptions { mode, eager: false, terminal: false, progress: false, home: None };
        print::run(&session, Prompt::typed(prompt), options).await.unwrap();
        session.client.live().session().id().to_owned()
    }

    /// `osier sessions` with these arguments.
    async fn sessions(&self, line: &[&str]) {
        let line = SessionsLine::parse_from(["sessions"].iter().chain(line));
        sessions::run(line.args, self.home.clone()).await.unwrap();
    }

    /// The terminal in a session, and its client.
    async fn terminal(&self, session: &str) -> (TerminalHost, LocalClient) {
        let options = LocalEngineOptions { has_user: true, ..LocalEngineOptions::default() };
        let (engine, session) = self.open(&["--resume", session], options).await;
        let (info, home) = (session.info(), session.setup.home.clone());
        let opened = OpenedSession { info, client: Arc::new(session.client.clone()) };
        (TerminalHost::local(engine, NewSessionOptions::default(), home, opened), session.client)
    }

    /// The log of a session.
    async fn log(&self, session: &str) -> String {
        let found = self.home.engine.find(session, osier_engine::FindOptions::default()).await.unwrap();
        std::fs::read_to_string(found.read().await.unwrap().file().unwrap()).unwrap()
    }

    async fn session_count(&self) -> usize {
        self.home.engine.list(&self.home.list_options(true)).await.unwrap().cards.len()
    }

    /// A session with two turns.
    async fn talk(&self) -> String {
        let session = self.print(&[], OutputMode::Text, "read notes.txt").await;
        self.print(&["--resume", &session], OutputMode::Text, "thank you").await;
        self.calls();
        session
    }
}

#[tokio::test]
async fn print_and_json_mode_ask_about_the_prompt_its_context_and_its_tool_calls() {
    for mode in [OutputMode::Text, OutputMode::Json] {
        let program = Program::new();
        let session = program.print(&[], mode, "read notes.txt").await;
        let calls = program.calls();
        let count = |event: &str| calls.iter().filter(|call| **call == event).count();
        for once in ["input", "agent_start", "before_agent_start", "tool_call", "tool_result", "agent_end"] {
            assert_eq!(count(once), 1, "{once}: {calls:?}");
        }
        assert_eq!(count("context"), 2, "two model calls: {calls:?}");
        assert_eq!(count("before_provider_request"), 2);
        program.hook.alter(&["input", "tool_result"]);
        program.print(&["--resume", &session], mode, "a xylophone").await;
        let log = program.log(&session).await;
        assert!(log.contains(ALTERED) && !log.contains("xylophone"), "{log}");
        program.hook.alter(&["tool_result"]);
        program.hook.refuse(&["tool_call"]);
        program.print(&["--resume", &session], mode, "read notes.txt").await;
        assert!(program.log(&session).await.contains("refused"));
    }
}

#[tokio::test]
async fn print_and_json_mode_end_when_a_hook_handles_the_prompt() {
    for mode in [OutputMode::Text, OutputMode::Json] {
        let program = Program::new();
        program.hook.refuse(&["input"]);
        let session = program.print(&[], mode, "read notes.txt").await;
        assert_eq!(program.calls(), ["input"]);
        assert_eq!(program.log(&session).await.lines().count(), 1, "only the header is stored");
    }
}

#[tokio::test]
async fn the_command_line_asks_once_about_each_move() {
    let program = Program::new();
    let session = &program.talk().await;
    for line in [&["move", session, "root"][..], &["undo", session], &["redo", session]] {
        let before = program.log(session).await;
        program.hook.refuse(&["session_before_tree"]);
        program.sessions(line).await;
        assert_eq!(program.calls(), ["session_before_tree"], "{line:?}");
        assert_eq!(program.log(session).await, before, "{line:?}");
        program.hook.refuse(&[]);
        program.sessions(line).await;
        assert_eq!(program.calls(), ["session_before_tree", "session_tree"], "{line:?}");
        assert_ne!(program.log(session).await, before, "{line:?}");
    }
}

#[tokio::test]
async fn a_hook_writes_the_summary_of_a_move_on_the_command_line() {
    let program = Program::new();
    let session = &program.talk().await;
    program.hook.alter(&["session_before_tree"]);
    program.sessions(&["move", session, "root", "--summarize"]).await;
    assert_eq!(program.calls(), ["session_before_tree", "session_tree"]);
    let log = program.log(session).await;
    assert!(log.contains(r#""summary":"altered""#) && log.contains(r#""fromHook":true"#), "{log}");
}

#[tokio::test]
async fn the_command_line_asks_once_about_a_compaction_and_its_undo() {
    let program = Program::new();
    let session = &program.talk().await;
    let before = program.log(session).await;
    program.hook.refuse(&["session_before_compact"]);
    program.sessions(&["compact", session]).await;
    assert_eq!(program.calls(), ["session_before_compact"]);
    assert_eq!(program.log(session).await, before);
    program.hook.refuse(&[]);
    program.hook.alter(&["session_before_compact"]);
    program.sessions(&["compact", session]).await;
    assert_eq!(program.calls(), ["session_before_compact", "session_compact"]);
    assert!(program.log(session).await.contains(r#""summary":"altered""#));
    program.sessions(&["compaction", session, "--undo"]).await;
    assert_eq!(program.calls(), ["session_before_tree", "session_tree"]);
}

#[tokio::test]
async fn the_command_line_asks_once_about_a_fork() {
    let program = Program::new();
    let session = &program.talk().await;
    program.hook.refuse(&["session_before_fork"]);
    program.sessions(&["fork", session]).await;
    assert_eq!(program.calls(), ["session_before_fork"]);
    assert_eq!(program.session_count().await, 1);
    program.hook.refuse(&[]);
    program.sessions(&["fork", session]).await;
    assert_eq!(program.calls(), ["session_before_fork", "session_fork"]);
    assert_eq!(program.session_count().await, 2);
}

#[tokio::test]
async fn the_terminal_asks_once_about_another_session_and_stays_if_refused() {
    let program = Program::new();
    let session = program.talk().await;
    let (host, _client) = program.terminal(&session).await;
    let fork = || OpenTarget::Fork { from: osier_protocol::ForkPosition::Current };
    let targets = || [OpenTarget::New, OpenTarget::Named(session.clone()), fork()];
    let gates = ["session_before_switch", "session_before_switch", "session_before_fork"];
    program.calls();
    program.hook.refuse(&["session_before_switch", "session_before_fork"]);
    for (target, gate) in targets().into_iter().zip(gates) {
        assert!(host.open(target).await.unwrap().is_none());
        assert_eq!(program.calls(), [gate]);
        assert_eq!(host.session().id.as_str(), session, "still in this session");
    }
    program.hook.refuse(&[]);
    let events = ["session_switch", "session_switch", "session_fork"];
    for (target, (gate, event)) in targets().into_iter().zip(gates.into_iter().zip(events)) {
        assert!(host.open(target).await.unwrap().is_some());
        assert_eq!(program.calls(), [gate, event]);
    }
}

#[tokio::test]
async fn the_terminal_asks_before_it_opens_another_session() {
    let program = Program::new();
    let (current, other) = (program.talk().await, program.talk().await);
    let (host, _client) = program.terminal(&current).await;
    program.hook.take_calls();
    program.hook.refuse(&["session_before_switch"]);
    assert!(host.open(OpenTarget::Named(other)).await.unwrap().is_none());
    assert_eq!(program.hook.take_calls(), ["session_before_switch"], "the other session was not opened");
}

#[tokio::test]
async fn canceling_the_switch_to_another_session_loses_no_queued_prompts() {
    let program = Program::new();
    let session = program.talk().await;
    let (host, client) = program.terminal(&session).await;
    // The turn waits for an answer, and a prompt waits for the turn.
    let prompt = |text, when| ClientCommand::timed_prompt(Prompt::typed(text), when);
    client.send(prompt("run touch made", PromptTiming::Now)).await.unwrap();
    client.send(prompt("and then", PromptTiming::FollowUp)).await.unwrap();
    program.hook.hang(&["session_switch"]);
    let mut events = Vec::new();
    tokio::select! {
        _ = host.open(OpenTarget::New) => panic!("the hook does not answer"),
        () = async {
            while !events.contains(&"session_switch") {
                tokio::task::yield_now().await;
                events.extend(program.hook.take_calls());
            }
        } => {}
    }
    let state = client.attach(None).await.unwrap().state;
    assert!(state.turn_running, "the turn goes on");
    let queued: Vec<&str> = state.queue.follow_up.iter().map(|prompt| prompt.text.as_str()).collect();
    assert_eq!(queued, ["and then"]);
    assert_eq!(host.session().id.as_str(), session, "still in this session");
}

#[tokio::test]
async fn a_command_closes_its_session_before_it_ends() {
    let program = Program::new();
    let session = program.talk().await;
    program.home.engine.close(std::time::Duration::from_secs(60)).await;
    program.hook.take_calls();
    program.sessions(&["rename", &session, "plans"]).await;
    let calls = program.hook.take_calls();
    assert!(calls.ends_with(&["session_shutdown", "session_closed"]), "{calls:?}");
}
