//! What was approved is what happens: a file that changed between the preview and the run is left alone.

use std::fs;

use osier_tools::{ToolContext, ToolOutcome, Toolbox};
use serde_json::{Value, json};

use crate::support::Project;

fn edit(path: &str) -> (&'static str, Value) {
    ("edit", json!({ "path": path, "edits": [{ "oldText": "old", "newText": "new" }] }))
}

fn write(path: &str) -> (&'static str, Value) {
    ("write", json!({ "path": path, "content": "new\n" }))
}

/// Shows a call, lets something happen, and runs it as approved.
async fn run_after(project: &Project, call: (&str, Value), meanwhile: impl FnOnce(&Project)) -> ToolOutcome {
    let (name, arguments) = call;
    let preview = project.preview(name, arguments.clone()).await.unwrap();
    meanwhile(project);
    let ctx = ToolContext { seal: preview.seal, ..project.ctx.clone() };
    let call = osier_tools::ToolCall { id: "c".into(), name: name.into(), arguments };
    project.tools.run(call, &ctx).await
}

fn project() -> Project {
    Project::with(&[("a", "old\n"), ("sub/a", "old\n"), ("../outside/a", "old\n")])
}

fn refused(outcome: &ToolOutcome, what: &str) {
    let text = outcome.plain_text();
    assert!(outcome.is_error && text.starts_with("nothing was changed: "), "{text}");
    assert!(text.contains(what) && text.contains("Read it again"), "{text}");
}

#[tokio::test]
async fn an_approved_change_of_a_file_that_stayed_as_it_was_is_made() {
    for call in [edit("a"), write("a"), write("new/b"), edit("sub/../a")] {
        let outcome = run_after(&project(), call, |_| {}).await;
        assert!(!outcome.is_error, "{}", outcome.plain_text());
    }
}

#[tokio::test]
async fn a_file_swapped_for_a_link_is_not_followed() {
    for call in [edit("a"), write("a")] {
        let project = project();
        let outcome = run_after(&project, call, |project| {
            fs::remove_file(project.path("a")).unwrap();
            project.link("a", "../outside/a");
        })
        .await;
        refused(&outcome, "leads to another place");
        assert_eq!(project.get("../outside/a"), b"old\n");
    }
}

#[tokio::test]
async fn a_folder_swapped_for_a_link_is_not_followed() {
    for call in [edit("sub/a"), write("sub/a"), write("sub/b")] {
        let project = project();
        let outcome = run_after(&project, call, |project| {
            fs::rename(project.path("sub"), project.path("was")).unwrap();
            project.link("sub", "../outside");
        })
        .await;
        refused(&outcome, "leads to another place");
        assert_eq!(project.get("../outside/a"), b"old\n");
        assert!(!project.path("../outside/b").exists());
    }
}

#[tokio::test]
async fn a_file_with_another_content_is_left_alone() {
    for call in [edit("a"), write("a")] {
        let project = project();
        let outcome = run_after(&project, call, |project| project.put("a", b"old\nand more\n")).await;
        refused(&outcome, "has another content");
        assert_eq!(project.get("a"), b"old\nand more\n");
    }
}

#[tokio::test]
async fn a_file_that_came_or_went_is_left_alone() {
    let project = project();
    let outcome = run_after(&project, write("b"), |project| project.put("b", b"mine\n")).await;
    refused(&outcome, "has another content");
    assert_eq!(project.get("b"), b"mine\n");
    for call in [edit("a"), write("a")] {
        project.put("a", b"old\n");
        let gone = |project: &Project| fs::remove_file(project.path("a")).unwrap();
        refused(&run_after(&project, call, gone).await, "is no longer there");
        assert!(!project.path("a").exists());
    }
}

#[tokio::test]
async fn an_approval_is_for_one_change_only() {
    let project = project();
    let preview = project.preview("write", write("a").1).await.unwrap();
    let ctx = ToolContext { seal: preview.seal, ..project.ctx.clone() };
    let other = json!({ "path": "a", "content": "something else" });
    let call = osier_tools::ToolCall { id: "c".into(), name: "write".into(), arguments: other };
    refused(&project.tools.run(call, &ctx).await, "would become another one");
    assert_eq!(project.get("a"), b"old\n");
}
