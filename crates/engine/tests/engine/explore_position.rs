//! Where a session stands while tries run, when they have ended, and after the death of their process.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_engine::{
    AgentSpec, AppendContent, AppendRequest, EngineConfig, EntryPlacement, KeepWhen, Workspace,
};
use osier_protocol::explore::{ExploreCommand, ExploreReply, TryStatus};
use osier_protocol::{Client, ClientCommand, ClientError, ClientEvent, ErrorCode, QueryAnswer, SessionQuery};
use osier_tools::{CommandEnv, Tool, ToolContext, ToolKind, ToolOutcome, ToolSpec};
use osier_tree::{EntryKind, Seq, SessionTree};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::explore::{Explorer, git, new_engine, spec};
use crate::support::{LIMIT, TestEngine};

/// Whether an entry is in the branch of a try.
fn is_in_try(tree: &SessionTree, seq: Seq) -> bool {
    tree.heads().ancestors(Some(seq)).any(|seq| tree.head(seq).kind == EntryKind::ExploreTry)
}

#[tokio::test]
async fn the_conversation_goes_on_while_tries_run_and_its_end_stays_the_leaf() {
    let explorer = Explorer::in_repository().await;
    let mut events = explorer.client.attach(None).await.unwrap().events;
    explorer.start("read a.txt", &["hang", "hang"]).await.unwrap();
    explorer.client.send(ClientCommand::prompt("answer meanwhile")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let leaf = explorer.leaf().unwrap();
    explorer.send(ExploreCommand::Cancel { explore: None, number: None }).await.unwrap();
    while !matches!(events.next().await, Some(ClientEvent::Explore { report }) if !report.is_running()) {}
    // What needs the end of the explore waits for it.
    explorer.send(ExploreCommand::Remove { explore: None, number: None, force: false }).await.unwrap();
    assert_eq!(explorer.leaf().as_ref(), Some(&leaf));
    let tree = explorer.live.session().tree();
    let seq = tree.find(&leaf).unwrap();
    assert!(tree.same_place(tree.leaf(), Some(seq)));
    assert!(!is_in_try(&tree, seq));
    let QueryAnswer::LastReply { reply } = explorer.client.query(SessionQuery::LastReply).await.unwrap()
    else {
        panic!("a reply")
    };
    assert_eq!(reply.unwrap().text, "meanwhile");
}

/// A tool that does not listen when it is canceled.
#[derive(Debug, Default, Clone)]
struct Deaf {
    started: Arc<Notify>,
    may_end: Arc<Notify>,
}

#[async_trait]
impl Tool for Deaf {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({ "type": "object" });
        let (name, description) = ("deaf".to_owned(), "Ends late".to_owned());
        ToolSpec { name, description, parameters, kind: ToolKind::Reads }
    }

    async fn run(&self, _: Value, _: &ToolContext) -> ToolOutcome {
        self.started.notify_one();
        self.may_end.notified().await;
        ToolOutcome::text("late")
    }
}

