//! The session tree: moves with and without a summary, undo, labels, comparison, compaction, backtracking.

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::run_support::ModelServer;
use crate::screen::{ALT_C, ALT_T, ALT_U, CTRL_C, DOWN, ESCAPE, READY, UP, open, with_script};
use crate::support::TestEnv;

const SCRIPT: &str = "say one; reply first; say two; reply second";

fn last(env: &TestEnv) -> Value {
    serde_json::from_str(env.lines("s.jsonl").last().unwrap()).unwrap()
}

#[test]
fn a_message_can_be_edited_and_sent_again_from_the_tree() {
    let server = ModelServer::new();
    let (env, mut screen) = with_script(&server, SCRIPT);
    screen.wait_for("second");
    screen.wait_for("#4");
    screen.press(&ESCAPE.repeat(2));
    screen.wait_for("Session tree");
    screen.wait_for("← active");
    screen.wait_for("│ file");
    expect![[r#"

        > one

        first

        > two

        second

        ╭─ Session tree  4/4 ───────────────────────────────────────────────────────────
        │ / type to search
        │   • user: "one"
        │   • assistant: "first"
        │   • user: "two"
        │ › • assistant: "second"  ← active
        │ 00000004 2026-01-01 00:00  assistant: "second"
        ╰─ ↑↓ enter select · esc cancel · ctrl+left fold · alt+c compare · alt+u undo ──
        ~/code │ local/test · medium │ ░░░░░░░░ 110/33k │ $0.220 │ #4 │ 5e551011 │ file
    "#]]
    .assert_eq(&screen.stable_text(&env));
    screen.press(UP);
    screen.wait_for("› • user: \"two\"");
    screen.press("\r");
    screen.wait_for("Summarize the branch you are leaving?");
    screen.press(ESCAPE);
    screen.wait_gone("Summarize the branch you are leaving?");
    screen.wait_for("› • user: \"two\"");
    screen.press("\r");
    screen.wait_for("Summarize the branch you are leaving?");
    screen.press("1");
    screen.wait_for("> two");
    screen.wait_for("Moved from the answer “second” to the answer “first”");
    assert_eq!(
        (&last(&env)["customType"], &last(&env)["parentId"]),
        (&json!("osier.leaf"), &json!("00000002"))
    );
    screen.press(" and a half\r");
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: one", "assistant: first", "user: two and a half"]);
    request.reply("another second");
    screen.wait_for("another second");
    let moves =
        |env: &TestEnv| env.lines("s.jsonl").iter().filter(|line| line.contains("osier.leaf")).count();
    // Undo is refused while the turn is still running.
    screen.wait_gone("esc to stop");
    screen.press_until("\x1bu", |_| moves(&env) == 2);
    screen.wait_for("Undone: moved");
    screen.press("\x1br");
    screen.wait_for("Redone: moved");
    assert_eq!(moves(&env), 3);
    screen.press("\x1bu\x1br\x1bu");
    screen.wait_until("three more moves", |text| {
        moves(&env) == 6 && text.contains("> two\n") && !text.contains("> two and a half")
    });
    screen.wait_for("Undone: moved");
    screen.wait_gone("Redone: moved");
    screen.quit();
}

#[test]
fn a_summary_streams_and_escape_cancels_it_and_returns_to_the_row() {
    let server = ModelServer::new();
    let (env, mut screen) = with_script(&server, SCRIPT);
    let before = env.read("s.jsonl");
    screen.wait_for("#4");
    screen.submit("/tree");
    screen.wait_for("← active");
    screen.press(UP);
    screen.press(UP);
    screen.wait_for("› • assistant: \"first\"");
    screen.press("\r");
    screen.wait_for("Summarize the branch you are leaving?");
    screen.press("2");
    let mut request = server.next_request();
    request.send_text("It was ");
    screen.wait_for("It was");
    screen.press(ESCAPE);
    request.wait_for_disconnect();
    screen.wait_for("› • assistant: \"first\"");
    assert_eq!(env.read("s.jsonl"), before);
    screen.press("\r");
    screen.wait_for("Summarize the branch you are leaving?");
    screen.press("3");
    screen.wait_gone("Summarize the branch you are leaving?");
    screen.submit("only the number");
    let request = server.next_request();
    assert!(request.messages().concat().ends_with("Additional focus: only the number"));
    request.reply("It was two.");
    screen.wait_gone("← active");
    // The text is shown before it is stored.
    screen.wait_until("the stored summary", |text| {
        text.contains("It was two.") && last(&env)["type"] == "branch_summary"
    });
    assert_eq!(last(&env)["fromId"], json!("00000004"));
    screen.submit("three");
    let request = server.next_request();
    let messages = request.messages();
    assert!(messages[2].contains("It was two."), "{messages:?}");
    request.reply("third");
    screen.wait_for("third");
    screen.quit();
}

/// The cost of a failed summary waits for the next change of the session. Without one it is stored at the end.
#[test]
fn what_a_failed_summary_cost_is_recorded_when_one_leaves() {
    let server = ModelServer::new();
    let (env, mut screen) = with_script(&server, SCRIPT);
    let before = env.lines("s.jsonl");
    screen.wait_for("#4");
    screen.submit("/tree");
    screen.wait_for("← active");
    screen.press(UP);
    screen.press(UP);
    screen.wait_for("› • assistant: \"first\"");
    screen.press("\r");
    screen.wait_for("Summarize the branch you are leaving?");
    screen.press("2");
    let mut request = server.next_request();
    request.send_text("It");
    request.send_usage(1000, 20);
    request.finish("length");
    screen.wait_for("the summary reached the output limit");
    assert_eq!(env.lines("s.jsonl"), before, "a failure changes nothing");
    screen.press(ESCAPE);
    screen.wait_gone("← active");
    screen.quit();
    let lines = env.lines("s.jsonl");
    assert_eq!(lines[..before.len()], before);
    assert_eq!(lines.len(), before.len() + 1, "{lines:?}");
    assert_eq!(
        (&last(&env)["type"], &last(&env)["usage"]["totalTokens"], &last(&env)["parentId"]),
        (&json!("usage"), &json!(1020), &json!("00000004"))
    );
}

#[test]
fn a_sub_agent_batch_shows_its_final_status() {
    let server = ModelServer::new();
    let (env, mut screen) = with_script(&server, SCRIPT);
    screen.wait_for("#4");
    let append = |entry: &str| env.ok(&format!("append s.jsonl --entry '{entry}'"));
    append(
        r#"{"type":"subagent_batch","id":"0000000b","content":{"batchId":"b","tasks":[{"id":1}],"status":"running"}}"#,
    );
    screen.quit();
    let mut screen = open(&env, &["--session", "s.jsonl"]);
    // Another program stored it, and works on it.
    screen.wait_for("1 task running");
    append(r#"{"type":"entry_update","targetId":"0000000b","status":"failed","payload":{}}"#);
    screen.wait_for("1 task failed");
    screen.wait_gone("1 task running");
    screen.quit();
    let mut screen = open(&env, &["--session", "s.jsonl"]);
    screen.wait_for("1 task failed");
    screen.quit();
}

#[test]
fn a_label_is_visible_in_the_tree() {
    let server = ModelServer::new();
    let (env, mut screen) = with_script(&server, SCRIPT);
    screen.wait_for("#4");
    screen.submit("/label good start");
    screen.wait_for("Labeled good start");
    screen.submit("/tree");
    screen.wait_for("[good start]");
    screen.press(ESCAPE);
    screen.wait_gone("Session tree");
    screen.submit("/name Numbers");
    screen.wait_for("Renamed the session to Numbers");
    screen.quit();
    let tree = env.ok("tree s.jsonl");
    assert!(tree.contains("[good start] assistant: \"second\""), "{tree}");
    assert_eq!(last(&env)["name"], "Numbers");
}

#[test]
fn the_tour_can_be_walked_as_it_says() {
    let env = TestEnv::new();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("/tour");
    screen.wait_for("1/5 The tree");
    screen.press(ALT_T);
    screen.wait_for("2/5 Branch and summarize: select \"Then page the array\"");
    screen.press_until(UP, |text| {
        text.lines().any(|row| row.contains('›') && row.contains("user: \"Then page the array"))
    });
    screen.press("\r");
    screen.wait_for("Summarize the branch");
    screen.press(DOWN);
    screen.press("\r");
    screen.wait_for("3/5 Undo: you are before that message, and its text is in the editor");
    screen.wait_for("> Then page the array");
    screen.press(CTRL_C);
    screen.wait_gone("> Then page the array");
    screen.press(ALT_U);
    screen.wait_for("4/5 Compare: open the tree");
    screen.press(ALT_T);
    screen.wait_for("Session tree");
    screen.press(ALT_C);
    screen.press(UP);
    screen.press(ALT_C);
    screen.wait_for("cannot compare: one entry is an ancestor of the other");
    screen.wait_for("4/5 Compare: open the tree");
    screen.press(ALT_C);
    screen.press_until(UP, |text| {
        text.lines().any(|row| row.contains('›') && row.contains("Hide the cursor behind a hash"))
    });
    screen.press(ALT_C);
    screen.wait_for("5/5 Both branches, side by side");
    screen.wait_for("Press esc twice");
    screen.press(ESCAPE);
    screen.wait_for("Session tree");
    screen.press(ESCAPE);
    screen.wait_gone("Session tree");
    screen.submit("/tour");
    screen.wait_gone("5/5");
    screen.quit();
}

#[test]
fn branches_can_be_compared_and_grafted() {
    let server = ModelServer::new();
    let (env, mut screen) = with_script(
        &server,
        "say one; reply first; say two; reply second; move first; say other; reply third",
    );
    screen.wait_for("third");
    screen.submit("/compare 00000004 00000007");
    screen.wait_for("Diverged at 00000002");
    screen.wait_for("assistant: \"second\"");
    screen.wait_until("the branches are named by what was said on them", |text| {
        text.lines().any(|row| row.contains("│ two ") && row.contains("│ other"))
    });
    screen.press(ESCAPE);
    screen.wait_gone("Diverged at");
    screen.submit("/graft 00000004");
    screen.wait_for("◆ conclusion of branch 00000004");
    screen.wait_for("│ second");
    screen.quit();
    assert_eq!((&last(&env)["type"], &last(&env)["fromId"]), (&json!("branch_summary"), &json!("00000004")));
}

#[test]
fn a_backtrack_looks_the_same_live_and_resumed() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("find the bug");
    server.next_request().reply_with_call("ls", &json!({}));
    server
        .next_request()
        .reply_with_call("backtrack", &json!({ "checkpoint_id": 0, "note": "it is in a.rs" }));
    let request = server.next_request();
    let messages = request.messages();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[1].contains("Note from your future self: it is in a.rs"), "{messages:?}");
    request.reply("Found it.");
    screen.wait_for("Found it.");
    let drawn = |text: String| -> Vec<String> {
        let lines = text.lines().map(|line| line.trim_end().to_owned());
        lines
            .skip_while(|line| !line.contains("acktrack"))
            .take_while(|line| !line.contains("Found it."))
            .collect()
    };
    let live = drawn(screen.text());
    assert!(live.concat().contains("it is in a.rs") && live.concat().contains("find the bug"), "{live:?}");
    screen.quit();
    let mut screen = open(&env, &["-c"]);
    screen.wait_for("Found it.");
    assert_eq!(drawn(screen.text()), live);
    screen.quit();
}

#[test]
fn compaction_draws_a_card_shortens_the_context_and_can_be_undone() {
    let server = ModelServer::new();
    let (env, mut screen) = with_script(&server, SCRIPT);
    screen.wait_for("#4");
    screen.quit();
    let config = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("compaction.keep_recent_tokens = 1\n{settings}")).unwrap();
    let mut screen = open(&env, &["--session", "s.jsonl"]);
    screen.wait_for("#4");
    screen.submit("/compact the numbers");
    let request = server.next_request();
    assert!(request.messages().concat().ends_with("Additional focus: the numbers"));
    request.reply("## Goal\nNumbers.");
    server.next_request().reply("Two was asked.");
    // The summary streams before it is stored; wait for the card.
    screen.wait_for("◆ compaction of");
    screen.submit("/compaction");
    screen.wait_for("Left out by the last compaction");
    screen.wait_for("3 entries dropped");
    screen.wait_for("user: \"one\"");
    screen.press(ESCAPE);
    screen.wait_gone("Left out by the last compaction");
    screen.submit("three");
    let request = server.next_request();
    assert!(request.messages()[0].contains("Two was asked."), "{:?}", request.messages());
    request.reply("third");
    screen.wait_for("third");
    screen.wait_gone("esc to stop");
    screen.submit("/compaction undo");
    screen.wait_for("the model gets the full context again");
    screen.wait_for("Moved from the answer “third” to the answer “second”");
    screen.submit("four");
    let request = server.next_request();
    assert_eq!(request.messages()[0], "user: one", "{:?}", request.messages());
    request.reply("fourth");
    screen.wait_for("fourth");
    screen.quit();
}
