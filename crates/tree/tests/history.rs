//! Going back and forth through moves.

use osier_testkit::Script;

/// Plays a script and tells whether the leaf stands where the entry of that text is.
fn stands_at(script: &str, text: &str) -> bool {
    let script = Script::run(script);
    let wanted = (text != "root").then(|| script.seq(text));
    script.tree.same_place(script.tree.leaf(), wanted)
}

#[test]
fn undo_and_redo_work_as_the_buttons_of_a_browser() {
    let script = "say a; reply b; move a; say c; root; move b";
    assert!(stands_at(&format!("{script}; undo"), "root"));
    assert!(stands_at(&format!("{script}; undo; undo"), "c"));
    assert!(stands_at(&format!("{script}; undo; undo; undo"), "b"));
    assert!(stands_at(&format!("{script}; undo; undo; redo"), "root"));
    assert!(stands_at(&format!("{script}; undo; undo; redo; redo"), "b"));
}

#[test]
fn summaries_and_backtracks_are_undone_like_moves() {
    assert!(stands_at("say a; reply b; summarize left at a; undo", "b"));
    assert!(stands_at("say a; reply b; backtrack 0 again; undo", "b"));
}

#[test]
fn marks_keep_what_can_be_redone_and_messages_do_not() {
    assert_eq!(Script::run("say a; reply b; move a; undo; label x").tree.history().forward.len(), 1);
    assert_eq!(Script::run("say a; reply b; move a; undo; say c").tree.history().forward.len(), 0);
}

#[test]
fn nobody_is_led_back_to_where_the_log_stands_already() {
    let mark = r#"entry {"type":"label","targetId":"00000001","label":"x"}"#;
    let script = Script::run(&format!("say a; reply b; move a; below b; {mark}"));
    assert!(script.tree.same_place(script.tree.leaf(), Some(script.seq("b"))), "a mark of pi's moved it");
    assert!(script.tree.history().back.is_empty());
}
