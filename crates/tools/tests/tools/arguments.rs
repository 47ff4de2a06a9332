//! Errors for wrong arguments and tool names say what is expected.

use std::sync::Arc;

use expect_test::expect;
use osier_tools::{
    Allowance, Approvals, Decision, ProposedChange, Tool, ToolContext, ToolKind, ToolOutcome, ToolSet,
    ToolSpec, Toolbox,
};
use serde_json::{Value, json};

use crate::support::TestProject;

#[tokio::test]
async fn missing_and_unknown_fields_are_named() {
    let project = TestProject::new();
    project
        .check(
            [
                ("read", json!({ "file_path": "a" })),
                ("bash", json!({ "cmd": "ls" })),
                ("edit", json!({ "path": "a", "old_string": "x", "new_string": "y" })),
            ],
            expect![[r#"
                > read {"file_path":"a"}
                error: Invalid arguments: missing field `path`
                unknown field `file_path`; did you mean `path`?
                read takes { path: string, offset?: integer, limit?: integer }
                > bash {"cmd":"ls"}
                error: Invalid arguments: missing field `command`
                unknown field `cmd`
                bash takes { command: string, timeout?: integer }
                > edit {"path":"a","old_string":"x","new_string":"y"}
                error: Invalid arguments: missing field `edits`
                unknown field `old_string`
                unknown field `new_string`
                edit takes { path: string, edits: [{ oldText: string, newText: string }] }
            "#]],
        )
        .await;
}

#[tokio::test]
async fn field_with_a_wrong_type_is_named_with_its_path() {
    let project = TestProject::new();
    project
        .check(
            [
                ("read", json!({ "path": "a", "limit": "ten" })),
                ("read", json!({ "path": "a", "offset": -1 })),
            ],
            expect![[r#"
                > read {"path":"a","limit":"ten"}
                error: Invalid arguments: `limit`: invalid type: string "ten", expected a whole number, 0 or more
                read takes { path: string, offset?: integer, limit?: integer }
                > read {"path":"a","offset":-1}
                error: Invalid arguments: `offset`: invalid value: integer `-1`, expected a whole number, 0 or more
                read takes { path: string, offset?: integer, limit?: integer }
            "#]],
        )
        .await;
    let edits = json!([{ "oldText": "a", "newText": "b" }, { "oldText": 1, "newText": "b" }]);
    project
        .check(
            [
                ("edit", json!({ "path": "a", "edits": edits })),
                ("edit", json!({ "path": "a", "edits": "[]" })),
                ("todo", json!({ "items": [{ "content": "x", "status": "done" }] })),
                ("todo", json!({ "items": ["x"] })),
            ],
            expect![[r#"
                > edit {"path":"a","edits":[{"oldText":"a","newText":"b"},{"oldText":1,"newText":"b"}]}
                error: Invalid arguments: `edits[1].oldText`: invalid type: integer `1`, expected a string
                edit takes { path: string, edits: [{ oldText: string, newText: string }] }
                > edit {"path":"a","edits":"[]"}
                error: Invalid arguments: `edits`: invalid type: string "[]", expected a list
                edit takes { path: string, edits: [{ oldText: string, newText: string }] }
                > todo {"items":[{"content":"x","status":"done"}]}
                error: Invalid arguments: `items[0].status`: unknown variant `done`, expected one of `pending`, `in_progress`, `completed`
                todo takes { items: [{ content: string, status: "pending" | "in_progress" | "completed" }] }
                > todo {"items":["x"]}
                error: Invalid arguments: `items[0]`: invalid type: string "x", expected an object
                todo takes { items: [{ content: string, status: "pending" | "in_progress" | "completed" }] }
            "#]],
        )
        .await;
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_refused() {
    let project = TestProject::new();
    project
        .check(
            [("read", json!("a.txt")), ("read", json!(null)), ("ls", json!([1]))],
            expect![[r#"
                > read "a.txt"
                error: Invalid arguments: they must be a single JSON object
                read takes { path: string, offset?: integer, limit?: integer }
                > read null
                error: Invalid arguments: missing field `path`
                read takes { path: string, offset?: integer, limit?: integer }
                > ls [1]
                error: Invalid arguments: they must be a single JSON object
                ls takes { path?: string, limit?: integer, all?: boolean }
            "#]],
        )
        .await;
}

#[tokio::test]
async fn invalid_values_are_refused() {
    let project = TestProject::with(&[("a", "x")]);
    project
        .check(
            [
                ("read", json!({ "path": "" })),
                ("read", json!({ "path": "a\u{0}b" })),
                ("read", json!({ "path": "a", "limit": 0 })),
                ("bash", json!({ "command": "  " })),
                ("bash", json!({ "command": "a\u{0}b" })),
                ("bash", json!({ "command": "ls", "timeout": 0 })),
                ("edit", json!({ "path": "a", "edits": [] })),
            ],
            expect![[r#"
                > read {"path":""}
                error: `path` must be the name of a file or folder, such as src/main.rs
                > read {"path":"a\u0000b"}
                error: `path` must be the name of a file or folder, such as src/main.rs
                > read {"path":"a","limit":0}
                error: read: `limit` must be 1 or more
                > bash {"command":"  "}
                error: bash: `command` is empty
                > bash {"command":"a\u0000b"}
                error: bash: `command` contains a NUL character
                > bash {"command":"ls","timeout":0}
                error: bash: `timeout` must be 1 second or more
                > edit {"path":"a","edits":[]}
                error: edit: `edits` is empty: give at least one { oldText, newText }
            "#]],
        )
        .await;
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_null_means_missing() {
    let project = TestProject::with(&[("a", "text")]);
    project
        .check(
            [("read", json!({ "path": "a", "limit": null, "why": "curious" }))],
            expect![[r#"
                > read {"path":"a","limit":null,"why":"curious"}
                text
            "#]],
        )
        .await;
    assert!(!project.call("ls", json!(null)).await.is_error);
}

#[tokio::test]
async fn error_for_an_unknown_tool_lists_the_available_tools() {
    let project = TestProject::new();
    project.check([("grpe", json!({})), ("browser", json!({}))], expect![[r#"
        > grpe {}
        error: there is no tool `grpe`; did you mean grep? available tools: read, write, edit, bash, grep, find, ls, todo
        > browser {}
        error: there is no tool `browser`; available tools: read, write, edit, bash, grep, find, ls, todo
    "#]]).await;
}

#[tokio::test]
async fn call_that_cannot_succeed_needs_no_approval() {
    let project = TestProject::with(&[("a", "x")]);
    let wrong = json!({ "path": "a", "edits": [{ "oldText": "y", "newText": "z" }] });
    assert!(project.preview("edit", wrong).await.unwrap_err().is_error);
    assert!(project.preview("bash", json!({})).await.unwrap_err().is_error);
    assert!(project.preview("nothing", json!({})).await.unwrap_err().is_error);
}

#[test]
fn tools_are_selected_by_name() {
    let selected = ToolSet::standard().only(&["bash", "read"]).unwrap();
    let names: Vec<String> = selected.specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["read", "bash"]);
    assert_eq!(ToolSet::standard().only(&["read", "fly"]).unwrap_err(), ["fly"]);
}

/// A tool from outside this crate.
#[derive(Debug)]
struct CustomTool(&'static str, ToolKind);

#[async_trait::async_trait]
impl Tool for CustomTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.0.into(), description: "custom".into(), parameters: json!({}), kind: self.1 }
    }

    async fn run(&self, arguments: Value, _: &ToolContext) -> ToolOutcome {
        ToolOutcome::text(format!("custom {arguments}"))
    }
}

#[tokio::test]
async fn custom_tool_is_added_or_replaces_a_built_in_tool() {
    let mut project = TestProject::new();
    let count = project.tools.specs().len();
    project.tools = project.tools.clone().with(Arc::new(CustomTool("bash", ToolKind::Runs)));
    project.tools = project.tools.clone().with(Arc::new(CustomTool("deploy", ToolKind::Runs)));
    assert_eq!(project.tools.specs().len(), count + 1);
    assert_eq!(project.result_text("bash", json!({ "x": 1 })).await, "custom {\"x\":1}\n");
    let preview = project.preview("deploy", json!({ "to": "moon" })).await.unwrap();
    assert_eq!(
        preview.change,
        ProposedChange::Call { arguments: json!({ "to": "moon" }) },
        "the question shows the arguments"
    );
    let spec = project.tools.specs().pop().unwrap();
    let mut approvals = Approvals::default();
    assert!(matches!(approvals.decide(&spec, &preview), Decision::Ask { .. }));
    approvals.allow(Allowance::Tool("deploy".into()));
    assert_eq!(approvals.decide(&spec, &preview), Decision::Allow);
}