#[tokio::test]
async fn the_leaf_returns_when_the_agent_of_a_canceled_try_has_ended() {
    let Explorer { engine, project, live, client } = Explorer::in_repository().await;
    drop((client, live));
    let (spec, deaf) = (spec(&engine, &project), Deaf::default());
    let mut workspace = Workspace::clone(&spec.workspace);
    workspace.tools = workspace.tools.with(Arc::new(deaf.clone()));
    let spec = AgentSpec { workspace: Arc::new(workspace), ..spec };
    let live = engine.create(KeepWhen::Used).await;
    let client = engine.engine.connect(&live, &spec).await.unwrap();
    let explorer = Explorer { engine, project, live, client };
    explorer.client.send(ClientCommand::prompt("answer hello")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let start = explorer.leaf().unwrap();
    let mut events = explorer.client.attach(None).await.unwrap().events;
    explorer.start("call deaf", &[""]).await.unwrap();
    deaf.started.notified().await;
    explorer.send(ExploreCommand::Cancel { explore: None, number: None }).await.unwrap();
    loop {
        let Some(ClientEvent::Explore { report }) = events.next().await else { continue };
        if !report.is_running() {
            assert_eq!(report.tries[0].status, TryStatus::Cancelled);
            break;
        }
    }
    // It is canceled for its clients, but its agent still works.
    assert!(explorer.engine.engine.list_explores()[0].running);
    let tree = explorer.live.session().tree();
    assert!(is_in_try(&tree, tree.leaf().unwrap()));
    deaf.may_end.notify_one();
    explorer.send(ExploreCommand::Remove { explore: None, number: None, force: false }).await.unwrap();
    let tree = explorer.live.session().tree();
    assert!(tree.same_place(tree.leaf(), tree.find(&start)));
    assert!(!explorer.engine.engine.list_explores()[0].running);
    // The log only has the result of a call.
    assert_eq!(explorer.reports().await[0].tries[0].status, TryStatus::Cancelled);
}

/// A session in this folder whose process died when it had started two tries. Returns its id, and where they started.
async fn dead_process(folder: &Path) -> (String, String) {
    let project = folder.join("project");
    std::fs::create_dir(&project).unwrap();
    git(&project, &["init", "--quiet"]);
    let explorer = Explorer::open(new_engine(Some(folder)), project).await;
    explorer.client.send(ClientCommand::prompt("answer hello")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let start = explorer.leaf().unwrap();
    let report = explorer.explore("answer x", &["", ""]).await;
    let session = explorer.live.session();
    let (id, file) = (session.id().to_owned(), session.file().unwrap().to_owned());
    explorer.close().await;
    let text = std::fs::read_to_string(&file).unwrap();
    let last = text.rfind("osier.explore_try").unwrap();
    let end = last + text[last..].find('\n').unwrap() + 1;
    std::fs::write(&file, &text[..end]).unwrap();
    let record = folder.join("worktrees").join(report.id).join("explore.json");
    let text = std::fs::read_to_string(&record).unwrap();
    std::fs::write(record, text.replace("\"running\":false", "\"running\":true")).unwrap();
    (id, start)
}

#[tokio::test]
async fn after_a_crash_the_next_append_continues_from_the_start_of_the_tries() {
    let message = json!({ "role": "user", "content": "go on" }).to_string().into_bytes();
    for of_command in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (id, start) = dead_process(folder.path()).await;
        let engine = new_engine(Some(folder.path()));
        let stored = engine.find(&id).await;
        if of_command {
            let request = AppendRequest { content: AppendContent::Message(message.clone()), parent: None };
            engine.engine.append(&stored, &request).await.unwrap();
        } else {
            let operations = engine.engine.operations(stored);
            operations.append_message(&EntryPlacement::default(), &message).await.unwrap();
        }
        let live = engine.open(&id).await;
        let tree = live.session().tree();
        let leaf = tree.leaf().unwrap();
        assert!(!is_in_try(&tree, leaf), "{of_command}");
        let start = tree.find(&start).unwrap();
        assert!(tree.heads().ancestors(Some(leaf)).any(|seq| seq == start), "{of_command}");
    }
}

#[tokio::test]
async fn a_try_cannot_leave_its_branch_by_backtracking() {
    let Explorer { engine, project, .. } = Explorer::in_repository().await;
    let mut spec = spec(&engine, &project);
    Arc::make_mut(&mut spec.workspace).backtracking = true;
    let live = engine.create(KeepWhen::Used).await;
    let client = engine.engine.connect(&live, &spec).await.unwrap();
    let explorer = Explorer { engine, project, live, client };
    // What follows the last line of a prompt is not the user's.
    explorer.client.send(ClientCommand::prompt("tools\nend")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let QueryAnswer::LastReply { reply } = explorer.client.query(SessionQuery::LastReply).await.unwrap()
    else {
        panic!("a reply")
    };
    let text = reply.unwrap().text;
    assert!(text.contains("backtrack"), "the session has it: {text}");
    let words = explorer.explore("tools\nend", &[""]).await.tries[0].last_words.clone();
    assert!(words.contains("read") && !words.contains("backtrack"), "{words}");
    let tree = explorer.live.session().tree();
    assert!(tree.heads().iter().all(|(_, head)| head.kind != EntryKind::Backtrack));
}

#[tokio::test]
async fn closing_ends_the_tries_and_returns_the_leaf() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    std::fs::create_dir(&project).unwrap();
    git(&project, &["init", "--quiet"]);
    let explorer = Explorer::open(new_engine(Some(folder.path())), project).await;
    explorer.client.send(ClientCommand::prompt("answer hello")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let start = explorer.leaf().unwrap();
    let id = explorer.live.session().id().to_owned();
    explorer.start("hang", &["", ""]).await.unwrap();
    explorer.close().await;
    let engine = new_engine(Some(folder.path()));
    assert!(!engine.engine.list_explores()[0].running);
    let tree = engine.open(&id).await.session().tree();
    assert!(tree.same_place(tree.leaf(), tree.find(&start)));
    let explorer = Explorer::reopen(folder.path()).await;
    let report = explorer.reports().await.remove(0);
    assert!(report.tries.iter().all(|one| one.status == TryStatus::Cancelled), "{report:#?}");
}

#[tokio::test]
async fn another_process_stands_where_the_tries_started() {
    let message = json!({ "role": "user", "content": "go on" }).to_string().into_bytes();
    let explorer = Explorer::in_repository().await;
    explorer.client.send(ClientCommand::prompt("answer hello")).await.unwrap();
    explorer.client.worker().wait_until_idle().await;
    let start = explorer.leaf().unwrap();
    explorer.start("read a.txt", &["hang", "hang"]).await.unwrap();
    let tree = explorer.live.session().tree();
    assert!(is_in_try(&tree, tree.leaf().unwrap()));
    // Another engine stands for another process.
    let config = EngineConfig::clone(explorer.engine.engine.config());
    let other = TestEngine::in_folder(explorer.engine.folder.path(), config);
    let id = explorer.live.session().id();
    let live = other.open(id).await;
    let client = other.engine.connect(&live, &spec(&other, &explorer.project)).await.unwrap();
    let (state, at) = live.session().main_cursor().state_and_place();
    assert!(state.tree.same_place(at, state.tree.find(&start)));
    let session = live.session().describe().await.unwrap();
    let leaf = session["leafEntryId"].as_str().and_then(|id| state.tree.find(id));
    assert!(state.tree.same_place(leaf, state.tree.find(&start)), "{session}");
    drop((client, live));
    // What is appended there continues the conversation, and no try.
    let request = AppendRequest { content: AppendContent::Message(message), parent: None };
    other.engine.append(&other.find(id).await, &request).await.unwrap();
    let tree = other.open(id).await.session().tree();
    let appended = tree.heads().iter().last().unwrap().0;
    assert!(!is_in_try(&tree, appended));
    assert!(tree.same_place(tree.head(appended).parent, tree.find(&start)));
    explorer.send(ExploreCommand::Cancel { explore: None, number: None }).await.unwrap();
    explorer.close().await;
}

#[tokio::test]
async fn canceling_does_not_wait_for_git() {
    let Explorer { engine, project, .. } = Explorer::in_repository().await;
    // A git that waits while a file exists.
    let bin = tempfile::tempdir().unwrap();
    let (program, block) = (bin.path().join("git"), bin.path().join("block"));
    let script = format!(
        "#!/bin/sh\nwhile [ -e '{}' ]; do sleep 0.05; done\nPATH=${{PATH#*:}} exec git \"$@\"\n",
        block.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    let mut spec = spec(&engine, &project);
    let env = CommandEnv::new([("PATH".into(), path.into())]);
    Arc::make_mut(&mut spec.workspace).tool_context.env = Arc::new(env);
    let live = engine.create(KeepWhen::Used).await;
    let client = engine.engine.connect(&live, &spec).await.unwrap();
    let explorer = Explorer { engine, project, live, client };
    explorer.explore("answer x", &["", ""]).await;
    explorer.start("hang", &["", ""]).await.unwrap();
    std::fs::write(&block, "").unwrap();
    let cancel = explorer.send(ExploreCommand::Cancel { explore: None, number: None });
    let canceled = tokio::time::timeout(LIMIT, cancel).await;
    std::fs::remove_file(&block).unwrap();
    canceled.expect("it does not wait").unwrap();
    explorer.close().await;
}

#[tokio::test]
async fn canceling_says_if_nothing_was_canceled_and_means_the_latest_explore() {
    let explorer = Explorer::in_repository().await;
    let cancel = |explore: Option<&str>, number| {
        explorer.send(ExploreCommand::Cancel { explore: explore.map(str::to_owned), number })
    };
    let code = |result: Result<_, ClientError>| result.map(|_: ExploreReply| ()).unwrap_err().code;
    assert_eq!(code(cancel(None, None).await), ErrorCode::Usage, "there is none");
    let first = explorer.start("hang", &["", ""]).await.unwrap().id;
    let second = explorer.start("hang", &["", ""]).await.unwrap().id;
    for wrong in ["", "nothing"] {
        assert_eq!(code(cancel(Some(wrong), None).await), ErrorCode::Usage);
    }
    assert_eq!(code(cancel(None, Some(3)).await), ErrorCode::Usage);
    cancel(None, None).await.unwrap();
    // Waits for the end of the second explore.
    while explorer
        .send(ExploreCommand::Remove { explore: Some(second.clone()), number: None, force: false })
        .await
        .is_err()
    {
        tokio::task::yield_now().await;
    }
    assert_eq!(code(cancel(None, None).await), ErrorCode::TaskNotRunning);
    assert!(explorer.reports().await[0].is_running(), "the first one goes on");
    // Another engine stands for another process.
    let other = TestEngine::in_folder(
        explorer.engine.folder.path(),
        EngineConfig::clone(explorer.engine.engine.config()),
    );
    let live = other.open(explorer.live.session().id()).await;
    let client = other.engine.connect(&live, &spec(&other, &explorer.project)).await.unwrap();
    let command = ExploreCommand::Cancel { explore: Some(first.clone()), number: None };
    let error = client.send(ClientCommand::Explore(command)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::SessionBusy);
    cancel(Some(&first), None).await.unwrap();
}
