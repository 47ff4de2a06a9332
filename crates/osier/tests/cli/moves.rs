//! `move`, `undo` and `redo`.

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::{TestEnv, check};

#[test]
fn move_to_a_user_message_goes_before_it_and_prints_its_text() {
    check(
        "say a; reply b; say c; reply d",
        &[
            "move s.jsonl 00000003",
            "tree s.jsonl",
            "move s.jsonl 00000003",
            "move s.jsonl 00000004",
            "tree s.jsonl",
        ],
        expect![[r#"
            $ move s.jsonl 00000003
            c
            ! Moved to 00000002
            $ tree s.jsonl
            user: "a"
            assistant: "b"  ← active
            user: "c"
            assistant: "d"
            $ move s.jsonl 00000003
            c
            ! Already at 00000002
            $ move s.jsonl 00000004
            ! Moved to 00000004
            $ tree s.jsonl
            user: "a"
            assistant: "b"
            user: "c"
            assistant: "d"  ← active
        "#]],
    );
}

#[test]
fn move_to_an_unanswered_message_prints_its_text() {
    check(
        "say a; reply b; say c",
        &[
            "move s.jsonl 00000003",
            "undo s.jsonl",
            "move s.jsonl 00000003 --json",
            "move s.jsonl 00000003 --exact",
        ],
        expect![[r#"
            $ move s.jsonl 00000003
            c
            ! Moved to 00000002
            $ undo s.jsonl
            ! Moved to 00000003
            $ move s.jsonl 00000003 --json
            {"leafId":"00000002","moved":true,"cancelled":false,"editorText":"c"}
            $ move s.jsonl 00000003 --exact
            ! Moved to 00000003
        "#]],
    );
}

#[test]
fn reported_position_is_the_entry_not_a_mark_below_it() {
    check(
        "say a; reply b; say c; reply d; name n",
        &[
            "move s.jsonl 00000002 --label here",
            "move s.jsonl 00000002 --label there --json",
            "undo s.jsonl",
            "delete-branch s.jsonl 00000003",
        ],
        expect![[r#"
            $ move s.jsonl 00000002 --label here
            ! Moved to 00000002
            $ move s.jsonl 00000002 --label there --json
            {"leafId":"00000002","moved":false,"cancelled":false}
            $ undo s.jsonl
            ! Moved to 00000004
            $ delete-branch s.jsonl 00000003
            ! Hid 4 entries; undo with `osier sessions restore-branch`
            ! Moved to 00000002
        "#]],
    );
}

#[test]
fn exact_moves_to_the_entry_itself_and_root_before_the_first() {
    check(
        "say a; reply b; say c",
        &[
            "move s.jsonl 00000001 --exact",
            "move s.jsonl 00000001 --exact --json",
            "move s.jsonl root --json",
            "tree s.jsonl",
            "append s.jsonl --json another",
            "move s.jsonl 00000001 --json",
        ],
        expect![[r#"
            $ move s.jsonl 00000001 --exact
            ! Moved to 00000001
            $ move s.jsonl 00000001 --exact --json
            {"leafId":"00000001","moved":false,"cancelled":false}
            $ move s.jsonl root --json
            {"leafId":null,"moved":true,"cancelled":false}
            $ tree s.jsonl
            (the beginning)  ← active
            user: "a"
            assistant: "b"
            user: "c"
            $ append s.jsonl --json another
            {"session":"5e551011-0000-4000-8000-000000000001","file":"$DIR/code/s.jsonl","id":"<1>","seq":5}
            $ move s.jsonl 00000001 --json
            {"leafId":null,"moved":true,"cancelled":false,"editorText":"a"}
        "#]],
    );
}

#[test]
fn extension_message_prints_editor_text_and_other_entries_do_not() {
    let env = TestEnv::with("say a; reply b calls read x; result c; note mine hello; summarize d");
    assert_eq!(env.json("move s.jsonl 00000004")["editorText"], "hello");
    assert_eq!(
        env.json("move s.jsonl 00000003"),
        json!({ "leafId": "00000003", "moved": false, "cancelled": false })
    );
    assert_eq!(
        env.json("move s.jsonl 00000005"),
        json!({ "leafId": "00000005", "moved": true, "cancelled": false })
    );
    assert_eq!(
        env.json("move s.jsonl 00000001"),
        json!({ "leafId": null, "moved": true, "cancelled": false, "editorText": "a" })
    );
}

#[test]
fn move_survives_reopening() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    env.ok("move s.jsonl 00000002");
    for _ in 0..2 {
        assert_eq!(env.json("context s.jsonl")["leafId"], "00000002");
        assert_eq!(env.json("show s.jsonl")["leafId"], "00000002");
        assert_eq!(env.json("snapshot s.jsonl")["session"]["leafEntryId"], "00000002");
    }
    let id = env.ok("append s.jsonl e").trim().to_owned();
    let path = env.json("path s.jsonl");
    assert_eq!(path[2]["id"], json!(id));
    assert_eq!(path[2]["parentId"], "00000002");
}

#[test]
fn move_is_one_line_and_its_label_another() {
    let env = TestEnv::with("say a; reply b; say c");
    env.ok("move s.jsonl 00000001");
    let lines = env.lines("s.jsonl");
    assert_eq!(lines.len(), 5);
    let moved: Value = serde_json::from_str(&lines[4]).unwrap();
    assert_eq!(moved["customType"], "osier.leaf");
    assert_eq!(moved["parentId"], json!(null));
    assert_eq!(moved["data"], json!({ "fromId": "00000003", "why": "move" }));

    env.ok("move s.jsonl 00000002 --label 'from here'");
    let lines = env.lines("s.jsonl");
    assert_eq!(lines.len(), 7);
    let kinds: Vec<Value> =
        lines[5..].iter().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    assert_eq!((&kinds[0]["customType"], &kinds[1]["type"]), (&json!("osier.leaf"), &json!("label")));
    assert_eq!((&kinds[1]["targetId"], &kinds[1]["label"]), (&json!("00000002"), &json!("from here")));
    // The position and the context are the same as without the label.
    let messages = env.json("context s.jsonl")["messages"].clone();
    assert_eq!(messages, env.json("context s.jsonl --at 00000002")["messages"]);

    // A crash between the two leaves a valid move.
    let cut: String = lines[..6].iter().map(|line| format!("{line}\n")).collect();
    env.write("s.jsonl", cut);
    assert_eq!(env.json("context s.jsonl")["leafId"], "00000002");
    assert_eq!(env.json("label s.jsonl"), json!({}));
    assert_eq!(env.json("verify s.jsonl")["sound"], true);
}

#[test]
fn failed_move_sets_no_label() {
    let env = TestEnv::with("say a; reply b");
    let before = env.read("s.jsonl");
    env.fails(1, "move s.jsonl 0000000f --label x");
    env.fails(2, "move s.jsonl root --label x");
    assert_eq!(env.read("s.jsonl"), before);
}

#[test]
fn undo_and_redo_cover_moves_of_all_processes() {
    check(
        "say a; reply b; say c; reply d; say e",
        &[
            "undo s.jsonl",
            "move s.jsonl 00000002",
            "move s.jsonl 00000004",
            "undo s.jsonl",
            "undo s.jsonl",
            "undo s.jsonl",
            "redo s.jsonl",
            "redo s.jsonl --json",
            "redo s.jsonl",
        ],
        expect![[r#"
            $ undo s.jsonl
            ! osier: there is no move to undo
            exit 1
            $ move s.jsonl 00000002
            ! Moved to 00000002
            $ move s.jsonl 00000004
            ! Moved to 00000004
            $ undo s.jsonl
            ! Moved to 00000002
            $ undo s.jsonl
            ! Moved to 00000005
            $ undo s.jsonl
            ! osier: there is no move to undo
            exit 1
            $ redo s.jsonl
            ! Moved to 00000002
            $ redo s.jsonl --json
            {"leafId":"00000004","moved":true}
            $ redo s.jsonl
            ! osier: there is no move to redo
            exit 1
        "#]],
    );
}

#[test]
fn new_message_after_an_undo_clears_redo() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    env.ok("move s.jsonl 00000002");
    env.ok("undo s.jsonl");
    env.ok("append s.jsonl e");
    assert_eq!(env.fails(1, "redo s.jsonl"), "osier: there is no move to redo\n");
}

#[test]
fn move_into_a_deleted_branch_is_rejected() {
    let env = TestEnv::with("say a; reply b; say c; reply d; move b; say e");
    env.ok("delete-branch s.jsonl 00000003");
    let error = env.fails(1, "move s.jsonl 00000004");
    assert_eq!(
        error,
        "osier: entry 00000004 is in a deleted branch; restore the branch with `osier sessions restore-branch`\n"
    );
    env.ok("restore-branch s.jsonl 00000003");
    env.ok("move s.jsonl 00000004");
}

#[test]
fn undo_never_moves_into_a_deleted_branch() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    env.ok("move s.jsonl 00000002");
    env.ok("delete-branch s.jsonl 00000003");
    env.fails(1, "undo s.jsonl");
    assert!(env.ok("tree s.jsonl").ends_with("assistant: \"b\"  ← active\n"));
}

#[test]
fn expect_allows_a_move_only_from_that_leaf() {
    let env = TestEnv::with("say a; reply b; say c");
    let before = env.read("s.jsonl");
    env.check(
        &[
            "move s.jsonl root --expect 00000002",
            "move s.jsonl 00000003 --exact --expect root",
            "move s.jsonl root --expect nobody",
        ],
        expect![[r#"
            $ move s.jsonl root --expect 00000002
            ! osier: the leaf is now 00000003; check the new entries, then try again
            exit 1
            $ move s.jsonl 00000003 --exact --expect root
            ! osier: the leaf is now 00000003; check the new entries, then try again
            exit 1
            $ move s.jsonl root --expect nobody
            ! osier: the leaf is now 00000003; check the new entries, then try again
            exit 1
        "#]],
    );
    assert_eq!(env.read("s.jsonl"), before);
    env.check(
        &[
            "move s.jsonl root --expect 00000003",
            "move s.jsonl 00000002 --expect root --label here",
            "tree s.jsonl --ids",
        ],
        expect![[r#"
            $ move s.jsonl root --expect 00000003
            ! Moved to the beginning
            $ move s.jsonl 00000002 --expect root --label here
            ! Moved to 00000002
            $ tree s.jsonl --ids
            00000001  user: "a"
            00000002  [here] assistant: "b"  ← active
            00000003  user: "c"
        "#]],
    );
}
