//! `delete-branch`, `restore-branch` and `gc`.

use std::sync::Arc;

use osier_session::{Session, SessionEnv};
use osier_store::FileStore;
use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::{TestEnv, check, ids, strings};

const FORKED: &str = "say a; reply b; say c; reply d; label there; move b; say e; reply f";

#[test]
fn deleted_branch_is_hidden_until_it_is_restored() {
    check(
        FORKED,
        &[
            "delete-branch s.jsonl 00000003",
            "tree s.jsonl",
            "tree s.jsonl --deleted",
            "label s.jsonl",
            "delete-branch s.jsonl 00000003",
            "restore-branch s.jsonl 00000003",
            "restore-branch s.jsonl 00000003",
            "tree s.jsonl",
            "label s.jsonl",
            "delete-branch s.jsonl 0000000f",
        ],
        expect![[r#"
            $ delete-branch s.jsonl 00000003
            ! Hid 3 entries; undo with `osier sessions restore-branch`
            $ tree s.jsonl
            user: "a"
            assistant: "b"
            user: "e"
            assistant: "f"  ← active
            $ tree s.jsonl --deleted
            user: "a"
            assistant: "b"
            ├─ user: "c"  deleted
            │  [there] assistant: "d"  deleted
            └─ user: "e"
               assistant: "f"  ← active
            $ label s.jsonl
            ! no labels
            $ delete-branch s.jsonl 00000003
            ! osier: entry 00000003 is already deleted
            exit 1
            $ restore-branch s.jsonl 00000003
            ! Restored 3 entries
            $ restore-branch s.jsonl 00000003
            ! osier: entry 00000003 is not the start of a deleted branch
            exit 1
            $ tree s.jsonl
            user: "a"
            assistant: "b"
            ├─ user: "c"
            │  [there] assistant: "d"
            └─ user: "e"
               assistant: "f"  ← active
            $ label s.jsonl
            00000004  there
            $ delete-branch s.jsonl 0000000f
            ! osier: no entry 0000000f in this session; did you mean 00000001, 00000002, 00000003, 00000004, 00000005, …?
            exit 1
        "#]],
    );
}

#[test]
fn deleting_the_current_branch_moves_out_of_it() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    let before = env.lines("s.jsonl").len();
    let output = env.run("delete-branch s.jsonl 00000003");
    assert_eq!(output.err, "Hid 2 entries; undo with `osier sessions restore-branch`\nMoved to 00000002\n");
    assert_eq!(env.lines("s.jsonl").len(), before + 1, "one entry both deletes and moves");
    let path = env.json("path s.jsonl");
    assert_eq!(&ids(&path)[..2], ["00000001", "00000002"]);
    assert_eq!(path[2]["type"], "delete_branch");
    assert_eq!(path[2]["targetId"], "00000003");
    assert_eq!(env.json("context s.jsonl")["messages"].as_array().unwrap().len(), 2);
    env.ok("append s.jsonl e");
    assert_eq!(env.json("context s.jsonl")["messages"].as_array().unwrap().len(), 3);
}

/// Appends below an entry like a program that does not know deleted branches.
fn append_as_another_program(env: &TestEnv, parent: &str, text: &str) {
    let message = json!({ "role": "user", "content": text });
    let entry = json!({ "type": "message", "id": "ffffffff", "parentId": parent, "message": message });
    let line = format!("{entry}\n");
    env.write("s.jsonl", [env.read("s.jsonl"), line.into_bytes()].concat());
}

#[test]
fn later_entries_in_a_deleted_branch_are_hidden_too() {
    let env = TestEnv::with(FORKED);
    assert_eq!(env.json("delete-branch s.jsonl 00000003")["entries"], 3);
    append_as_another_program(&env, "00000004", "late");
    assert!(!env.ok("tree s.jsonl").contains("late"));
    assert!(env.ok("tree s.jsonl --deleted").contains("late"));
    let flat = env.json("tree s.jsonl --flat");
    assert!(!flat.to_string().contains("late"));
    assert_eq!(env.json("restore-branch s.jsonl 00000003")["entries"], 4);
    assert!(env.ok("tree s.jsonl").contains("late"));
}

#[test]
fn search_ignores_deleted_branches() {
    let env = TestEnv::new();
    let ask = env.json("append 'first question'");
    let session = ask["session"].as_str().unwrap().to_owned();
    let dead = env.json(&format!("append {session} 'needle in here'"))["id"].as_str().unwrap().to_owned();
    assert_eq!(env.json("list --search needle").as_array().unwrap().len(), 1);
    env.ok(&format!("delete-branch {session} {dead}"));
    assert_eq!(env.json("list --search needle"), json!([]));
    env.ok(&format!("restore-branch {session} {dead}"));
    assert_eq!(env.json("list --search needle").as_array().unwrap().len(), 1);
}

#[test]
fn gc_removes_deleted_branches_and_keeps_the_position_and_a_backup() {
    let env = TestEnv::with(FORKED);
    env.ok("delete-branch s.jsonl 00000003");
    let before = env.read("s.jsonl");
    env.check(
        &["gc s.jsonl --dry-run"],
        expect![[r#"
            $ gc s.jsonl --dry-run
            ! Would remove 4 entries and keep 5
        "#]],
    );
    assert_eq!(env.read("s.jsonl"), before);
    let context = env.json("context s.jsonl")["messages"].clone();
    let spent = env.json("show s.jsonl --usage")["session"].clone();
    env.check(
        &["gc s.jsonl", "tree s.jsonl --filter all --ids", "verify s.jsonl"],
        expect![[r#"
            $ gc s.jsonl
            ! make sure that no program without file locking, such as pi, is writing to this session
            ! Removed 4 entries, kept 5
            ! Added 1 entry to record their cost or the current position
            ! The old file is kept with the suffix .bak
            $ tree s.jsonl --filter all --ids
            00000001  user: "a"
            00000002  assistant: "b"
            ├─ 00000006  [moved]
            └─ 00000007  user: "e"
               00000008  assistant: "f"  ← active
            $ verify s.jsonl
            6 entries, no damage found
        "#]],
    );
    assert_eq!(env.read("s.jsonl.bak"), before);
    assert_eq!(env.json("context s.jsonl")["messages"], context);
    assert_eq!(env.json("show s.jsonl --usage")["session"], spent, "usage is kept");
    // A second run has nothing to remove.
    assert_eq!(env.json("gc s.jsonl")["removed"], 0);
    env.ok("append s.jsonl g");
    assert_eq!(env.json("context s.jsonl")["messages"].as_array().unwrap().len(), 5);
}

#[test]
fn gc_keeps_the_position_when_the_last_line_is_removed() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    env.ok("delete-branch s.jsonl 00000003");
    append_as_another_program(&env, "00000003", "e");
    env.ok("move s.jsonl 00000002");
    let before = env.json("context s.jsonl");
    let done = env.json("gc s.jsonl");
    assert_eq!(done["removed"], 4, "three entries and the marks on them");
    assert_eq!(env.json("context s.jsonl")["messages"], before["messages"]);
    assert_eq!(env.json("verify s.jsonl")["sound"], true);
}

#[tokio::test]
async fn gc_needs_force_while_another_process_has_the_session_open() {
    let env = TestEnv::new();
    let id = env.json("append hello")["session"].as_str().unwrap().to_owned();
    let first = env.json(&format!("append {id} more"))["id"].as_str().unwrap().to_owned();
    env.ok(&format!("delete-branch {id} {first}"));
    let store = Arc::new(FileStore::new(env.home().join("sessions"), Some(env.home().join("cache"))));
    let open = Session::open(store, &id, SessionEnv::default()).await.unwrap();
    let error = env.fails(1, &format!("gc {id}"));
    let reason =
        format!("cannot remove deleted branches without --force: session {id} is open in another process");
    assert!(error.contains(&reason), "{error}");
    assert_eq!(env.json(&format!("gc {id} --dry-run"))["removed"], 2);
    assert_eq!(env.json(&format!("gc {id} --force"))["removed"], 2);
    open.refresh().await.unwrap();
    assert_eq!(open.version().entries, 1);
}

/// The same holds for a move, a label and a fork there.
#[test]
fn entries_below_a_deleted_entry_are_rejected() {
    let env = TestEnv::with(FORKED);
    env.ok("delete-branch s.jsonl 00000003");
    for append in [
        "append s.jsonl x --parent 00000004",
        "append s.jsonl --entry '{\"type\":\"custom\",\"customType\":\"x\",\"parentId\":\"00000003\"}'",
    ] {
        let error = env.fails(1, append);
        assert!(
            error.contains("is in a deleted branch; restore the branch with `osier sessions restore-branch`"),
            "{error}"
        );
    }
    env.ok("restore-branch s.jsonl 00000003");
    env.ok("append s.jsonl x --parent 00000004");
}

#[test]
fn gc_rejects_a_damaged_log() {
    let env = TestEnv::with(FORKED);
    env.ok("delete-branch s.jsonl 00000003");
    let mut file = env.read("s.jsonl");
    file.extend_from_slice(b"torn {\n");
    env.write("s.jsonl", &file);
    let error = env.fails(1, "gc s.jsonl");
    assert!(
        error.contains("cannot rewrite a damaged log; run `osier sessions verify` for details"),
        "{error}"
    );
    assert_eq!(env.read("s.jsonl"), file);
}

#[test]
fn snapshot_lists_deleted_branches_separately() {
    let env = TestEnv::with(FORKED);
    env.ok("delete-branch s.jsonl 00000003");
    let snapshot = env.json("snapshot s.jsonl");
    assert_eq!(strings(&snapshot["deletedBranches"]), ["00000003"]);
    assert_eq!(snapshot["labelsByEntryId"], json!({}));
    let below = strings(&snapshot["childrenByParentId"]["00000002"]);
    assert!(!below.contains(&"00000003"), "{below:?}");
    assert_eq!(snapshot["childrenByParentId"].get("00000003"), None::<&Value>);
    assert!(ids(&snapshot["entries"]).contains(&"00000003"));
}

#[test]
fn title_ignores_messages_in_deleted_branches() {
    let env = TestEnv::new();
    let first = env.json("append 'a bad beginning'");
    let session = first["session"].as_str().unwrap().to_owned();
    let titles = || env.ok("list").split("  ").last().unwrap().trim_end().to_owned();
    env.ok(&format!("append {session} --parent root 'a good beginning'"));
    assert_eq!(titles(), "a bad beginning");
    env.ok(&format!("delete-branch {session} {}", first["id"].as_str().unwrap()));
    assert_eq!(titles(), "a good beginning");
    assert!(env.ok(&format!("export {session}")).starts_with("# a good beginning\n"));
    std::fs::remove_dir_all(env.home().join("cache")).unwrap();
    assert_eq!(titles(), "a good beginning");
    env.ok(&format!("restore-branch {session} {}", first["id"].as_str().unwrap()));
    assert_eq!(titles(), "a bad beginning");
}
