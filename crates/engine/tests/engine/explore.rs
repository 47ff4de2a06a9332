//! Tries of one prompt: their branches and copies, keeping one, conflicts, crashes, and what stays untouched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use futures_util::StreamExt;
use osier_engine::{AgentSpec, EngineConfig, ExploreConfig, KeepWhen, LiveSession, LocalClient, Workspace};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{CancellationToken, ContentBlock, DeltaStream, Message, Model, Request};
use osier_protocol::explore::{
    ExploreCommand, ExploreReply, ExploreReport, KeptTry, TryOptions, TryPlace, TryStatus,
};
use osier_protocol::{
    Allowance, Client, ClientCommand, ClientError, ClientEvent, CommandReply, ErrorCode, Prompt, QueryAnswer,
    SessionQuery, UserAnswer,
};
use osier_tools::{CommandEnv, ToolSet};
use serde_json::{Value, json};

use crate::support::{LIMIT, TestEngine, next_event};

/// A model that does what the lines of the last prompt say, one for each call: `write FILE TEXT`, `run COMMAND`, `read FILE`,
/// `ls`, `find` or `grep PATH`, `delegate LINE`, `hang`, `call TOOL`, `tools`, which answers with their names, or `answer TEXT`. It answers `done` after the last line.
#[derive(Debug)]
struct LineModel;

fn text_of(content: &[ContentBlock]) -> String {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.clone(),
        _ => String::new(),
    };
    content.iter().map(text).collect()
}

fn reply(request: &Request) -> ScriptedTurn {
    if request.system.starts_with("You compare") {
        // The request of the user is there once, and not cut.
        let asked: String = request
            .messages
            .iter()
            .map(|message| match message {
                Message::User(user) => text_of(&user.content),
                _ => String::new(),
            })
            .collect();
        let ends = asked.matches("the end of a long request").count();
        return ScriptedTurn::reply(format!("Ranking: 2, 1\nTry 2 is simpler. Ends: {ends}")).usage(50, 9);
    }
    let is_user = |message: &Message| matches!(message, Message::User(_));
    let at = request.messages.iter().rposition(is_user).unwrap_or_default();
    let Some(Message::User(user)) = request.messages.get(at) else { return ScriptedTurn::reply("?") };
    let results: Vec<String> = request.messages[at..]
        .iter()
        .filter_map(|message| match message {
            Message::ToolResult(result) => Some(text_of(&result.content)),
            _ => None,
        })
        .collect();
    let text = text_of(&user.content);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let Some(line) = lines.get(results.len()) else {
        return ScriptedTurn::reply(format!("done: {}", results.last().cloned().unwrap_or_default()))
            .usage(10, 5);
    };
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let id = format!("c{}", results.len());
    match word {
        "write" => {
            let content = second.replace("\\n", "\n");
            ScriptedTurn::new().call(id, "write", &json!({ "path": first, "content": content })).usage(10, 5)
        }
        "read" => ScriptedTurn::new().call(id, "read", &json!({ "path": rest })).usage(10, 5),
        "run" => ScriptedTurn::new().call(id, "bash", &json!({ "command": rest })).usage(10, 5),
        "hang" => ScriptedTurn::reply("I wait").hang(),
        "ls" | "find" | "grep" => {
            ScriptedTurn::new().call(id, word, &json!({ "path": rest, "pattern": "secret" })).usage(10, 5)
        }
        "delegate" => {
            ScriptedTurn::new().call(id, "task", &json!({ "tasks": [{ "prompt": rest }] })).usage(10, 5)
        }
        "call" => ScriptedTurn::new().call(id, rest, &json!({})).usage(10, 5),
        "tools" => {
            let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
            ScriptedTurn::reply(names.join(" ")).usage(10, 5)
        }
        "answer" => ScriptedTurn::reply(rest).usage(10, 5),
        _ => ScriptedTurn::reply(format!("what is {line}?")).usage(10, 5),
    }
}

impl Model for LineModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        ScriptedModel::new([reply(&request)]).stream(request, cancel)
    }
}

