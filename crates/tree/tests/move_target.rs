//! Continuing from any entry, rule by rule. `lands` describes the effect of selecting an entry in one line.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use expect_test::{Expect, expect};
use osier_testkit::{ScriptedSession, fold, previews, random_logs};
use osier_tree::entry::parse_entry;
use osier_tree::{MoveRequest, Place, PlanError, Selection, Seq, SessionTree};
use proptest::prelude::*;

fn describe(script: &ScriptedSession, request: &MoveRequest<'_>) -> String {
    let position = |position: Place| {
        position.map_or("root".to_owned(), |seq: Seq| previews(script)[seq.index()].clone())
    };
    match script.tree.resolve_move(script.tree.leaf(), request) {
        Err(error) => format!("refused, {}: {error}", error.code().name()),
        Ok(target) => {
            let how = if target.needs_move { "to" } else { "stays at" };
            let text =
                target.editor_content(&script.lines).map(|editor| format!(", editor {:?}", editor.text));
            format!("{how} {}{}", position(target.position), text.unwrap_or_default())
        }
    }
}

/// Runs a script, then selects the entry with that text or id.
fn lands(script: &str, chosen: &str) -> String {
    let script = ScriptedSession::run(script);
    let id = if script.tree.find(chosen).is_some() { chosen } else { script.id(chosen) };
    describe(&script, &MoveRequest::entry(id))
}

#[track_caller]
fn check(script: &str, chosen: &str, expected: Expect) {
    expected.assert_eq(&lands(script, chosen));
}

#[test]
fn any_entry_can_be_selected_and_continued_from() {
    let script = ScriptedSession::run(
        r#"system prompt; model p/m; thinking low; say a; reply b calls read x; result r; reply c; bash ls; note t n
           hidden t h; custom s; label l; name title; config k=v; spend 3; edit a A; omit c
           compact keep a "sum"; summarize left; backtrack 0 again; batch one; update one completed
           entry {"type":"subagent_result","content":{"results":[]}}; entry {"type":"brand new"}; say z; move a"#,
    );
    for (seq, _) in script.tree.heads().iter() {
        let outcome = describe(&script, &MoveRequest::entry(script.tree.id(seq).as_str()));
        assert!(!outcome.starts_with("refused"), "{}: {outcome}", previews(&script)[seq.index()]);
    }
}

