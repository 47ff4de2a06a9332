//! Tools do not open files that may contain keys, whichever name is used.

use std::sync::Arc;

use expect_test::expect;
use osier_tools::{ProtectedPaths, Secrets};
use serde_json::json;

use crate::support::TestProject;

fn with_keys() -> TestProject {
    let mut project = TestProject::with(&[
        ("../home/.osier/config.toml", "key = 1"),
        ("../home/.osier/keys/old", "key = 2"),
        ("../home/.osier/AGENTS.md", "key = none"),
        ("../home/.osier/prompts/a.md", "key = none"),
        ("../home/elsewhere", "key = 3"),
    ]);
    project.link("soft", "../home/.osier/config.toml");
    std::fs::hard_link(project.path("../home/elsewhere"), project.path("hard")).unwrap();
    let home = project.path("../home/.osier");
    project.ctx.protected = Arc::new(ProtectedPaths::new(&home, [project.path("../home/elsewhere")]));
    project
}

#[tokio::test]
async fn key_files_are_not_read_searched_or_changed() {
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
                error: <base>/home/.osier/config.toml may contain keys, so tools cannot open it; ask the user for what you need from it
                > read {"path":"~/.osier/keys/old"}
                error: <base>/home/.osier/keys/old may contain keys, so tools cannot open it; ask the user for what you need from it
                > read {"path":"soft"}
                error: <base>/home/.osier/config.toml may contain keys, so tools cannot open it; ask the user for what you need from it
                > read {"path":"hard"}
                error: hard may contain keys, so tools cannot open it; ask the user for what you need from it
                > grep {"pattern":"key","path":"~/elsewhere"}
                error: <base>/home/elsewhere may contain keys, so tools cannot open it; ask the user for what you need from it
                > grep {"pattern":"key","path":"~","hidden":true}
                <base>/home/.osier/AGENTS.md
                1: key = none

                <base>/home/.osier/prompts/a.md
                1: key = none
                > grep {"pattern":"key"}
                [no matches; hidden and ignored files were not searched]
                > edit {"path":"hard","edits":[{"oldText":"key","newText":"door"}]}
                error: hard may contain keys, so tools cannot open it; ask the user for what you need from it
                > write {"path":"soft","content":""}
                error: cannot change <base>/home/.osier/config.toml: it is in Osier's own folder, which tools cannot write to; ask the user to change it
            "#]],
        )
        .await;
}

#[tokio::test]
async fn other_files_next_to_the_keys_can_be_read() {
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

/// The placeholder that the model sees instead of a key must not overwrite the key in the file.
#[tokio::test]
async fn redacted_key_is_not_overwritten() {
    let mut project = TestProject::with(&[(".env", "KEY=sk-0123456789abcdef\nPORT=1\n")]);
    project.ctx.secrets = Arc::new(Secrets::new(["sk-0123456789abcdef".to_owned().into()]));
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
                error: .env contains a key that is shown to you as `[key]`, and this change would overwrite it with `[key]`; leave that line unchanged: use edit for the other lines, or a command
                > edit {"path":".env","edits":[{"oldText":"PORT=1","newText":"PORT=2"}]}
                edited 1 place in .env (+1 −1)
                > write {"path":".env.example","content":"KEY=[key]\n"}
                created .env.example (1 line, 10 bytes)
            "#]],
        )
        .await;
    assert_eq!(std::fs::read_to_string(project.path(".env")).unwrap(), "KEY=sk-0123456789abcdef\nPORT=2\n");
}

/// A model that may change files must not be able to change the allowances of its own session.
#[tokio::test]
async fn home_folder_and_stores_cannot_be_changed_under_any_name() {
    let mut project = TestProject::with(&[
        ("home/sessions/p/own.jsonl", "{}"),
        ("home/AGENTS.md", "notes"),
        ("team/p/own.jsonl", "{}"),
        ("a", "x"),
    ]);
    project.link("alias", "home/sessions");
    project.link("dangling", "home/trusted.json");
    let (home, store) = (project.path("home"), project.path("team"));
    project.ctx.protected = Arc::new(ProtectedPaths::new(&home, []).with_read_only_folders([store]));
    for path in [
        "home/sessions/p/own.jsonl",
        "home/sessions/../sessions/p/new.jsonl",
        "home/config.toml",
        "home/AGENTS.md",
        "home/skills/x/SKILL.md",
        "alias/p/own.jsonl",
        "alias/new/x.jsonl",
        "dangling",
        "team/p/own.jsonl",
        "team/new.jsonl",
    ] {
        let edits = json!([{ "oldText": "{}", "newText": "{\"yolo\":1}" }]);
        let (write, edit) =
            (json!({ "path": path, "content": "x" }), json!({ "path": path, "edits": edits }));
        for (tool, arguments) in [("write", write), ("edit", edit)] {
            let preview = project.preview(tool, arguments.clone()).await;
            assert!(preview.is_err(), "{tool} {path}");
            let text = project.result_text(tool, arguments).await;
            assert!(text.contains("it is in Osier's own folder"), "{tool} {path}: {text}");
        }
    }
    assert_eq!(project.read_file("home/sessions/p/own.jsonl"), b"{}");
    assert!(!project.path("home/trusted.json").exists());
}

#[tokio::test]
async fn closed_folders_are_not_opened_and_searches_leave_them_out() {
    let mut project = TestProject::with(&[
        ("../home/.osier/sessions/a.jsonl", "key = 1"),
        ("../home/.osier/extensions/x/a.txt", "key = 2"),
        ("../home/notes.txt", "key = 3"),
    ]);
    project.link("soft", "../home/.osier/sessions");
    let home = project.path("../home/.osier").canonicalize().unwrap();
    let open = vec![home.join("extensions/x")];
    project.ctx.protected = Arc::new(ProtectedPaths::default().with_closed_paths(vec![home], open));
    project
        .check(
            [
                ("read", json!({ "path": "soft/a.jsonl" })),
                ("read", json!({ "path": "~/.osier/extensions/x/a.txt" })),
                ("grep", json!({ "pattern": "key", "path": "~", "hidden": true })),
                ("grep", json!({ "pattern": "key", "path": "soft" })),
                ("find", json!({ "pattern": "*", "path": "~", "hidden": true })),
                ("ls", json!({ "path": "~/.osier" })),
                ("write", json!({ "path": "soft/new", "content": "" })),
            ],
            expect![[r#"
                > read {"path":"soft/a.jsonl"}
                error: soft/a.jsonl belongs to Osier, so this call cannot open it
                > read {"path":"~/.osier/extensions/x/a.txt"}
                key = 2
                > grep {"pattern":"key","path":"~","hidden":true}
                <base>/home/notes.txt
                1: key = 3
                > grep {"pattern":"key","path":"soft"}
                error: soft belongs to Osier, so this call cannot open it
                > find {"pattern":"*","path":"~","hidden":true}
                <base>/home/notes.txt
                > ls {"path":"~/.osier"}
                error: ~/.osier belongs to Osier, so this call cannot open it
                > write {"path":"soft/new","content":""}
                error: soft/new belongs to Osier, so this call cannot open it
            "#]],
        )
        .await;
}
