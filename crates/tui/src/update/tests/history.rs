//! The prompt history: up and down, search, and sharing with other sessions.

use super::*;

fn desk() -> Desk {
    let mut desk = Desk::new(60, 16);
    let history = ["fix the parser", "/tree", "make it\nfast", "fix the parser"].map(str::to_owned);
    let joined =
        Joined { history: history.to_vec(), said: vec!["read notes.txt".to_owned()], ..Joined::default() };
    desk.hear(Msg::Joined(Box::new(joined)));
    desk
}

#[test]
fn up_moves_through_this_session_and_then_through_others() {
    let mut desk = desk();
    let mut seen = Vec::new();
    for _ in 0..5 {
        desk.press("up");
        seen.push(desk.state.editor.text().to_owned());
    }
    seen.dedup();
    assert_eq!(seen, ["read notes.txt", "fix the parser", "make it\nfast", "/tree"]);
}

#[test]
fn ctrl_r_searches_incrementally_and_enter_uses_the_match() {
    let mut desk = desk();
    desk.press("'draft' ctrl+r 'MA'");
    desk.check(expect![[r#"

        Prompt history
        / MA
        › make it  +1 line
        (1/1) · enter use · ctrl+r older · ctrl+s newer
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.press("backspace backspace 't'");
    desk.press("ctrl+r ctrl+r");
    desk.check(expect![[r#"

        Prompt history
        / t
          read notes.txt
          fix the parser
        › make it  +1 line
          /tree
        (3/4) · enter use · ctrl+r older · ctrl+s newer
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.press("escape");
    assert_eq!(desk.state.editor.text(), "draft");
    desk.press("ctrl+r 'parser' enter");
    assert_eq!(desk.state.editor.text(), "fix the parser");
    assert_eq!(desk.asked(), "", "you can edit it before you send it");
    desk.press("ctrl+_");
    assert_eq!(desk.state.editor.text(), "draft");
    desk.press("ctrl+r 'nowhere' enter escape");
    assert_eq!(desk.state.editor.text(), "draft");
}

#[test]
fn typed_prompts_are_shared_with_other_sessions_except_private_or_pasted_ones() {
    let mut desk = desk();
    desk.say("hello");
    desk.say("/name x");
    desk.say(" the password is 1234");
    desk.say(&"line\n".repeat(20));
    desk.say("!make");
    assert_eq!(desk.remembered, ["hello", "/name x", "!make"]);
}

#[test]
fn a_lone_slash_runs_nothing() {
    let mut desk = desk();
    desk.press("/ enter");
    assert_eq!(desk.asked(), "");
    assert_eq!(desk.state.editor.text(), "/");
    assert!(desk.text().contains("› /tree"), "the command that was used comes first: {}", desk.text());
    desk.press("down up enter");
    assert_eq!(desk.asked(), "ReadTree\n", "an explicitly selected command runs");
}

#[test]
fn command_aliases_work_and_are_completed() {
    let mut desk = desk();
    desk.press("'/cle' enter");
    assert_eq!(desk.asked(), "Open(New)\n");
    desk.say("/copy");
    desk.say("/cost");
    assert_eq!(desk.asked(), "CopyAnswer\nTellCost\n");
}

#[test]
fn a_compaction_resets_the_context_meter() {
    let mut desk = Desk::on(60, 16, "say a; reply b");
    desk.state.facts.window = 200_000;
    desk.hear(Msg::Facts(Box::new(crate::state::Facts {
        context: TokenCount::measured(150_000),
        window: 200_000,
        ..desk.state.facts.clone()
    })));
    assert!(desk.text().contains("150k/200k"), "{}", desk.text());
    desk.play("compact keep b all of it");
    assert!(!desk.text().contains("150k/200k"), "{}", desk.text());
    desk.hear(Msg::Facts(Box::new(crate::state::Facts {
        context: TokenCount::estimated(900),
        ..desk.state.facts.clone()
    })));
    assert!(desk.text().contains("~900/200k"), "{}", desk.text());
}