/// A project and an engine with a session in it.
pub(crate) struct Explorer {
    pub(crate) engine: TestEngine,
    pub(crate) project: PathBuf,
    pub(crate) live: Arc<LiveSession>,
    pub(crate) client: LocalClient,
}

fn env() -> CommandEnv {
    CommandEnv::new(std::env::vars_os().filter(|(name, _)| name != "HOME"))
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    let output = Command::new("git").args(settings).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

impl Explorer {
    /// A repository with a commit, a staged change, a change that is not staged, and a file that git does not know.
    pub(crate) async fn in_repository() -> Explorer {
        let engine = new_engine(None);
        let project = engine.folder.path().join("project");
        fs::create_dir(&project).unwrap();
        git(&project, &["init", "--quiet"]);
        fs::write(project.join("a.txt"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
        fs::write(project.join("b.txt"), "b\n").unwrap();
        fs::write(project.join(".gitignore"), "target\n").unwrap();
        git(&project, &["add", "."]);
        git(&project, &["commit", "--quiet", "-m", "first"]);
        fs::write(project.join("b.txt"), "staged\n").unwrap();
        git(&project, &["add", "b.txt"]);
        fs::write(project.join("b.txt"), "not staged\n").unwrap();
        fs::write(project.join("new.txt"), "untracked\n").unwrap();
        fs::create_dir(project.join("target")).unwrap();
        fs::write(project.join("target/big"), "ignored\n").unwrap();
        Explorer::open(engine, project).await
    }

    pub(crate) async fn open(engine: TestEngine, project: PathBuf) -> Explorer {
        let live = engine.create(KeepWhen::Used).await;
        let client = engine.engine.connect(&live, &spec(&engine, &project)).await.unwrap();
        Explorer { engine, project, live, client }
    }

    /// The only session in this folder, in a new engine.
    pub(crate) async fn reopen(folder: &Path) -> Explorer {
        let (engine, project) = (new_engine(Some(folder)), folder.join("project"));
        let cards = engine.engine.list(&osier_engine::ListOptions::default()).await.unwrap().cards;
        let live = engine.open(&cards[0].id).await;
        let client = engine.engine.connect(&live, &spec(&engine, &project)).await.unwrap();
        Explorer { engine, project, live, client }
    }

    pub(crate) async fn close(self) {
        let Explorer { engine, live, client, .. } = self;
        drop((live, client));
        engine.engine.close(std::time::Duration::from_secs(60)).await;
    }

    pub(crate) async fn send(&self, command: ExploreCommand) -> Result<ExploreReply, ClientError> {
        match self.client.send(ClientCommand::Explore(command)).await? {
            CommandReply::Explore(reply) => Ok(*reply),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn start(
        &self,
        prompt: &str,
        instructions: &[&str],
    ) -> Result<ExploreReport, ClientError> {
        let tries = instructions
            .iter()
            .map(|text| TryOptions { instructions: Some((*text).to_owned()), ..TryOptions::default() });
        let command = ExploreCommand::Start { prompt: Prompt::text(prompt), tries: tries.collect() };
        match self.send(command).await? {
            ExploreReply::Started(report) => Ok(report),
            other => panic!("{other:?}"),
        }
    }

    /// Runs tries to their end.
    pub(crate) async fn explore(&self, prompt: &str, instructions: &[&str]) -> ExploreReport {
        let mut events = self.client.attach(None).await.unwrap().events;
        let id = self.start(prompt, instructions).await.unwrap().id;
        let is_end = |event| matches!(event, ClientEvent::Explore { report } if report.id == id && !report.is_running());
        while !is_end(next_event(&mut events).await) {}
        // Then the leaf returns to the start.
        let end = async {
            while self.engine.engine.list_explores().iter().any(|stored| stored.id == id && stored.running) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, end).await.expect("the explore ends");
        self.reports().await.pop().unwrap()
    }

    pub(crate) async fn reports(&self) -> Vec<ExploreReport> {
        match self.client.query(SessionQuery::Explores).await.unwrap() {
            QueryAnswer::Explores { explores } => explores,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn keep(&self, number: u32) -> Result<KeptTry, ClientError> {
        match self.send(ExploreCommand::Keep { explore: None, number }).await? {
            ExploreReply::Kept(kept) => Ok(kept),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.project.join(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.project.join(name), text).unwrap();
    }

    /// Everything that git tells about the project.
    pub(crate) fn git_state(&self) -> String {
        let commands: [&[&str]; 6] = [
            &["status", "--porcelain=v2", "--ignored"],
            &["worktree", "list"],
            &["for-each-ref"],
            &["stash", "list"],
            &["diff", "--cached"],
            &["count-objects", "-v"],
        ];
        commands.iter().map(|command| git(&self.project, command)).collect()
    }

    pub(crate) fn leaf(&self) -> Option<String> {
        let (state, at) = self.live.session().main_cursor().state_and_place();
        at.map(|seq| state.tree.id(seq).to_string())
    }
}

pub(crate) fn new_engine(folder: Option<&Path>) -> TestEngine {
    let worktrees = match folder {
        Some(folder) => folder.join("worktrees"),
        None => tempfile::tempdir().unwrap().keep(),
    };
    let explore = ExploreConfig { worktrees, max_copy_bytes: 1 << 20 };
    let config = EngineConfig { explore: Some(explore), ..EngineConfig::default() };
    match folder {
        Some(folder) => TestEngine::in_folder(folder, config),
        None => TestEngine::with_config(config),
    }
}

pub(crate) fn spec(engine: &TestEngine, project: &Path) -> AgentSpec {
    let spec = engine.agent();
    let mut workspace = Workspace::clone(&spec.workspace);
    workspace.models.model = Arc::new(LineModel);
    workspace.tools = ToolSet::standard();
    workspace.tool_context.cwd = project.to_owned();
    workspace.tool_context.env = Arc::new(env());
    AgentSpec { workspace: Arc::new(workspace), has_user: false, ..spec }
}

fn statuses(report: &ExploreReport) -> Vec<TryStatus> {
    report.tries.iter().map(|one| one.status).collect()
}

#[tokio::test]
async fn each_try_has_its_own_branch_and_its_own_copy_and_the_project_stays_as_it_is() {
    let explorer = Explorer::in_repository().await;
    explorer.client.send(ClientCommand::prompt("answer hello")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let (before, leaf) = (explorer.git_state(), explorer.leaf());
    let repository = bytes_below(&explorer.project.join(".git"));
    let report =
        explorer.explore("read a.txt", &["write a.txt first", "write a.txt second\nwrite c.txt new"]).await;
    assert_eq!(statuses(&report), [TryStatus::Completed, TryStatus::Completed], "{report:#?}");
    assert_eq!(report.tries.iter().map(|one| one.files_changed).collect::<Vec<_>>(), [1, 2]);
    assert!(report.tries.iter().all(|one| one.place == TryPlace::Worktree));
    // Not a byte of the user's repository changed, the index included.
    assert!(bytes_below(&explorer.project.join(".git")) == repository);
    assert_eq!(explorer.git_state(), before);
    // Both the position of the clients and the leaf of the log are where they were.
    let tree = explorer.live.session().tree();
    assert_eq!(explorer.leaf(), leaf);
    assert!(tree.same_place(tree.leaf(), leaf.as_deref().and_then(|id| tree.find(id))));
    let tips: Vec<_> = report.tries.iter().map(|one| one.tip_id.clone().unwrap()).collect();
    assert_ne!(tips[0], tips[1]);
    for (number, text) in [(0, "first"), (1, "second")] {
        let folder = PathBuf::from(report.tries[number].folder.as_ref().unwrap());
        assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), text);
        // What was not committed is there too; what git ignores is not.
        assert_eq!(fs::read_to_string(folder.join("b.txt")).unwrap(), "not staged\n");
        assert_eq!(fs::read_to_string(folder.join("new.txt")).unwrap(), "untracked\n");
        assert!(!folder.join("target").exists());
        assert!(git(&folder, &["log", "--oneline"]).contains("first"));
    }
}

#[tokio::test]
async fn clients_stay_where_they_are_also_in_a_session_that_has_only_settings() {
    let explorer = Explorer::in_repository().await;
    let mut events = explorer.client.attach(None).await.unwrap().events;
    let mode = osier_tools::ApprovalMode::AutoEdit;
    explorer.client.send(ClientCommand::SetApproval { mode }).await.unwrap();
    explorer.explore("answer x", &["", ""]).await;
    // It comes after everything that happened.
    explorer.client.send(ClientCommand::Rename { name: "end".to_owned() }).await.unwrap();
    let mut has_returned = false;
    while let Some(event) = events.next().await {
        assert!(!matches!(event, ClientEvent::Moved(_)), "{event:?}");
        let ClientEvent::Entry(entry) = event else { continue };
        let kind = entry.entry.view().map(|view| view.kind);
        has_returned |= kind == Some(osier_tree::EntryKind::Leaf);
        if kind == Some(osier_tree::EntryKind::SessionInfo) {
            break;
        }
    }
    assert!(has_returned, "one move returns the leaf of the log");
}

#[tokio::test]
async fn tools_do_not_open_files_outside_the_copy() {
    let explorer = Explorer::in_repository().await;
    let outside = explorer.project.join("b.txt");
    let report = explorer.explore("answer x", &["", ""]).await;
    assert_eq!(report.tries.len(), 2);
    for line in [
        format!("write {} x", outside.display()),
        format!("read {}", outside.display()),
        "write ../x y".into(),
    ] {
        let report = explorer.explore(&line, &[""]).await;
        assert!(report.tries[0].last_words.contains("outside"), "{line}: {}", report.tries[0].last_words);
    }
    assert_eq!(explorer.file("b.txt"), "not staged\n");
}

/// The content of all files below a folder.
pub(crate) fn bytes_below(folder: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (std::collections::BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = open.pop() {
        for path in fs::read_dir(next).unwrap().flatten().map(|entry| entry.path()) {
            match path.is_dir() {
                true => open.push(path),
                false => drop(found.insert(path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    found
}

#[tokio::test]
async fn tools_and_tasks_of_a_try_do_not_leave_its_copy_through_links() {
    let engine = new_engine(None);
    let (project, outside) = (engine.folder.path().join("project"), engine.folder.path().join("outside"));
    for folder in [&project, &outside] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(outside.join("secret.txt"), "secret words").unwrap();
    git(&project, &["init", "--quiet"]);
    std::os::unix::fs::symlink(&outside, project.join("out")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret.txt"), project.join("link.txt")).unwrap();
    let mut spec = spec(&engine, &project);
    Arc::make_mut(&mut spec.workspace).subagents = Some(crate::subagents::config());
    let live = engine.create(KeepWhen::Used).await;
    let client = engine.engine.connect(&live, &spec).await.unwrap();
    let explorer = Explorer { engine, project, live, client };
    let before = bytes_below(&outside);
    let lines = [
        "read out/secret.txt".to_owned(),
        "read link.txt".to_owned(),
        "write out/new.txt x".to_owned(),
        "write link.txt x".to_owned(),
        "ls out".to_owned(),
        "find out".to_owned(),
        "grep out".to_owned(),
        format!("grep {}", outside.display()),
        format!("delegate read {}", outside.join("secret.txt").display()),
        "delegate write out/new.txt x".to_owned(),
        format!("delegate write {} x", explorer.project.join("new.txt").display()),
    ];
    for line in lines {
        let report = explorer.explore(&line, &[""]).await;
        let words = &report.tries[0].last_words;
        assert!(words.contains("outside") && !words.contains("secret words"), "{line}: {words}");
    }
    assert!(bytes_below(&outside) == before && !explorer.project.join("new.txt").exists());
}

#[tokio::test]
async fn without_git_tries_work_in_a_copy_or_only_read() {
    let engine = new_engine(None);
    let project = engine.folder.path().join("plain");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("a.txt"), "one\n").unwrap();
    let explorer = Explorer::open(engine, project).await;
    let report = explorer.explore("read a.txt\nwrite a.txt two", &["", ""]).await;
    assert_eq!(report.tries[0].place, TryPlace::Copy);
    assert_eq!(explorer.file("a.txt"), "one\n");
    assert!(explorer.keep(2).await.unwrap().kept);
    assert_eq!(explorer.file("a.txt"), "two");
    explorer.write("big", &"x".repeat(2 << 20));
    let report = explorer.explore("write a.txt three", &[""]).await;
    let TryPlace::ReadOnly { reason } = &report.tries[0].place else { panic!("{report:?}") };
    assert!(reason.contains("explore.max_copy_mb"), "{reason}");
    assert_eq!(explorer.file("a.txt"), "two");
}

#[tokio::test]
async fn a_directory_that_an_outer_repository_ignores_has_no_git() {
    let engine = new_engine(None);
    let outer = engine.folder.path().join("home");
    let project = outer.join("code");
    fs::create_dir_all(&project).unwrap();
    git(&outer, &["init", "--quiet"]);
    fs::write(outer.join(".gitignore"), "*\n").unwrap();
    fs::write(outer.join("settings"), "mine\n").unwrap();
    git(&outer, &["add", "--force", "settings"]);
    git(&outer, &["commit", "--quiet", "-m", "first"]);
    fs::write(project.join("a.txt"), "one\n").unwrap();
    let explorer = Explorer::open(engine, project).await;
    let report = explorer.explore("read a.txt\nwrite a.txt two", &[""]).await;
    let one = &report.tries[0];
    assert_eq!((&one.place, one.files_changed), (&TryPlace::Copy, 1), "{report:?}");
    assert!(explorer.keep(1).await.unwrap().kept);
    assert_eq!(explorer.file("a.txt"), "two");
    // A file that git tracks makes it a part of the repository.
    git(&explorer.project, &["add", "--force", "a.txt"]);
    let report = explorer.explore("answer x", &[""]).await;
    assert_eq!(report.tries[0].place, TryPlace::Worktree);
}

#[tokio::test]
async fn what_a_try_writes_and_removes_again_is_not_stored() {
    let explorer = Explorer::in_repository().await;
    let random: String =
        (0..200_000).map(|n: u64| char::from(b'a' + (n * n * 31 % 9973 % 26) as u8)).collect();
    let prompt = format!("write large {random}\nread a.txt\nwrite large x");
    let report = explorer.explore(&prompt, &[""]).await;
    assert_eq!(report.tries[0].files_changed, 1);
    let base = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder).join("base.git");
    let large = fs::write(explorer.project.join("copy"), &random)
        .map(|()| git(&explorer.project, &["hash-object", "copy"]))
        .unwrap();
    let (folder, file) = large.trim().split_at(2);
    assert!(!base.join("objects").join(folder).join(file).exists());
}

#[tokio::test]
async fn a_try_without_a_sandbox_asks_before_each_command_also_before_allowed_ones() {
    let Explorer { engine, project, .. } = Explorer::in_repository().await;
    let mut spec = spec(&engine, &project);
    assert!(spec.workspace.tool_context.sandbox.is_none());
    spec.has_user = true;
    let live = engine.create(KeepWhen::Used).await;
    let client = engine.engine.connect(&live, &spec).await.unwrap();
    let explorer = Explorer { engine, project, live, client };
    let mut events = explorer.client.attach(None).await.unwrap().events;
    for allowance in [Allowance::Command("echo hi".to_owned()), Allowance::Tool("bash".to_owned())] {
        explorer.client.send(ClientCommand::prompt("run echo hi")).await.unwrap();
        let mut asked = None;
        loop {
            match next_event(&mut events).await {
                ClientEvent::Asked { id, .. } => {
                    asked = Some(id);
                    let answer = UserAnswer::Always { allowance: allowance.clone() };
                    let command = ClientCommand::Answer { question: id, answer };
                    explorer.client.send(command).await.unwrap();
                }
                ClientEvent::TurnEnded { .. } => break,
                _ => {}
            }
        }
        assert_eq!(asked.is_some(), matches!(allowance, Allowance::Command(_)));
        explorer.start("run echo hi", &[""]).await.unwrap();
        let mut asker = None;
        loop {
            match next_event(&mut events).await {
                ClientEvent::Asked { id, agent, .. } => {
                    asker = agent;
                    let answer = UserAnswer::No { reason: String::new() };
                    explorer.client.send(ClientCommand::Answer { question: id, answer }).await.unwrap();
                }
                ClientEvent::Explore { report } if !report.is_running() => break,
                _ => {}
            }
        }
        assert_eq!(asker.as_deref(), Some("try 1"));
    }
}

#[tokio::test]
async fn many_untracked_files_or_a_missing_git_leave_a_try_that_only_reads() {
    let explorer = Explorer::in_repository().await;
    explorer.write("big", &"x".repeat(2 << 20));
    let report = explorer.explore("write a.txt changed", &[""]).await;
    let TryPlace::ReadOnly { reason } = &report.tries[0].place else { panic!("{report:?}") };
    assert!(reason.contains("explore.max_copy_mb"), "{reason}");
    assert!(report.tries[0].last_words.contains("no tool"), "{report:?}");
    let kept = explorer.keep(1).await.unwrap();
    assert!(kept.kept && kept.files.is_empty(), "the leaf moves, and no file changes");
    let without_git = CommandEnv::new([("PATH".into(), "/nowhere".into())]);
    let mut spec = spec(&explorer.engine, &explorer.project);
    Arc::make_mut(&mut spec.workspace).tool_context.env = Arc::new(without_git);
    let live = explorer.engine.create(KeepWhen::Used).await;
    let client = explorer.engine.engine.connect(&live, &spec).await.unwrap();
    let explorer = Explorer { client, live, ..explorer };
    let report = explorer.explore("write a.txt changed", &[""]).await;
    let TryPlace::ReadOnly { reason } = &report.tries[0].place else { panic!("{report:?}") };
    assert!(reason.contains("git"), "{reason}");
}

#[tokio::test]
async fn tries_use_the_models_that_were_named() {
    let explorer = Explorer::in_repository().await;
    let mut events = explorer.client.attach(None).await.unwrap().events;
    let models = [None, Some("offline/offline".to_owned())];
    let tries = models.map(|model| TryOptions { model, ..TryOptions::default() }).to_vec();
    explorer.send(ExploreCommand::Start { prompt: Prompt::text("answer x"), tries }).await.unwrap();
    while !matches!(events.next().await, Some(ClientEvent::Explore { report }) if !report.is_running()) {}
    let report = explorer.reports().await.pop().unwrap();
    let models: Vec<&str> = report.tries.iter().map(|one| one.model.as_str()).collect();
    assert_eq!(models, ["scripted/scripted", "offline/offline"]);
    let kinds = explorer.live.session().tree();
    let changed = kinds.heads().iter().filter(|(_, head)| head.kind == osier_tree::EntryKind::ModelChange);
    assert!(changed.count() > 0, "the branch says which model it used");
}

#[tokio::test]
async fn deleting_the_session_deletes_the_copies_of_its_tries() {
    let explorer = Explorer::in_repository().await;
    let report = explorer.explore("answer x", &["", ""]).await;
    let copy = PathBuf::from(report.tries[0].folder.as_ref().unwrap());
    assert!(copy.exists());
    let id = explorer.live.session().id().to_owned();
    let card = explorer.engine.find(&id).await.card().await.unwrap();
    let Explorer { engine, live, client, project } = explorer;
    let closed = Arc::downgrade(&live);
    drop((live, client));
    while closed.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
    let plan = engine.engine.plan_delete(vec![card]).await.unwrap();
    // The session closes in the background.
    while !engine.engine.delete(&plan, false).await.unwrap().kept.is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(!copy.exists() && engine.engine.list_explores().is_empty());
    assert!(project.join("a.txt").exists());
}

#[tokio::test]
async fn a_canceled_try_ends_and_the_others_go_on() {
    let explorer = Explorer::in_repository().await;
    let mut events = explorer.client.attach(None).await.unwrap().events;
    explorer.start("read a.txt", &["hang", "write c.txt x"]).await.unwrap();
    let mut is_canceled = false;
    loop {
        let Some(ClientEvent::Explore { report }) = events.next().await else { continue };
        if report.tries[1].status == TryStatus::Completed && !is_canceled {
            assert_eq!(report.tries[0].status, TryStatus::Running);
            is_canceled = true;
            explorer.send(ExploreCommand::Cancel { explore: None, number: Some(1) }).await.unwrap();
        }
        if !report.is_running() {
            assert_eq!(statuses(&report), [TryStatus::Cancelled, TryStatus::Completed]);
            break;
        }
    }
}

#[tokio::test]
async fn two_tries_are_compared_ranked_and_removed() {
    let explorer = Explorer::in_repository().await;
    let request = format!("read a.txt\nls . {} the end of a long request", "long ".repeat(100));
    let report = explorer.explore(&request, &["write a.txt first", "write a.txt second"]).await;
    let query = SessionQuery::CompareTries { explore: None, left: 1, right: 2 };
    let QueryAnswer::CompareTries(comparison) = explorer.client.query(query).await.unwrap() else { panic!() };
    let diff = comparison.diff.unwrap();
    assert!(diff.contains("-first") && diff.contains("+second"), "{diff}");
    assert_eq!(comparison.left_files.len(), 1);
    let ExploreReply::Ranked(ranking) = explorer.send(ExploreCommand::Rank { explore: None }).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(ranking.order, [2, 1]);
    assert!(ranking.text.contains("simpler. Ends: 1"), "{}", ranking.text);
    assert_eq!(explorer.engine.engine.list_explores().len(), 1);
    explorer.send(ExploreCommand::Remove { explore: None, number: Some(1), force: false }).await.unwrap();
    let stored = explorer.engine.engine.list_explores().remove(0);
    assert_eq!((stored.tries, stored.copies.as_slice()), (2, &[2][..]));
    let error = explorer.keep(1).await.unwrap_err();
    assert!(error.message.contains("removed"), "{error:?}");
    explorer.send(ExploreCommand::Remove { explore: None, number: None, force: false }).await.unwrap();
    let stored = explorer.engine.engine.list_explores().remove(0);
    assert!(!stored.has_copies() && stored.tries == 2, "{stored:?}");
    // The branches stay, and what the tries changed is still known.
    let after = explorer.reports().await.pop().unwrap();
    assert_eq!(after.tries[1].tip_id, report.tries[1].tip_id);
    assert_eq!(after.tries.iter().map(|one| one.files_changed).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(after.place_note(), "the copies were removed");
    let query = SessionQuery::CompareTries { explore: None, left: 1, right: 2 };
    let QueryAnswer::CompareTries(comparison) = explorer.client.query(query).await.unwrap() else { panic!() };
    assert_eq!((comparison.left_files[0].path.as_str(), comparison.diff.as_deref()), ("a.txt", None));
    let folder = PathBuf::from(&stored.folder);
    let left: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "explore.json" || name == "lock"), "{left:?}");
}

#[tokio::test]
async fn copies_are_removed_also_without_git_and_again() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt", &["write a.txt first", ""]).await;
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    let remove = |number| explorer.send(ExploreCommand::Remove { explore: None, number, force: false });
    // What the try changed cannot be found out any more.
    fs::remove_dir_all(folder.join("base.git/refs")).unwrap();
    for number in [Some(1), None, None, Some(1)] {
        remove(number).await.unwrap();
    }
    assert!(!explorer.engine.engine.list_explores()[0].has_copies());
    // A process died while it removed these.
    fs::create_dir_all(folder.join("2.removed/src")).unwrap();
    fs::create_dir_all(folder.join("base.git/objects")).unwrap();
    remove(None).await.unwrap();
    assert!(!folder.join("2.removed").exists() && !folder.join("base.git").exists());
}

#[tokio::test]
async fn a_removal_that_died_does_not_change_what_is_known_of_the_try() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt", &["write a.txt first", ""]).await;
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    explorer.send(ExploreCommand::Remove { explore: None, number: Some(1), force: false }).await.unwrap();
    // The process died in the middle of the copy.
    fs::create_dir_all(folder.join("1")).unwrap();
    explorer.send(ExploreCommand::Remove { explore: None, number: None, force: false }).await.unwrap();
    let changed: Vec<usize> = explorer.reports().await[0].tries.iter().map(|one| one.files_changed).collect();
    assert_eq!(changed, [1, 0]);
}

#[tokio::test]
async fn a_copy_is_no_longer_one_before_its_files_are_deleted() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt", &["write a.txt first", ""]).await;
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    // The second copy cannot be moved away, so that removing ends before anything is deleted.
    fs::write(folder.join("2.removed"), "").unwrap();
    explorer.send(ExploreCommand::Remove { explore: None, number: None, force: false }).await.unwrap_err();
    assert_eq!(fs::read_to_string(folder.join("1.removed/a.txt")).unwrap(), "first");
    assert_eq!(explorer.engine.engine.list_explores()[0].copies, [2]);
    let error = explorer.keep(1).await.unwrap_err();
    assert!(error.message.contains("removed"), "{error:?}");
}

#[tokio::test]
async fn after_a_crash_the_next_agent_returns_the_leaf_and_the_tries_are_interrupted() {
    let explorer = Explorer::in_repository().await;
    explorer.client.send(ClientCommand::prompt("answer hello")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let leaf = explorer.leaf();
    let report = explorer.explore("answer x", &["", ""]).await;
    // A process that died: the last entry is in a try, and its folder is not locked.
    let session = explorer.live.session();
    let id = session.id().to_owned();
    let tip = report.tries[1].tip_id.clone().unwrap();
    let cursor = session.new_cursor(session.tree().find(&tip)).await.unwrap();
    let message =
        json!({ "type": "message", "parentId": tip, "message": { "role": "user", "content": "go on" } });
    let commit = osier_session::Commit::from_entry(message.to_string().as_bytes()).unwrap();
    cursor.commit(commit).await.unwrap();
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    let record = fs::read_to_string(folder.join("explore.json")).unwrap();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    (record["running"], record["ends"]) = (json!(true), json!({}));
    fs::write(folder.join("explore.json"), record.to_string()).unwrap();
    let Explorer { engine, project, live, client } = explorer;
    drop((client, cursor, live));
    let again = Explorer {
        live: engine.open(&id).await,
        client: reconnect(&engine, &id, &project).await,
        engine,
        project,
    };
    let tree = again.live.session().tree();
    let find = |id: Option<String>| id.as_deref().and_then(|id| tree.find(id));
    assert!(tree.same_place(find(again.leaf()), find(leaf)), "{:?}", again.leaf());
    let report = again.reports().await.pop().unwrap();
    assert_eq!(statuses(&report), [TryStatus::Completed, TryStatus::Interrupted]);
    assert!(again.keep(1).await.unwrap().kept);
}

pub(crate) async fn reconnect(engine: &TestEngine, id: &str, project: &Path) -> LocalClient {
    let live = engine.open(id).await;
    engine.engine.connect(&live, &spec(engine, project)).await.unwrap()
}

#[tokio::test]
async fn wrong_requests_are_explained() {
    let explorer = Explorer::in_repository().await;
    let code = |error: ClientError| error.code;
    assert_eq!(code(explorer.start("x", &[]).await.unwrap_err()), ErrorCode::Usage);
    assert_eq!(code(explorer.start("x", &[""; 17]).await.unwrap_err()), ErrorCode::Usage);
    assert_eq!(code(explorer.start(" ", &[""]).await.unwrap_err()), ErrorCode::Usage);
    assert_eq!(code(explorer.keep(1).await.unwrap_err()), ErrorCode::Usage);
    let tries = vec![TryOptions { model: Some("no-such-model".into()), ..TryOptions::default() }];
    let command = ExploreCommand::Start { prompt: Prompt::text("x"), tries };
    assert_eq!(code(explorer.send(command).await.unwrap_err()), ErrorCode::ModelNotFound);
    explorer.explore("answer x", &[""]).await;
    assert_eq!(code(explorer.keep(9).await.unwrap_err()), ErrorCode::Usage);
}
