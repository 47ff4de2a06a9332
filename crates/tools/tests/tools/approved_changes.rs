//! Only the approved change is made: a file that changed between the preview and the run is not written.

use std::fs;

use osier_tools::{ToolContext, ToolOutcome, Toolbox};
use serde_json::{Value, json};

use crate::support::TestProject;

fn edit(path: &str) -> (&'static str, Value) {
    ("edit", json!({ "path": path, "edits": [{ "oldText": "old", "newText": "new" }] }))
}

fn write(path: &str) -> (&'static str, Value) {
    ("write", json!({ "path": path, "content": "new\n" }))
}

/// Previews a call, calls `between`, and runs the approved call.
async fn run_after(
    project: &TestProject,
    call: (&str, Value),
    between: impl FnOnce(&TestProject),
) -> ToolOutcome {
    let (name, arguments) = call;
    let preview = project.preview(name, arguments.clone()).await.unwrap();
    between(project);
    let ctx = ToolContext { approved: preview.fingerprint, ..project.ctx.clone() };
    let call = osier_tools::ToolCall { id: "c".into(), name: name.into(), arguments };
    project.tools.run(call, &ctx).await
}

fn project() -> TestProject {
    TestProject::with(&[("a", "old\n"), ("sub/a", "old\n"), ("../outside/a", "old\n")])
}

fn check_refused(outcome: &ToolOutcome, what: &str) {
    let text = outcome.plain_text();
    assert!(outcome.is_error && text.starts_with("nothing was changed: "), "{text}");
    assert!(text.contains(what) && text.contains("Read it again"), "{text}");
}

#[tokio::test]
async fn approved_change_of_an_unchanged_file_is_made() {
    for call in [edit("a"), write("a"), write("new/b"), edit("sub/../a")] {
        let outcome = run_after(&project(), call, |_| {}).await;
        assert!(!outcome.is_error, "{}", outcome.plain_text());
    }
}

#[tokio::test]
async fn file_replaced_by_a_link_is_not_followed() {
    for call in [edit("a"), write("a")] {
        let project = project();
        let outcome = run_after(&project, call, |project| {
            fs::remove_file(project.path("a")).unwrap();
            project.link("a", "../outside/a");
        })
        .await;
        check_refused(&outcome, "resolves to a different file");
        assert_eq!(project.read_file("../outside/a"), b"old\n");
    }
}

#[tokio::test]
async fn folder_replaced_by_a_link_is_not_followed() {
    for call in [edit("sub/a"), write("sub/a"), write("sub/b")] {
        let project = project();
        let outcome = run_after(&project, call, |project| {
            fs::rename(project.path("sub"), project.path("was")).unwrap();
            project.link("sub", "../outside");
        })
        .await;
        check_refused(&outcome, "resolves to a different file");
        assert_eq!(project.read_file("../outside/a"), b"old\n");
        assert!(!project.path("../outside/b").exists());
    }
}

#[tokio::test]
async fn file_with_different_content_is_not_written() {
    for call in [edit("a"), write("a")] {
        let project = project();
        let outcome = run_after(&project, call, |project| project.write_file("a", b"old\nand more\n")).await;
        check_refused(&outcome, "has different content");
        assert_eq!(project.read_file("a"), b"old\nand more\n");
    }
}

#[tokio::test]
async fn file_that_was_created_or_deleted_is_not_written() {
    let project = project();
    let outcome = run_after(&project, write("b"), |project| project.write_file("b", b"mine\n")).await;
    check_refused(&outcome, "has different content");
    assert_eq!(project.read_file("b"), b"mine\n");
    for call in [edit("a"), write("a")] {
        project.write_file("a", b"old\n");
        let gone = |project: &TestProject| fs::remove_file(project.path("a")).unwrap();
        check_refused(&run_after(&project, call, gone).await, "was deleted");
        assert!(!project.path("a").exists());
    }
}

#[tokio::test]
async fn approval_covers_only_one_change() {
    let project = project();
    let preview = project.preview("write", write("a").1).await.unwrap();
    let ctx = ToolContext { approved: preview.fingerprint, ..project.ctx.clone() };
    let other = json!({ "path": "a", "content": "something else" });
    let call = osier_tools::ToolCall { id: "c".into(), name: "write".into(), arguments: other };
    check_refused(&project.tools.run(call, &ctx).await, "would get different content");
    assert_eq!(project.read_file("a"), b"old\n");
}
