//! `kill -9` during a turn: this test binary starts itself, works on a session in a file, and is killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::sync::Arc;

use osier_agent::AgentConfig;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, ClientEvent, Prompt, PromptTiming, TurnOutcome};
use osier_store::file::verify;
use osier_store::{FileStore, Store};
use osier_tools::ApprovalMode;
use osier_tree::projection::transcript::{ItemDetails, transcript, transcript_entries};
use serde_json::json;

use crate::harness::Harness;

const JOB: &str = "OSIER_TEST_JOB";
const FOLDER: &str = "OSIER_TEST_FOLDER";

fn store(folder: &Path) -> Arc<dyn Store> {
    Arc::new(FileStore::new(folder.join("sessions"), Some(folder.join("cache"))))
}

fn yolo(config: &mut AgentConfig) {
    config.approval_mode = Some(ApprovalMode::Yolo);
}

/// The child process: prints its state and hangs there.
#[tokio::test]
#[ignore = "the part of other tests that runs in another process"]
async fn job() {
    let folder = std::env::var(FOLDER).unwrap();
    let turn = match std::env::var(JOB).unwrap().as_str() {
        "tool" => ScriptedTurn::new()
            .text("I run it.")
            .call("c1", "ls", &json!({}))
            .call("c2", "bash", &json!({ "command": "echo pid $$; exec sleep 600" }))
            .call("c3", "write", &json!({ "path": "third.txt", "content": "x" })),
        _ => ScriptedTurn::reply("I am thinking about").hang(),
    };
    let harness = Harness::on(store(Path::new(&folder)), [turn], yolo).await;
    let mut listener = harness.begin(ClientCommand::prompt("do it")).await;
    let at = listener
        .until(|event| match event {
            ClientEvent::ToolOutput { text, .. } => Some(text.trim().to_owned()),
            ClientEvent::DraftDelta { delta, .. } => {
                delta.text().contains("about").then(|| "said".to_owned())
            }
            _ => None,
        })
        .await;
    let (text, images) = ("and hurry".to_owned(), Vec::new());
    harness
        .send(ClientCommand::timed_prompt(Prompt { text, images, ..Prompt::default() }, PromptTiming::Steer))
        .await;
    // Write to the real stdout, past the capture of the test harness.
    std::io::stderr().write_all(format!("{at}\n").as_bytes()).unwrap();
    std::future::pending::<()>().await;
}

/// Starts the child process, kills it once it has printed a line, and returns the line.
fn killed(job: &str, folder: &Path) -> String {
    let mut process = Program::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "crash::job"])
        .env(JOB, job)
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let line = BufReader::new(process.stderr.take().unwrap()).lines().next();
    process.kill().unwrap();
    process.wait().unwrap();
    line.expect("the process ended early").unwrap()
}

async fn again(folder: &Arc<tempfile::TempDir>, turns: impl IntoIterator<Item = ScriptedTurn>) -> Harness {
    Harness::open(store(folder.path()), folder.clone(), turns, yolo).await
}

/// The conversation on the path, without the system prompt and settings.
async fn said(harness: &Harness) -> Vec<String> {
    harness.path().await.into_iter().skip(2).filter(|line| !line.starts_with("[config")).collect()
}

fn check_file(harness: &Harness) {
    let verified = verify(harness.session().file().unwrap()).unwrap();
    assert!(verified.issues.is_empty(), "{verified:?}");
}

/// The tool calls on the path, each with whether it is shown as interrupted.
async fn calls_shown(harness: &Harness) -> Vec<(String, bool)> {
    let (tree, at) = (harness.session().tree(), harness.worker.cursor().position());
    let mut lines = rustc_hash::FxHashMap::default();
    let wanted = transcript_entries(&tree, at);
    let keep = |seq, line: &[u8]| -> Result<(), osier_store::StoreError> {
        lines.insert(seq, line.to_vec());
        Ok(())
    };
    harness.session().for_each_line(harness.session().version(), &wanted, keep).await.unwrap();
    let mut calls = Vec::new();
    for item in transcript(&tree, at, &lines) {
        if let ItemDetails::Assistant(assistant) = item.details {
            calls.extend(assistant.tool_calls.into_iter().map(|call| (call.name, call.interrupted)));
        }
    }
    calls
}

#[tokio::test]
async fn kill_during_a_tool_leaves_a_valid_tree_and_an_interrupted_call() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let pid = killed("tool", folder.path()).strip_prefix("pid ").unwrap().to_owned();
    Program::new("kill").arg(pid).status().unwrap();
    let harness = again(&folder, [ScriptedTurn::reply("I see."), ScriptedTurn::reply("Fine.")]).await;
    check_file(&harness);
    assert_eq!(
        said(&harness).await,
        ["user: \"do it\"", "assistant: \"I run it.\"", "[ls: .]"],
        "stored entries survive"
    );
    assert_eq!(
        harness.worker.attach(None).await.unwrap().state.returned_prompts,
        [Prompt::text("and hurry")]
    );
    let shown = calls_shown(&harness).await;
    assert_eq!(shown, [("ls".into(), false), ("bash".into(), true), ("write".into(), true)]);
    assert_eq!(harness.run(ClientCommand::Resume).await, TurnOutcome::Done);
    assert!(!harness.has("third.txt"), "no call runs twice or late");
    let interrupted = "This call was interrupted: there is no result.";
    assert_eq!(harness.last_results()[1..], [interrupted, interrupted]);
    assert_eq!(harness.say("go on").await, TurnOutcome::Done);
    check_file(&harness);
}

#[tokio::test]
async fn kill_during_a_reply_keeps_the_prompt_for_resume() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    assert_eq!(killed("model", folder.path()), "said");
    let harness = again(&folder, [ScriptedTurn::reply("Now I know.")]).await;
    check_file(&harness);
    assert_eq!(said(&harness).await, ["user: \"do it\""]);
    assert_eq!(harness.run(ClientCommand::Resume).await, TurnOutcome::Done);
    assert_eq!(said(&harness).await, ["user: \"do it\"", "assistant: \"Now I know.\""]);
}
