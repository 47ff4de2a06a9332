//! `bash`: what stays in the background neither holds the call up nor dies of it.

use std::process::Command;

use serde_json::json;

use crate::support::{Project, is_gone, until, within};

fn end(group: &serde_json::Value) {
    let group = format!("-{group}");
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
}

#[tokio::test]
async fn a_background_child_that_holds_the_output_does_not_hold_the_call() {
    let project = Project::new();
    let outcome = within(project.call("bash", json!({ "command": "sleep 1000 & echo $!" }))).await;
    assert!(!outcome.is_error);
    let text = outcome.plain_text();
    let pid = text.lines().next().unwrap();
    assert!(!is_gone(pid), "it lives on");
    let (group, path) =
        (&outcome.details["processGroup"], outcome.details["fullOutputPath"].as_str().unwrap());
    assert!(
        text.ends_with(&format!(
            "[something still runs in the background; its output goes to {path}; `kill -- -{group}` ends it]"
        )),
        "{text}"
    );
    end(group);
    until("gone", || is_gone(pid)).await;
}

#[tokio::test]
async fn what_it_prints_later_is_kept_in_the_file() {
    let project = Project::new();
    let command = "(until [ -e go ]; do sleep 0.01; done; echo late; echo later; touch done) & echo early";
    let outcome = project.call("bash", json!({ "command": command })).await;
    project.put("go", b"");
    until("it printed without a broken pipe", || project.path("done").exists()).await;
    let path = outcome.details["fullOutputPath"].as_str().unwrap();
    until("all is in the file", || std::fs::read_to_string(path).unwrap() == "early\nlate\nlater\n").await;
}

#[tokio::test]
async fn a_server_with_its_own_output_is_mentioned_too() {
    let project = Project::new();
    let outcome =
        project.call("bash", json!({ "command": "sleep 1000 > /dev/null 2>&1 & echo started" })).await;
    let group = &outcome.details["processGroup"];
    assert_eq!(
        outcome.plain_text(),
        format!("started\n\n[something still runs in the background; `kill -- -{group}` ends it]")
    );
    end(group);
}

#[tokio::test]
async fn a_child_that_ends_with_its_parent_is_no_background() {
    let project = Project::new();
    let outcome = project.call("bash", json!({ "command": "(echo a; echo b) | cat; wait" })).await;
    assert_eq!(outcome.plain_text(), "a\nb");
    assert_eq!(outcome.details.get("processGroup"), None);
}
