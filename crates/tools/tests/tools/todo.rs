//! `todo`.

use expect_test::expect;
use osier_tools::{Todo, TodoStatus, todos_from_details};
use serde_json::json;

use crate::support::TestProject;

#[tokio::test]
async fn list_is_stored_in_the_details() {
    let project = TestProject::new();
    let items = json!([
        { "content": "read", "status": "completed" },
        { "content": "think", "status": "in_progress" },
        { "content": "write", "status": "pending" },
    ]);
    project
        .check(
            [("todo", json!({ "items": items }))],
            expect![[r#"
                > todo {"items":[{"content":"read","status":"completed"},{"content":"think","status":"in_progress"},
                [x] read
                [>] think
                [ ] write
            "#]],
        )
        .await;
    let details = project.call("todo", json!({ "items": items })).await.details;
    let list = todos_from_details(&details).unwrap();
    assert_eq!(list[1], Todo { content: "think".into(), status: TodoStatus::InProgress });
    assert_eq!(json!(list), items);
}

#[tokio::test]
async fn empty_list_clears_and_empty_item_is_refused() {
    let project = TestProject::new();
    let cleared = project.call("todo", json!({ "items": [] })).await;
    assert_eq!(todos_from_details(&cleared.details), Some(Vec::new()));
    project
        .check(
            [("todo", json!({ "items": [{ "content": " ", "status": "pending" }] }))],
            expect![[r#"
                > todo {"items":[{"content":" ","status":"pending"}]}
                error: todo: `items[0].content` is empty; say what to do
            "#]],
        )
        .await;
}

#[test]
fn details_of_other_tools_contain_no_list() {
    assert_eq!(todos_from_details(&json!(null)), None);
    assert_eq!(todos_from_details(&json!({ "items": 3 })), None);
    assert_eq!(todos_from_details(&json!({ "path": "a" })), None);
}
