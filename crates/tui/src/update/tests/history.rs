//! The prompt history: up and down, search, and sharing with other sessions.

use super::*;
use osier_protocol::query::SessionStatus;

fn harness() -> Harness {
    let mut harness = Harness::new(60, 16);
    let history = ["fix the parser", "/tree", "make it\nfast", "fix the parser"].map(str::to_owned);
    let joined = JoinedSession {
        history: history.to_vec(),
        path_prompts: vec!["read notes.txt".to_owned()],
        ..JoinedSession::default()
    };
    harness.update(Msg::Joined(Box::new(joined)));
    harness
}

#[test]
fn up_moves_through_this_session_and_then_through_others() {
    let mut harness = harness();
    let mut seen = Vec::new();
    for _ in 0..5 {
        harness.press("up");
        seen.push(harness.state.editor.text().to_owned());
    }
    seen.dedup();
    assert_eq!(seen, ["read notes.txt", "fix the parser", "make it\nfast", "/tree"]);
}

#[test]
fn ctrl_r_searches_incrementally_and_enter_uses_the_match() {
    let mut harness = harness();
    harness.press("'draft' ctrl+r 'MA'");
    harness.check(expect![[r#"

        ╭─ Prompt history ──────────────────────────────────────────
        │ / MA
        │ › make it  +1 line
        ╰─ (1/1) · enter use · ctrl+r older · ctrl+s newer ─────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.press("backspace backspace 't'");
    harness.press("ctrl+r ctrl+r");
    harness.check(expect![[r#"

        ╭─ Prompt history ──────────────────────────────────────────
        │ / t
        │   read notes.txt
        │   fix the parser
        │ › make it  +1 line
        │   /tree
        ╰─ (3/4) · enter use · ctrl+r older · ctrl+s newer ─────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.press("escape");
    assert_eq!(harness.state.editor.text(), "draft");
    harness.press("ctrl+r 'parser' enter");
    assert_eq!(harness.state.editor.text(), "fix the parser");
    assert_eq!(harness.take_actions(), "", "you can edit it before you send it");
    harness.press("ctrl+_");
    assert_eq!(harness.state.editor.text(), "draft");
    harness.press("ctrl+r 'nowhere' enter escape");
    assert_eq!(harness.state.editor.text(), "draft");
}

#[test]
fn typed_prompts_are_shared_with_other_sessions_except_private_or_pasted_ones() {
    let mut harness = harness();
    harness.submit("hello");
    harness.submit("/name x");
    harness.submit(" the password is 1234");
    harness.submit(&"line\n".repeat(20));
    harness.submit("!make");
    assert_eq!(harness.added_to_history, ["hello", "/name x", "!make"]);
}

#[test]
fn a_lone_slash_runs_nothing() {
    let mut harness = harness();
    harness.press("/ enter");
    assert_eq!(harness.take_actions(), "");
    assert_eq!(harness.state.editor.text(), "/");
    assert!(harness.text().contains("› /tree"), "the command that was used comes first: {}", harness.text());
    harness.press("down up enter");
    assert_eq!(
        harness.take_actions(),
        "ReadFirstRows { filter: Default, around: None }\n",
        "an explicitly selected command runs"
    );
}

#[test]
fn command_aliases_work_and_are_completed() {
    let mut harness = harness();
    harness.press("'/cle' enter");
    assert_eq!(harness.take_actions(), "Open(New)\n");
    harness.submit("/copy");
    harness.submit("/cost");
    assert_eq!(harness.take_actions(), "CopyAnswer\nPrintCost\n");
}

#[test]
fn a_compaction_resets_the_context_meter() {
    let mut harness = Harness::with_session(60, 16, "say a; reply b");
    harness.state.status.context_window = 200_000;
    harness.update(Msg::Status(Box::new(SessionStatus {
        context: TokenCount::measured(150_000),
        context_window: 200_000,
        ..harness.state.status.clone()
    })));
    assert!(harness.text().contains("150k/200k"), "{}", harness.text());
    harness.run_steps("compact keep b all of it");
    assert!(!harness.text().contains("150k/200k"), "{}", harness.text());
    harness.update(Msg::Status(Box::new(SessionStatus {
        context: TokenCount::estimated(900),
        ..harness.state.status.clone()
    })));
    assert!(harness.text().contains("~900/200k"), "{}", harness.text());
}
