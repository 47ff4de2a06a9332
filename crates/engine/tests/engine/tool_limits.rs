//! Tools of hooks: an agent that works for another one has at most the tools that the other one has now, and a try has none that
//! work outside its copy of the project.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use osier_agent::AgentLibrary;
use osier_engine::hooks::{Hook, Hooks, RegisteredHook};
use osier_engine::{EngineConfig, ExploreConfig, SubagentConfig};
use osier_protocol::ClientCommand;
use osier_protocol::{Client, explore::TryPlace};
use osier_session::Session;
use osier_tools::{Preview, ToolCall, ToolContext, ToolKind, ToolOutcome, ToolSpec, Toolbox};
use serde_json::{Value, json};

use crate::explore::{Explorer, git};
use crate::subagents::{Delegation, config};
use crate::support::TestEngine;

/// Adds a tool `notes`, which writes into a folder of its own, replaces `ls`, and can switch `write` and `notes` off in the sessions
/// of conversations.
#[derive(Debug)]
struct NotesHook {
    folder: PathBuf,
    is_planning: Arc<AtomicBool>,
}

#[derive(Debug)]
struct NotesTools {
    inner: Arc<dyn Toolbox>,
    folder: PathBuf,
    /// `None` in the sessions of tasks, which this hook does not switch.
    is_planning: Option<Arc<AtomicBool>>,
}

impl Hook for NotesHook {
    fn extend_tools(&self, session: &Session, inner: Arc<dyn Toolbox>) -> Arc<dyn Toolbox> {
        let is_task = session.header().parent_tool_call_id.is_some();
        let is_planning = (!is_task).then(|| self.is_planning.clone());
        Arc::new(NotesTools { inner, folder: self.folder.clone(), is_planning })
    }
}

#[async_trait]
impl Toolbox for NotesTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.inner.specs();
        specs.push(ToolSpec {
            name: "notes".to_owned(),
            description: "Keeps a note".to_owned(),
            parameters: json!({ "type": "object" }),
            kind: ToolKind::Neutral,
        });
        if self.is_planning.as_ref().is_some_and(|planning| planning.load(Ordering::SeqCst)) {
            specs.retain(|spec| spec.name != "write" && spec.name != "notes");
        }
        specs
    }

    fn prompt_section(&self, tools: &[ToolSpec]) -> Option<String> {
        let names: Vec<&str> = tools.iter().map(|spec| spec.name.as_str()).collect();
        names.contains(&"notes").then(|| "Keep notes often.".to_owned())
    }

    async fn preview(&self, call: &ToolCall, ctx: &ToolContext) -> Result<Preview, ToolOutcome> {
        match call.name.as_str() {
            "notes" | "ls" => Ok(Preview::nothing()),
            _ => self.inner.preview(call, ctx).await,
        }
    }

    async fn run(&self, call: ToolCall, ctx: &ToolContext) -> ToolOutcome {
        match call.name.as_str() {
            "notes" | "ls" => {
                std::fs::write(self.folder.join(&call.name), "x").unwrap();
                ToolOutcome::text("noted")
            }
            _ => self.inner.run(call, ctx).await,
        }
    }
}

fn hooks(folder: PathBuf) -> (Arc<Hooks>, Arc<AtomicBool>) {
    let is_planning = Arc::new(AtomicBool::new(false));
    let hook = NotesHook { folder, is_planning: is_planning.clone() };
    (Arc::new(Hooks::new(vec![RegisteredHook::new("notes", Arc::new(hook))])), is_planning)
}

/// The tools and the system prompt of each task, and its routes.
async fn describe(run: &mut Delegation, tasks: &Value) -> (Vec<(String, String)>, Vec<Value>) {
    run.client.send(ClientCommand::prompt(format!("delegate {tasks}"))).await.unwrap();
    run.until_end().await;
    let batch = run.batches().await.pop().unwrap();
    let described = batch.task_panels.iter().map(|panel| {
        let (tools, system) = panel.summary.split_once(" | ").unwrap_or((&panel.summary, ""));
        (tools.to_owned(), system.to_owned())
    });
    (described.collect(), batch.tool_runtime_routes)
}