#[test]
fn no_selection_or_the_leaf_continues_at_the_leaf() {
    let script = ScriptedSession::run("say a; reply b; label x; name n");
    assert_eq!(describe(&script, &MoveRequest::default()), "stays at [title: n]");
    assert_eq!(
        describe(&script, &MoveRequest::entry(script.id("b"))),
        "stays at [title: n]",
        "the same place"
    );
    check(
        "note t said by an extension",
        "said by an extension",
        expect![["stays at [t]: said by an extension"]],
    );
    check("say a; reply b calls read x", "b", expect![[r#"stays at assistant: "b""#]]);
    check("name n", "name n", expect!["stays at [title: n]"]);
}

#[test]
fn user_message_moves_to_its_parent_and_fills_the_editor() {
    check("say a; reply b; say c; reply d", "c", expect![[r#"to assistant: "b", editor "c""#]]);
    check("say a; reply b", "a", expect![[r#"to root, editor "a""#]]);
    check("say a; reply b; say c", "c", expect![[r#"to assistant: "b", editor "c""#]]);
    check("say a; label x", "a", expect![[r#"to root, editor "a""#]]);
    check("say a; reply b; say c; move b", "c", expect![[r#"stays at assistant: "b", editor "c""#]]);
    check("say a; say c; reply d", "c", expect![[r#"to user: "a", editor "c""#]]);
    check(
        "say a; note t said by an extension; reply d",
        "said by an extension",
        expect![[r#"to user: "a", editor "said by an extension""#]],
    );
}

#[test]
fn editor_gets_sent_text_typed_text_and_images() {
    let script = ScriptedSession::run(
        r#"entry {"type":"message","message":{"role":"user","content":[{"type":"text","text":"Review "},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"all of it."}],"uiContent":"/review"}}
           reply b"#,
    );
    let target = script.tree.resolve_move(script.tree.leaf(), &MoveRequest::entry("00000001")).unwrap();
    let editor = target.editor_content(&script.lines).unwrap();
    expect![[r#"{"text":"Review all of it.","typed":"/review","images":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#]]
        .assert_eq(&serde_json::to_string(&editor).unwrap());
    let plain = ScriptedSession::run("say a; reply b");
    let target = plain.tree.resolve_move(plain.tree.leaf(), &MoveRequest::entry("00000001")).unwrap();
    expect![[r#"{"text":"a"}"#]]
        .assert_eq(&serde_json::to_string(&target.editor_content(&plain.lines)).unwrap());
}

#[test]
fn summaries_compactions_and_other_entries_become_the_leaf() {
    let script = r#"say a; reply b; say c; summarize left at b; say d; compact keep d "sum"; bash ls; backtrack 0 again"#;
    check(script, "left", expect!["to [branch summary]: left"]);
    check(script, "sum", expect!["to [compaction: 12k tokens]"]);
    check(script, "ls", expect!["to [bash]: ls"]);
    check(script, "b", expect![[r#"to assistant: "b""#]]);
    check(
        "say a; backtrack 0 again; reply b",
        "backtrack 0 again",
        expect!["to [backtrack to checkpoint 0: again]"],
    );
    check("say a; model p/m; reply b", "p/m", expect!["to [model: m]"]);
}

#[test]
fn tool_call_moves_to_its_last_result_or_is_refused() {
    let script = "say a; reply b calls read x, read y; result one; label l; result two; reply c";
    for chosen in ["b", "one", "two"] {
        assert_eq!(lands(script, chosen), "to [read: y]");
    }
    check(
        "say a; reply b calls read x, read y; result one; move a",
        "one",
        expect!["refused, incomplete_tool_batch: entry 00000003 calls tools that have no result"],
    );
    check(
        "say a; reply b calls read x; say stop; reply c",
        "b",
        expect!["refused, incomplete_tool_batch: entry 00000002 calls tools that have no result"],
    );
    check(
        "say a; reply b calls task x; batch one; result r; reply c",
        "one",
        expect!["to [task: {\"path\":\"x\"}]"],
    );
}

#[test]
fn result_on_the_path_is_preferred_over_the_newest() {
    let script =
        "say a; reply b calls read x; result one; reply c; move b; result two; reply d; move b; result three";
    check(&format!("{script}; move c"), "b", expect!["to [read: x]"]);
    let session = ScriptedSession::run(&format!("{script}; move c"));
    let lands_on = |script: &ScriptedSession| {
        script.tree.resolve_move(script.tree.leaf(), &MoveRequest::entry(script.id("b"))).unwrap().position
    };
    assert_eq!(lands_on(&session), Some(session.seq("one")));
    let session = ScriptedSession::run(&format!("{script}; move a"));
    assert_eq!(lands_on(&session), Some(session.seq("three")));
    let session = ScriptedSession::run(&format!("{script}; move a; delete three"));
    assert_eq!(lands_on(&session), Some(session.seq("two")), "a deleted branch is never selected");
}

#[test]
fn marks_and_extension_state_resolve_to_the_entry_above() {
    let script = "say a; reply b; label l; name n; custom s; say c";
    for chosen in ["label l", "name n", "s"] {
        assert_eq!(lands(script, chosen), r#"to assistant: "b""#);
    }
    check(
        "say a; reply b; say c; label l; reply d; move a",
        "label l",
        expect![[r#"to assistant: "b", editor "c""#]],
    );
    check("name n; say a", "name n", expect!["to root"]);
}

#[test]
fn heads_alone_decide_the_target() {
    let script = ScriptedSession::run(
        "say a; reply b calls read x; result r; label l; reply c; say d; summarize s at b; note t n; bash ls; move c",
    );
    let heads: Vec<_> = script.tree.heads().iter().map(|(_, head)| *head).collect();
    let bare = SessionTree::restore(heads, |seq| parse_entry(&script.lines[seq.index()]).ok());
    for (seq, _) in script.tree.heads().iter() {
        let id = script.tree.id(seq);
        let request = MoveRequest::entry(id.as_str());
        assert_eq!(
            bare.resolve_move(bare.leaf(), &request),
            script.tree.resolve_move(script.tree.leaf(), &request)
        );
    }
}

#[test]
fn changed_leaf_is_refused() {
    let script = ScriptedSession::run("say a; reply b; say c; reply d; label l");
    let seen = |expected| MoveRequest { expected_leaf: Some(expected), ..MoveRequest::default() };
    assert_eq!(describe(&script, &seen(Some(script.id("d")))), "stays at [label: l]", "the same place");
    expect!["refused, leaf_changed: the session has moved to 00000005; check it, then try again"]
        .assert_eq(&describe(&script, &seen(Some(script.id("b")))));
    for expected in [None, Some("nowhere0")] {
        let error = script.tree.resolve_move(script.tree.leaf(), &seen(expected)).unwrap_err();
        assert_eq!(error.code().name(), "leaf_changed");
    }
    let chosen = MoveRequest { selection: Selection::Entry(script.id("b")), ..seen(Some(script.id("c"))) };
    assert_eq!(
        script.tree.resolve_move(script.tree.leaf(), &chosen).unwrap_err().code().name(),
        "leaf_changed"
    );
    let empty = SessionTree::default();
    assert!(empty.resolve_move(None, &seen(None)).is_ok());
}

#[test]
fn selection_is_refused_while_a_turn_runs() {
    let script = ScriptedSession::run("say a; reply b");
    let busy = |chosen| MoveRequest { selection: chosen, busy: true, ..MoveRequest::default() };
    expect!["refused, session_busy: a turn is running in this session; wait until it ends, or stop it"]
        .assert_eq(&describe(&script, &busy(Selection::Entry(script.id("a")))));
    assert_eq!(
        script.tree.resolve_move(script.tree.leaf(), &busy(Selection::Root)),
        Err(PlanError::SessionBusy)
    );
    assert!(
        script.tree.resolve_move(script.tree.leaf(), &busy(Selection::None)).is_ok(),
        "continuing without a selection is allowed"
    );
}

#[test]
fn root_is_before_the_first_entry_and_hidden_or_missing_entries_are_refused() {
    let script = ScriptedSession::run("say a; reply b; say c; move a; delete c");
    let root = MoveRequest { selection: Selection::Root, ..MoveRequest::default() };
    assert_eq!(describe(&script, &root), "to root");
    assert!(describe(&script, &MoveRequest::entry(script.id("c"))).starts_with("refused, entry_hidden"));
    assert!(describe(&script, &MoveRequest::entry("nowhere0")).starts_with("refused, entry_not_found"));
    assert_eq!(describe(&ScriptedSession::default(), &root), "stays at root");
}

/// A copy of the tree with the draft appended.
fn with(tree: &SessionTree, draft: &osier_tree::EntryDraft, position: Place) -> SessionTree {
    let mut tree = tree.clone();
    let parent = position.map(|seq| tree.id(seq).to_string());
    let line = draft.to_line("ffffffff", parent.as_deref(), 0);
    tree.append(&parse_entry(&line).unwrap(), 0, 0);
    tree
}

proptest! {
    #[test]
    fn move_to_every_target_is_accepted(log in random_logs(true, 1..60)) {
        let tree = fold(&log.entries);
        let at = tree.leaf();
        for (seq, _) in tree.heads().iter() {
            let Ok(target) = tree.resolve_move(at, &MoveRequest::entry(tree.id(seq).as_str())) else { continue };
            let planned = tree.plan_move(at, target.position);
            prop_assert_eq!(planned.is_some(), target.needs_move);
            if let Some(draft) = planned {
                prop_assert!(target.position.is_none_or(|position| !tree.is_hidden(position)));
                let moved = with(&tree, &draft, target.position);
                prop_assert!(moved.same_place(moved.leaf(), target.position));
                prop_assert_eq!(moved.context_entries(moved.leaf()).items, tree.context_entries(target.position).items);
            }
            if let Some(said) = target.editor_entry {
                prop_assert_eq!(tree.head(said).parent, target.position);
                prop_assert!(target.editor_content(&log.entries).is_some());
            }
        }
    }

    #[test]
    fn moving_away_and_back_restores_the_context(log in random_logs(false, 2..60)) {
        let mut script = ScriptedSession::from_lines(&log.entries);
        let context = |script: &ScriptedSession| {
            let mut seen: Vec<Vec<u8>> = Vec::new();
            for item in script.tree.context_entries(script.tree.leaf()).items {
                let edit = item.edit.map(|edit| script.lines[edit.index()].as_slice());
                item.emit_messages(&script.lines[item.seq.index()], edit, &mut |message| seen.push(message.to_vec()));
            }
            seen
        };
        let (home, first) = (script.tree.leaf(), context(&script));
        let all: Vec<Seq> = script.tree.heads().iter().map(|(seq, _)| seq).collect();
        for seq in all {
            let id = script.tree.id(seq).to_string();
            let Ok(target) = script.tree.resolve_move(home, &MoveRequest::entry(&id)) else { continue };
            let Some(there) = script.tree.plan_move(home, target.position) else { continue };
            script.append(&there, "there");
            let back = script.tree.plan_move(script.tree.leaf(), home).unwrap();
            script.append(&back, "back");
            prop_assert_eq!(&context(&script), &first);
        }
    }
}
