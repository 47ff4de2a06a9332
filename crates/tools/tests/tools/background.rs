//! `bash`: background processes neither block the call nor die with it.

use std::process::Command;

use serde_json::json;

use crate::support::{TestProject, is_gone, wait_until, with_timeout};

fn kill_group(group: &serde_json::Value) {
    let group = format!("-{group}");
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
}

#[tokio::test]
async fn background_process_with_open_output_does_not_block_the_call() {
    let project = TestProject::new();
    let outcome = with_timeout(project.call("bash", json!({ "command": "sleep 1000 & echo $!" }))).await;
    assert!(!outcome.is_error);
    let text = outcome.plain_text();
    let pid = text.lines().next().unwrap();
    assert!(!is_gone(pid), "it keeps running");
    let (group, path) =
        (&outcome.details["processGroup"], outcome.details["fullOutputPath"].as_str().unwrap());
    assert!(
        text.ends_with(&format!(
            "[a process is still running in the background; its output goes to {path}; stop it with `kill -- -{group}`]"
        )),
        "{text}"
    );
    kill_group(group);
    wait_until("gone", || is_gone(pid)).await;
}

#[tokio::test]
async fn later_output_is_saved_in_the_file() {
    let project = TestProject::new();
    let command = "(until [ -e go ]; do sleep 0.01; done; echo late; echo later; touch done) & echo early";
    let outcome = project.call("bash", json!({ "command": command })).await;
    project.write_file("go", b"");
    wait_until("it printed without a broken pipe", || project.path("done").exists()).await;
    let path = outcome.details["fullOutputPath"].as_str().unwrap();
    wait_until("all output is in the file", || {
        std::fs::read_to_string(path).unwrap() == "early\nlate\nlater\n"
    })
    .await;
}

#[tokio::test]
async fn background_process_with_redirected_output_is_reported() {
    let project = TestProject::new();
    let outcome =
        project.call("bash", json!({ "command": "sleep 1000 > /dev/null 2>&1 & echo started" })).await;
    let group = &outcome.details["processGroup"];
    assert_eq!(
        outcome.plain_text(),
        format!("started\n\n[a process is still running in the background; stop it with `kill -- -{group}`]")
    );
    kill_group(group);
}

#[tokio::test]
async fn child_that_exits_with_the_command_is_not_reported() {
    let project = TestProject::new();
    let outcome = project.call("bash", json!({ "command": "(echo a; echo b) | cat; wait" })).await;
    assert_eq!(outcome.plain_text(), "a\nb");
    assert_eq!(outcome.details.get("processGroup"), None);
}
