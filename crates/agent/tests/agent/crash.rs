//! `kill -9` in the middle of a turn: this very program, started again, works on a session in a file until it is killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::sync::Arc;

use osier_agent::{Client, Command, Event, Finished, Live, Parts, Said, When};
use osier_model::scripted::Turn;
use osier_session::Event as SessionEvent;
use osier_store::file::verify;
use osier_store::{FileStore, Store};
use osier_tools::Mode;
use osier_tree::projection::transcript::{Part, transcript, transcript_entries};
use serde_json::json;

use crate::desk::Desk;

const JOB: &str = "OSIER_TEST_JOB";
const FOLDER: &str = "OSIER_TEST_FOLDER";

fn store(folder: &Path) -> Arc<dyn Store> {
    Arc::new(FileStore::new(folder.join("sessions"), Some(folder.join("cache"))))
}

fn yolo(parts: &mut Parts) {
    parts.approval = Some(Mode::Yolo);
}

/// What the process does: it says where it is, and stays there.
#[tokio::test]
#[ignore = "the part of other tests that runs in another process"]
async fn job() {
    let folder = std::env::var(FOLDER).unwrap();
    let turn = match std::env::var(JOB).unwrap().as_str() {
        "tool" => Turn::new()
            .text("I run it.")
            .call("c1", "ls", &json!({}))
            .call("c2", "bash", &json!({ "command": "echo pid $$; exec sleep 600" }))
            .call("c3", "write", &json!({ "path": "third.txt", "content": "x" })),
        _ => Turn::reply("I am thinking about").hang(),
    };
    let desk = Desk::on(store(Path::new(&folder)), [turn], yolo).await;
    let mut ear = desk.begin(Command::prompt("do it")).await;
    let at = ear
        .until(|event| match event {
            Event::Live(Live::ToolOutput { text, .. }) => Some(text.trim().to_owned()),
            Event::Session(SessionEvent::Draft { delta, .. }) => {
                delta.contains("about").then(|| "said".to_owned())
            }
            _ => None,
        })
        .await;
    let (text, images) = ("and hurry".to_owned(), Vec::new());
    desk.send(Command::Prompt { text, images, files: Vec::new(), when: When::Steer }).await;
    // Past the ear of the test harness.
    std::io::stderr().write_all(format!("{at}\n").as_bytes()).unwrap();
    std::future::pending::<()>().await;
}

/// Starts the job, kills it where it stands, and tells what it said there.
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

async fn again(folder: &Arc<tempfile::TempDir>, turns: impl IntoIterator<Item = Turn>) -> Desk {
    Desk::open(store(folder.path()), folder.clone(), turns, yolo).await
}

/// What was said on the path: everything after the prompt but settings.
async fn said(desk: &Desk) -> Vec<String> {
    desk.path().await.into_iter().skip(2).filter(|line| !line.starts_with("[config")).collect()
}

fn check_file(desk: &Desk) {
    let verified = verify(desk.session().file().unwrap()).unwrap();
    assert!(verified.oddities.is_empty(), "{verified:?}");
}

/// The tools called on the path, each with whether it is shown as interrupted.
async fn calls_shown(desk: &Desk) -> Vec<(String, bool)> {
    let (tree, at) = (desk.session().tree(), desk.worker.cursor().place());
    let mut lines = rustc_hash::FxHashMap::default();
    let wanted = transcript_entries(&tree, at);
    let keep = |seq, line: &[u8]| -> Result<(), osier_store::StoreError> {
        lines.insert(seq, line.to_vec());
        Ok(())
    };
    desk.session().each_line(desk.session().version(), &wanted, keep).await.unwrap();
    let mut calls = Vec::new();
    for item in transcript(&tree, at, &lines) {
        if let Part::Assistant(assistant) = item.part {
            calls.extend(assistant.tool_calls.into_iter().map(|call| (call.name, call.interrupted)));
        }
    }
    calls
}

#[tokio::test]
async fn killed_while_a_tool_runs_the_tree_is_whole_and_the_call_is_interrupted() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let pid = killed("tool", folder.path()).strip_prefix("pid ").unwrap().to_owned();
    Program::new("kill").arg(pid).status().unwrap();
    let desk = again(&folder, [Turn::reply("I see."), Turn::reply("Fine.")]).await;
    check_file(&desk);
    assert_eq!(
        said(&desk).await,
        ["user: \"do it\"", "assistant: \"I run it.\"", "[ls: .]"],
        "what was stored is there"
    );
    assert_eq!(desk.worker.attach(None).await.unwrap().returned, [Said::text("and hurry")]);
    let shown = calls_shown(&desk).await;
    assert_eq!(shown, [("ls".into(), false), ("bash".into(), true), ("write".into(), true)]);
    assert_eq!(desk.run(Command::Resume).await, Finished::Done);
    assert!(!desk.has("third.txt"), "nothing is run twice, or late");
    let interrupted = "This call was interrupted: there is no result.";
    assert_eq!(desk.last_results()[1..], [interrupted, interrupted]);
    assert_eq!(desk.say("go on").await, Finished::Done);
    check_file(&desk);
}

#[tokio::test]
async fn killed_while_the_model_speaks_the_prompt_is_there_and_is_asked_again() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    assert_eq!(killed("model", folder.path()), "said");
    let desk = again(&folder, [Turn::reply("Now I know.")]).await;
    check_file(&desk);
    assert_eq!(said(&desk).await, ["user: \"do it\""]);
    assert_eq!(desk.run(Command::Resume).await, Finished::Done);
    assert_eq!(said(&desk).await, ["user: \"do it\"", "assistant: \"Now I know.\""]);
}
