//! Presses keys and checks the screen.

use expect_test::expect;
use osier_protocol::Card;
use osier_protocol::search_query::{ExcerptLine, MessageHit};
use osier_tree::Header;

use crate::msg::{Action, Msg, SearchHit};
use crate::testing::Harness;

fn card(id: &str, cwd: &str, name: Option<&str>, first: &str, parent: Option<&str>) -> Card {
    let mut card = Card::new(&Header::new(id, 0, cwd), "file");
    card.name = name.map(str::to_owned);
    card.first_message = first.to_owned();
    card.message_count = 4;
    card.parent_session_id = parent.map(str::to_owned);
    card
}

fn picker() -> Harness {
    let mut harness = Harness::new(72, 20);
    harness.submit("/resume");
    assert_eq!(harness.take_actions(), "ListSessions\n");
    harness.update(Msg::Sessions(
        vec![
            card("aaaaaaaa-1", "/code", None, "fix the parser of dates", Some("cccccccc-3")),
            card("bbbbbbbb-2", "/code", Some("Release"), "make a release", None),
            card("cccccccc-3", "/code", None, "parse dates", None),
            card("dddddddd-4", "/else", None, "another project", None),
        ],
        None,
    ));
    harness
}

#[test]
fn sessions_of_this_directory_are_listed_by_thread() {
    picker().check(expect![[r#"

        ╭─ Sessions this directory · threads ───────────────────────────────────
        │ / words, "a phrase" or re:pattern
        │ › parse dates                                     4 · now · cccccccc
        │   └─ fix the parser of dates                      4 · now · aaaaaaaa
        │   Release                                         4 · now · bbbbbbbb
        ╰─ (1/3) enter open · tab scope · ctrl+s sort · ctrl+n named ───────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
}

#[test]
fn tab_lists_all_directories_and_the_list_can_show_named_sessions_only() {
    let mut harness = picker();
    harness.press("tab ctrl+s");
    harness.check(expect![[r#"

        ╭─ Sessions all directories · recent ───────────────────────────────────
        │ / words, "a phrase" or re:pattern
        │ › fix the parser of dates                  /code  4 · now · aaaaaaaa
        │   Release                                  /code  4 · now · bbbbbbbb
        │   parse dates                              /code  4 · now · cccccccc
        │   another project                          /else  4 · now · dddddddd
        ╰─ (1/4) enter open · tab scope · ctrl+s sort · ctrl+n named ───────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.press("ctrl+n");
    assert!(harness.text().contains("(1/1)") && harness.text().contains("Release"), "{}", harness.text());
}

#[test]
fn words_phrases_and_patterns_can_be_searched() {
    let found = |typed: &str| {
        let mut harness = picker();
        harness.press(&format!("'{}'", typed.replace(' ', "' space '")));
        let text = harness.text();
        let ids = ["aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"];
        ids.into_iter().filter(|id| text.contains(id)).map(|id| id[..1].to_owned()).collect::<String>()
    };
    assert_eq!(found("dates"), "ac");
    assert_eq!(found("prsrdte"), "a");
    assert_eq!(found("\"parse dates\""), "c");
    assert_eq!(found("re:^c|release"), "bc");
    assert_eq!(found("re:("), "");
    assert_eq!(found("nothing"), "");
}

#[test]
fn a_session_can_be_opened_renamed_and_deleted_after_a_question() {
    let mut harness = picker();
    harness.press("down down ctrl+r ctrl+u 'Next' enter");
    assert_eq!(
        harness.take_actions(),
        "RenameSession { target: SessionRef { store: \"file\", key: \"bbbbbbbb-2\" }, name: \"Next\" }\n"
    );
    harness.press("ctrl+d");
    assert!(harness.text().contains("Delete \"Release\" permanently?"), "{}", harness.text());
    harness.press("escape ctrl+d down enter");
    assert_eq!(
        harness.take_actions(),
        "DeleteSession(SessionRef { store: \"file\", key: \"bbbbbbbb-2\" })\n"
    );
    harness.press("enter");
    assert_eq!(harness.take_actions(), "Open(Listed(SessionRef { store: \"file\", key: \"bbbbbbbb-2\" }))\n");
    assert!(harness.state.overlays.is_empty());
}

/// The list, opened from a session in the store `file`.
fn in_file() -> Harness {
    let mut harness = Harness::new(72, 20);
    harness.state.status.store = "file".to_owned();
    harness.submit("/resume");
    harness.take_actions();
    harness
}

/// Each row names its store, and acts on the copy in that store.
#[test]
fn a_copy_in_another_store_is_another_session() {
    let mut harness = in_file();
    let here = card("5e551011-0000", "/code", None, "this", None);
    let mut there = here.clone();
    there.store = "archive".to_owned();
    there.file = Some("/archive/a.jsonl".to_owned());
    harness.update(Msg::Sessions(vec![here, there], Some("the store team is not listed".to_owned())));
    harness.check(expect![[r#"

        ╭─ Sessions this directory · threads ───────────────────────────────────
        │ / words, "a phrase" or re:pattern
        │ › this  ← current                           file  4 · now · 5e551011
        │   this                                   archive  4 · now · 5e551011
        ╰─ (1/2) enter open · tab scope · ctrl+s sort · ctrl+n named ───────────
        the store team is not listed
        code │ a/model │ #0 │ 5e551011 │ file
    "#]]);
    harness.press("down enter");
    assert_eq!(
        harness.take_actions(),
        "Open(Listed(SessionRef { store: \"archive\", key: \"/archive/a.jsonl\" }))\n"
    );
    harness.submit("/resume");
    harness.take_actions();
    let copies = ["file", "archive"]
        .map(|store| Card { store: store.to_owned(), ..card("5e551011-0000", "/code", None, "this", None) });
    harness.update(Msg::Sessions(copies.to_vec(), None));
    harness.press("ctrl+d enter");
    assert_eq!(harness.take_actions(), "", "the open session cannot be deleted");
    harness.press("down ctrl+d");
    assert!(harness.text().contains("Delete \"this\" from archive permanently?"), "{}", harness.text());
    harness.press("down enter");
    assert_eq!(
        harness.take_actions(),
        "DeleteSession(SessionRef { store: \"archive\", key: \"5e551011-0000\" })\n"
    );
}

#[test]
fn the_open_session_cannot_be_deleted() {
    let mut harness = in_file();
    harness.update(Msg::Sessions(vec![card("5e551011-0000", "/code", None, "this", None)], None));
    harness.press("ctrl+d down enter");
    assert_eq!(harness.take_actions(), "");
}

/// The first letter of each listed id, in order.
fn order(harness: &Harness) -> String {
    let text = harness.text();
    let rows = text.lines().filter_map(|line| line.split(" · ").nth(2));
    rows.filter(|id| id.len() == 8).map(|id| id[..1].to_owned()).collect()
}

fn typed(harness: &mut Harness, text: &str) {
    harness.press(&format!("'{}'", text.replace(' ', "' space '")));
}

#[test]
fn a_phrase_folds_whitespace_and_a_pattern_ignores_case() {
    let mut harness = Harness::new(72, 20);
    harness.submit("/resume");
    harness.update(Msg::Sessions(vec![card("aaaaaaaa-1", "/code", None, "fix  the\tNode cve", None)], None));
    typed(&mut harness, "\"the  node CVE\"");
    assert_eq!(order(&harness), "a");
    harness.press("escape");
    typed(&mut harness, "re:NODE.CVE");
    assert_eq!(order(&harness), "a");
}

#[test]
fn recent_keeps_its_order_while_searching_and_best_match_puts_names_first() {
    let mut harness = picker();
    harness.press("ctrl+s");
    typed(&mut harness, "e");
    assert_eq!(order(&harness), "abc", "recent");
    harness.press("ctrl+s");
    assert_eq!(order(&harness).chars().next(), Some('b'), "best match: the name");
}

#[test]
fn a_blank_name_does_not_count_and_the_named_filter_combines_with_a_search() {
    let mut harness = Harness::new(72, 20);
    harness.submit("/resume");
    harness.update(Msg::Sessions(
        vec![
            card("aaaaaaaa-1", "/code", Some("  "), "blue", None),
            card("bbbbbbbb-2", "/code", Some("Named"), "blue", None),
            card("cccccccc-3", "/code", None, "blue", None),
        ],
        None,
    ));
    harness.press("ctrl+n");
    assert_eq!(order(&harness), "b");
    typed(&mut harness, "blue");
    assert_eq!(order(&harness), "b");
    harness.press("ctrl+n");
    assert_eq!(order(&harness).len(), 3);
}

#[test]
fn ctrl_backspace_deletes_only_without_a_query_and_ctrl_d_always_asks() {
    let mut harness = picker();
    typed(&mut harness, "re");
    harness.press("ctrl+backspace");
    assert!(!harness.text().contains("permanently?"), "{}", harness.text());
    harness.press("ctrl+d");
    assert!(harness.text().contains("permanently?"), "{}", harness.text());
    harness.press("escape escape");
    harness.take_actions();
    harness.press("ctrl+backspace down enter");
    assert_eq!(
        harness.take_actions(),
        "DeleteSession(SessionRef { store: \"file\", key: \"cccccccc-3\" })\n"
    );
}

#[test]
fn a_list_that_arrives_late_keeps_scope_and_order_and_is_requested_once() {
    let mut harness = Harness::new(72, 20);
    harness.submit("/resume");
    harness.press("tab ctrl+s tab tab");
    assert_eq!(harness.take_actions(), "ListSessions\n");
    harness.update(Msg::Sessions(vec![card("dddddddd-4", "/else", None, "x", None)], None));
    assert!(harness.text().contains("all directories · recent"), "{}", harness.text());
    assert_eq!(order(&harness), "d");
}

#[test]
fn sessions_show_their_age_and_cyclic_threads_are_listed() {
    let mut harness = Harness::new(72, 20);
    harness.state.clock.now = 3 * 86_400_000;
    harness.submit("/resume");
    let mut cards = vec![
        card("aaaaaaaa-1", "/code", None, "one", Some("bbbbbbbb-2")),
        card("bbbbbbbb-2", "/code", None, "two", Some("aaaaaaaa-1")),
    ];
    cards[0].modified = 86_400_000;
    harness.update(Msg::Sessions(cards, None));
    assert!(
        harness.text().contains("4 · 2d · aaaaaaaa") && harness.text().contains("(1/2)"),
        "{}",
        harness.text()
    );
}

#[test]
fn ten_thousand_sessions_can_be_listed_and_searched() {
    let mut harness = Harness::new(72, 20);
    harness.submit("/resume");
    let cards = (0..10_000).map(|number: usize| {
        let parent =
            number.checked_sub(1).filter(|_| !number.is_multiple_of(3)).map(|above| format!("{above:08}-0"));
        card(&format!("{number:08}-0"), "/code", None, &format!("session {number}"), parent.as_deref())
    });
    harness.update(Msg::Sessions(cards.collect(), None));
    assert!(harness.text().contains("(1/10000)"), "{}", harness.text());
    typed(&mut harness, "\"session 4711\"");
    assert!(harness.text().contains("(1/1)"), "{}", harness.text());
}

/// The requested actions in short form: for a search, the query and the cards.
fn searches(harness: &mut Harness) -> Vec<String> {
    let describe = |action: Action| match action {
        Action::Search { query, among, .. } => format!("{query} in {among:?}"),
        other => format!("{other:?}"),
    };
    harness.actions.drain(..).map(describe).collect()
}

/// The conversation of a card matches.
fn hit(card: usize) -> Msg {
    Msg::SearchHit(Some(SearchHit { card, message: None }))
}

#[test]
fn a_match_in_a_conversation_shows_its_line() {
    let mut harness = picker();
    typed(&mut harness, "milk");
    harness.update(found(1, &["buy oat milk and bread, then call the bakery about the cake"]));
    let text = harness.text();
    assert!(text.contains("Release  buy oat milk and bread"), "{text}");
    assert!(text.contains("4 · now · bbbbbbbb"), "the other columns stay: {text}");
}

/// A message in the conversation of a card matches; the second of several lines has the match.
fn found(card: usize, lines: &[&str]) -> Msg {
    let matching = usize::from(lines.len() > 1);
    let line = |(at, text): (usize, &&str)| ExcerptLine {
        number: at + 1,
        text: (*text).to_owned(),
        is_match: at == matching,
    };
    let message = MessageHit {
        entry_id: "e0000007".into(),
        role: "user".to_owned(),
        lines: lines.iter().enumerate().map(line).collect(),
    };
    Msg::SearchHit(Some(SearchHit { card, message: Some(message) }))
}

#[test]
fn the_lines_around_a_match_are_shown_and_enter_leads_to_its_entry() {
    let mut harness = picker();
    typed(&mut harness, "milk");
    harness.update(found(1, &["for breakfast:", "oat milk and bread", "and the cake"]));
    harness.update(Msg::SearchHit(None));
    harness.check(expect![[r#"

        ╭─ Sessions this directory · threads ───────────────────────────────────
        │ / milk
        │ › Release  oat milk and bread                     4 · now · bbbbbbbb
        │   │ for breakfast:
        │   │ oat milk and bread
        │   │ and the cake
        ╰─ (1/1) enter open at the match · tab scope · ctrl+s sort ─────────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.actions.clear();
    harness.press("enter");
    let opened = harness.actions.drain(..).find_map(|action| match action {
        Action::Open(target) => Some(format!("{target:?}")),
        _ => None,
    });
    let opened = opened.unwrap_or_default();
    assert!(opened.starts_with("Found(") && opened.contains("e0000007"), "{opened}");
}

#[test]
fn conversations_are_searched_if_the_card_does_not_match() {
    let mut harness = picker();
    typed(&mut harness, "da");
    assert_eq!(searches(&mut harness), ["da in [1]"]);
    assert_eq!(order(&harness), "ac", "matching cards are listed at once");
    harness.update(hit(1));
    harness.check(expect![[r#"

        ╭─ Sessions this directory · threads · searching messages… ─────────────
        │ / da
        │ › fix the parser of dates                         4 · now · aaaaaaaa
        │   parse dates                                     4 · now · cccccccc
        │   Release                                         4 · now · bbbbbbbb
        ╰─ (1/3) enter open · tab scope · ctrl+s sort · ctrl+n named ───────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.update(Msg::SearchHit(None));
    assert!(!harness.text().contains("searching"), "{}", harness.text());
}

#[test]
fn a_new_query_discards_earlier_results() {
    let mut harness = picker();
    typed(&mut harness, "m");
    harness.update(hit(0));
    assert_eq!(order(&harness), "ba");
    harness.actions.clear();
    harness.press("'ilk'");
    assert_eq!(order(&harness), "", "the search is still running");
    assert!(!harness.text().contains("no sessions"), "{}", harness.text());
    assert_eq!(searches(&mut harness).last().map(String::as_str), Some("milk in [0, 1, 2]"));
    harness.press("tab");
    assert_eq!(searches(&mut harness), ["milk in [0, 1, 2, 3]"]);
    harness.update(Msg::SearchHit(None));
    assert!(harness.text().contains("  no sessions\n"), "{}", harness.text());
    harness.press("backspace escape");
    assert_eq!(searches(&mut harness), ["mil in [0, 1, 2, 3]", "StopSearch"]);
}

#[test]
fn the_cursor_stays_on_its_session_while_others_are_found() {
    let mut harness = picker();
    typed(&mut harness, "milk");
    harness.update(hit(1));
    harness.update(hit(2));
    harness.press("down");
    harness.update(hit(0));
    assert_eq!(order(&harness), "abc");
    harness.actions.clear();
    harness.press("enter");
    assert_eq!(
        searches(&mut harness),
        ["StopSearch", "Open(Listed(SessionRef { store: \"file\", key: \"cccccccc-3\" }))"]
    );
}

#[test]
fn the_first_row_stays_selected_once_a_key_selected_it() {
    let opened = |keys: &str| {
        let mut harness = picker();
        harness.press("ctrl+s");
        typed(&mut harness, "milk");
        harness.press(keys);
        harness.update(hit(2));
        harness.press(keys);
        harness.update(hit(1));
        harness.update(hit(0));
        harness.update(hit(0));
        assert_eq!(order(&harness), "abc", "most recent first, without duplicates");
        harness.actions.clear();
        harness.press("enter");
        searches(&mut harness).pop().unwrap()
    };
    assert_eq!(opened("up"), "Open(Listed(SessionRef { store: \"file\", key: \"cccccccc-3\" }))");
    assert_eq!(opened(""), "Open(Listed(SessionRef { store: \"file\", key: \"aaaaaaaa-1\" }))");
}

#[test]
fn search_results_are_inserted_in_sort_order() {
    let mut harness = picker();
    typed(&mut harness, "dates");
    harness.press("tab");
    harness.update(hit(3));
    harness.update(hit(1));
    let found = order(&harness);
    assert!(found.ends_with("bd"), "below the matching cards: {found}");
    harness.press("ctrl+s ctrl+s ctrl+s");
    assert_eq!(order(&harness), found);
}

#[test]
fn an_invalid_pattern_shows_its_error() {
    let mut harness = picker();
    typed(&mut harness, "re:([");
    harness.check(expect![[r#"

        ╭─ Sessions this directory · threads ───────────────────────────────────
        │ / re:([
        │   invalid regular expression: unclosed character class
        ╰─ (0/0) enter open · tab scope · ctrl+s sort · ctrl+n named ───────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    assert!(
        !searches(&mut harness).iter().any(|asked| asked.starts_with("re:(")),
        "an invalid pattern is not searched"
    );
}

#[test]
fn the_current_session_is_marked_among_similar_ones() {
    let mut harness = Harness::new(72, 20);
    harness.state.status.store = "file".to_owned();
    harness.submit("/resume");
    let cards = ["5e551011-0000", "5e551011-0001"].map(|id| card(id, "/code", None, "hello", None));
    harness.update(Msg::Sessions(cards.to_vec(), None));
    assert_eq!(harness.text().matches("hello  ← current").count(), 1, "{}", harness.text());
}