#[tokio::test]
async fn a_task_has_only_the_tools_of_hooks_that_its_definition_names_and_its_parent_has() {
    let notes = tempfile::tempdir().unwrap();
    let (hooks, is_planning) = hooks(notes.path().to_owned());
    let engine = TestEngine::with_config(EngineConfig { hooks, ..EngineConfig::default() });
    let folder = engine.folder.path().join("agents");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, tools) in [("reader", "read"), ("clerk", "read, notes")] {
        let file = format!("---\ndescription: d\ntools: {tools}\n---\nYou are a {name}.");
        std::fs::write(folder.join(format!("{name}.md")), file).unwrap();
    }
    let library = AgentLibrary { folders: vec![folder] };
    let tasks = json!([
        { "prompt": "describe", "agent": "reader" },
        { "prompt": "describe", "agent": "clerk" },
        { "prompt": "describe", "agent": "explore" },
        { "prompt": "describe" },
        { "prompt": "call notes", "agent": "reader" },
    ]);
    let mut run = Delegation::start_with(engine, SubagentConfig { library, ..config() }, &json!([])).await;
    run.until_end().await;
    let (found, routes) = describe(&mut run, &tasks).await;
    let tools: Vec<&str> = found.iter().map(|(tools, _)| tools.as_str()).collect();
    assert_eq!(tools[..3], ["read", "read notes", "read grep find ls"]);
    assert!(tools[3].ends_with("notes") && tools[3].contains("write"), "{}", tools[3]);
    assert!(tools[4].contains("no tool `notes`"), "{}", tools[4]);
    assert!(!notes.path().join("notes").exists(), "a tool that the task does not have ran");
    let says = |at: usize| found[at].1.contains("Keep notes often.");
    assert_eq!([says(0), says(1), says(2), says(3)], [false, true, false, true]);
    let allowed = |agent: &str| {
        let of_agent = routes.iter().find(|route| route["agent"] == agent && route["toolName"] == "notes");
        of_agent.unwrap()["allowed"].as_bool().unwrap()
    };
    assert_eq!(["reader", "clerk", "general"].map(allowed), [false, true, true]);
    // What is switched off for the parent is so for its tasks.
    is_planning.store(true, Ordering::SeqCst);
    let tasks = json!([{ "prompt": "describe", "agent": "clerk" }, { "prompt": "describe" }, { "prompt": "write x" }]);
    let (found, _) = describe(&mut run, &tasks).await;
    assert_eq!(found[0].0, "read");
    assert!(!found[1].0.contains("write") && !found[1].0.contains("notes"), "{}", found[1].0);
    assert!(found[2].0.contains("no tool `write`"), "{}", found[2].0);
    assert!(!run.engine.folder.path().join("x").exists());
}

#[tokio::test]
async fn a_try_has_no_tools_of_hooks_because_they_work_in_the_project() {
    let notes = tempfile::tempdir().unwrap();
    let (hooks, is_planning) = hooks(notes.path().to_owned());
    let worktrees = tempfile::tempdir().unwrap();
    let explore = ExploreConfig { worktrees: worktrees.path().to_owned(), max_copy_bytes: 1 << 20 };
    let config = EngineConfig { hooks, explore: Some(explore), ..EngineConfig::default() };
    let engine = TestEngine::with_config(config);
    let project = engine.folder.path().join("project");
    std::fs::create_dir(&project).unwrap();
    git(&project, &["init", "--quiet"]);
    let explorer = Explorer::open(engine, project).await;
    let report = explorer.explore("tools", &[""]).await;
    assert_eq!(report.tries[0].place, TryPlace::Worktree);
    let words = &report.tries[0].last_words;
    assert!(words.contains("write") && words.contains(" ls") && !words.contains("notes"), "{words}");
    explorer.explore("call notes\ncall ls", &[""]).await;
    assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0, "a tool of the hook ran for a try");
    // What is switched off in the session is so in its tries.
    is_planning.store(true, Ordering::SeqCst);
    let report = explorer.explore("write a.txt x\ntools", &[""]).await;
    assert_eq!(report.tries[0].files_changed, 0);
    assert!(!report.tries[0].last_words.contains("write"), "{}", report.tries[0].last_words);
}
