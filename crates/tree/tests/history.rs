//! Undo and redo of moves.

use osier_testkit::ScriptedSession;

/// Runs a script and returns whether the leaf is at the entry with this text.
fn ends_at(script: &str, text: &str) -> bool {
    let script = ScriptedSession::run(script);
    let wanted = (text != "root").then(|| script.seq(text));
    script.tree.same_place(script.tree.leaf(), wanted)
}

#[test]
fn undo_and_redo_work_like_browser_history() {
    let script = "say a; reply b; move a; say c; root; move b";
    assert!(ends_at(&format!("{script}; undo"), "root"));
    assert!(ends_at(&format!("{script}; undo; undo"), "c"));
    assert!(ends_at(&format!("{script}; undo; undo; undo"), "b"));
    assert!(ends_at(&format!("{script}; undo; undo; redo"), "root"));
    assert!(ends_at(&format!("{script}; undo; undo; redo; redo"), "b"));
}

#[test]
fn summaries_and_backtracks_are_undone_like_moves() {
    assert!(ends_at("say a; reply b; summarize left at a; undo", "b"));
    assert!(ends_at("say a; reply b; backtrack 0 again; undo", "b"));
}

#[test]
fn marks_keep_the_redo_history_and_messages_clear_it() {
    assert_eq!(
        ScriptedSession::run("say a; reply b; move a; undo; label x").tree.move_history().forward.len(),
        1
    );
    assert_eq!(
        ScriptedSession::run("say a; reply b; move a; undo; say c").tree.move_history().forward.len(),
        0
    );
}

#[test]
fn undo_skips_the_current_place() {
    let mark = r#"entry {"type":"label","targetId":"00000001","label":"x"}"#;
    let script = ScriptedSession::run(&format!("say a; reply b; move a; below b; {mark}"));
    assert!(
        script.tree.same_place(script.tree.leaf(), Some(script.seq("b"))),
        "a label that pi appended moved the leaf"
    );
    assert!(script.tree.move_history().back.is_empty());
}
