//! Files that may hold keys are opened by no tool, by whatever name.

use std::sync::Arc;

use expect_test::expect;
use osier_tools::{Closed, Keys};
use serde_json::json;

use crate::support::Project;

fn with_keys() -> Project {
    let mut project = Project::with(&[
        ("../home/.osier/config.toml", "key = 1"),
        ("../home/.osier/keys/old", "key = 2"),
        ("../home/.osier/AGENTS.md", "key = none"),
        ("../home/.osier/prompts/a.md", "key = none"),
        ("../home/elsewhere", "key = 3"),
    ]);
    project.link("soft", "../home/.osier/config.toml");
    std::fs::hard_link(project.path("../home/elsewhere"), project.path("hard")).unwrap();
    let home = project.path("../home/.osier");
    project.ctx.closed = Arc::new(Closed::new(&home, [project.path("../home/elsewhere")]));
    project
}

#[tokio::test]
async fn a_file_with_keys_is_neither_read_nor_searched_nor_changed() {
    let edits = json!([{ "oldText": "key", "newText": "door" }]);
    with_keys()
        .check(
            [
                ("read", json!({ "path": "~/.osier/config.toml" })),
                ("read", json!({ "path": "~/.osier/keys/old" })),
                ("read", json!({ "path": "soft" })),
                ("read", json!({ "path": "hard" })),
                ("grep", json!({ "pattern": "key", "path": "~/elsewhere" })),
                ("grep", json!({ "pattern": "key", "path": "~", "hidden": true })),
                ("grep", json!({ "pattern": "key" })),
                ("edit", json!({ "path": "hard", "edits": edits })),
                ("write", json!({ "path": "soft", "content": "" })),
            ],
            expect![[r#"
                > read {"path":"~/.osier/config.toml"}
                error: <base>/home/.osier/config.toml is closed to tools, for it may hold keys: ask the user for what you need of it
                > read {"path":"~/.osier/keys/old"}
                error: <base>/home/.osier/keys/old is closed to tools, for it may hold keys: ask the user for what you need of it
                > read {"path":"soft"}
                error: <base>/home/.osier/config.toml is closed to tools, for it may hold keys: ask the user for what you need of it
                > read {"path":"hard"}
                error: hard is closed to tools, for it may hold keys: ask the user for what you need of it
                > grep {"pattern":"key","path":"~/elsewhere"}
                error: <base>/home/elsewhere is closed to tools, for it may hold keys: ask the user for what you need of it
                > grep {"pattern":"key","path":"~","hidden":true}
                <base>/home/.osier/AGENTS.md
                1: key = none

                <base>/home/.osier/prompts/a.md
                1: key = none
                > grep {"pattern":"key"}
                [no match; hidden and ignored files were not searched]
                > edit {"path":"hard","edits":[{"oldText":"key","newText":"door"}]}
                error: hard is closed to tools, for it may hold keys: ask the user for what you need of it
                > write {"path":"soft","content":""}
                error: <base>/home/.osier/config.toml is closed to tools, for it may hold keys: ask the user for what you need of it
            "#]],
        )
        .await;
}

#[tokio::test]
async fn what_else_lies_beside_the_keys_is_open() {
    with_keys()
        .check(
            [
                ("read", json!({ "path": "~/.osier/AGENTS.md" })),
                ("read", json!({ "path": "~/.osier/prompts/a.md" })),
                ("ls", json!({ "path": "~/.osier" })),
            ],
            expect![[r#"
                > read {"path":"~/.osier/AGENTS.md"}
                key = none
                > read {"path":"~/.osier/prompts/a.md"}
                key = none
                > ls {"path":"~/.osier"}
                AGENTS.md
                config.toml
                keys/
                prompts/
            "#]],
        )
        .await;
}

/// What a model is shown instead of a key must not end up in the file in its place.
#[tokio::test]
async fn a_hidden_key_is_not_written_over() {
    let mut project = Project::with(&[(".env", "KEY=sk-0123456789abcdef\nPORT=1\n")]);
    project.ctx.keys = Arc::new(Keys::new(["sk-0123456789abcdef".to_owned().into()]));
    project
        .check(
            [
                ("read", json!({ "path": ".env" })),
                ("write", json!({ "path": ".env", "content": "KEY=[key]\nPORT=2\n" })),
                ("edit", json!({ "path": ".env", "edits": [{ "oldText": "PORT=1", "newText": "PORT=2" }] })),
                ("write", json!({ "path": ".env.example", "content": "KEY=[key]\n" })),
            ],
            expect![[r#"
                > read {"path":".env"}
                KEY=[key]
                PORT=1
                > write {"path":".env","content":"KEY=[key]\nPORT=2\n"}
                error: .env holds a key that you are shown as `[key]`, and this would write `[key]` over it; leave that line as it is: use edit on the others, or a command
                > edit {"path":".env","edits":[{"oldText":"PORT=1","newText":"PORT=2"}]}
                edited 1 place in .env (+1 −1)
                > write {"path":".env.example","content":"KEY=[key]\n"}
                created .env.example (1 line, 10 bytes)
            "#]],
        )
        .await;
    assert_eq!(std::fs::read_to_string(project.path(".env")).unwrap(), "KEY=sk-0123456789abcdef\nPORT=2\n");
}
