//! Presses keys and checks the screen.

use expect_test::expect;
use osier_tree::Header;
use osier_tree::projection::card::Card;

use crate::msg::{Action, Msg};
use crate::state::UiConfig;
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
    let mut desk = Harness::new(72, 20);
    desk.submit("/resume");
    assert_eq!(desk.take_actions(), "ListSessions\n");
    desk.update(Msg::Sessions(
        vec![
            card("aaaaaaaa-1", "/code", None, "fix the parser of dates", Some("cccccccc-3")),
            card("bbbbbbbb-2", "/code", Some("Release"), "make a release", None),
            card("cccccccc-3", "/code", None, "parse dates", None),
            card("dddddddd-4", "/else", None, "another project", None),
        ],
        None,
    ));
    desk
}

#[test]
fn sessions_of_this_directory_are_listed_by_thread() {
    picker().check(expect![[r#"

        Sessions this directory · threads
        / words, "a phrase" or re:pattern
        › parse dates                                         4 · now · cccccccc
          └─ fix the parser of dates                          4 · now · aaaaaaaa
          Release                                             4 · now · bbbbbbbb
        (1/3) enter open · tab scope · ctrl+s sort · ctrl+n named
        code │ a/model │ #0 │ 5e551011
    "#]]);
}

#[test]
fn tab_lists_all_directories_and_the_list_can_show_named_sessions_only() {
    let mut desk = picker();
    desk.press("tab ctrl+s");
    desk.check(expect![[r#"

        Sessions all directories · recent
        / words, "a phrase" or re:pattern
        › fix the parser of dates                      /code  4 · now · aaaaaaaa
          Release                                      /code  4 · now · bbbbbbbb
          parse dates                                  /code  4 · now · cccccccc
          another project                              /else  4 · now · dddddddd
        (1/4) enter open · tab scope · ctrl+s sort · ctrl+n named
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.press("ctrl+n");
    assert!(desk.text().contains("(1/1)") && desk.text().contains("Release"), "{}", desk.text());
}

#[test]
fn words_phrases_and_patterns_can_be_searched() {
    let found = |typed: &str| {
        let mut desk = picker();
        desk.press(&format!("'{}'", typed.replace(' ', "' space '")));
        let text = desk.text();
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
    let mut desk = picker();
    desk.press("down down ctrl+r ctrl+u 'Next' enter");
    assert_eq!(
        desk.take_actions(),
        "RenameSession { spot: Spot { store: \"file\", key: \"bbbbbbbb-2\" }, name: \"Next\" }\n"
    );
    desk.press("ctrl+d");
    assert!(desk.text().contains("Delete \"Release\" permanently?"), "{}", desk.text());
    desk.press("escape ctrl+d down enter");
    assert_eq!(desk.take_actions(), "DeleteSession(Spot { store: \"file\", key: \"bbbbbbbb-2\" })\n");
    desk.press("enter");
    assert_eq!(desk.take_actions(), "Open(Listed(Spot { store: \"file\", key: \"bbbbbbbb-2\" }))\n");
    assert!(desk.state.overlays.is_empty());
}

/// The list, opened from a session in the store `file`.
fn in_file() -> Harness {
    let mut desk = Harness::new(72, 20);
    let setting = UiConfig { store: "file".to_owned(), ..(*desk.state.config).clone() };
    desk.state.config = setting.into();
    desk.submit("/resume");
    desk.take_actions();
    desk
}

/// Each row names its store, and acts on the copy in that store.
#[test]
fn a_copy_in_another_store_is_another_session() {
    let mut desk = in_file();
    let here = card("5e551011-0000", "/code", None, "this", None);
    let mut there = here.clone();
    there.store = "archive".to_owned();
    there.file = Some("/archive/a.jsonl".to_owned());
    desk.update(Msg::Sessions(vec![here, there], Some("the store team is not listed".to_owned())));
    desk.check(expect![[r#"

        Sessions this directory · threads
        / words, "a phrase" or re:pattern
        › this  ← current                               file  4 · now · 5e551011
          this                                       archive  4 · now · 5e551011
        (1/2) enter open · tab scope · ctrl+s sort · ctrl+n named
        the store team is not listed
        code │ a/model │ #0 │ 5e551011 │ file
    "#]]);
    desk.press("down enter");
    assert_eq!(desk.take_actions(), "Open(Listed(Spot { store: \"archive\", key: \"/archive/a.jsonl\" }))\n");
    desk.submit("/resume");
    desk.take_actions();
    let copies = ["file", "archive"]
        .map(|store| Card { store: store.to_owned(), ..card("5e551011-0000", "/code", None, "this", None) });
    desk.update(Msg::Sessions(copies.to_vec(), None));
    desk.press("ctrl+d enter");
    assert_eq!(desk.take_actions(), "", "the open session cannot be deleted");
    desk.press("down ctrl+d");
    assert!(desk.text().contains("Delete \"this\" from archive permanently?"), "{}", desk.text());
    desk.press("down enter");
    assert_eq!(desk.take_actions(), "DeleteSession(Spot { store: \"archive\", key: \"5e551011-0000\" })\n");
}

#[test]
fn the_open_session_cannot_be_deleted() {
    let mut desk = in_file();
    desk.update(Msg::Sessions(vec![card("5e551011-0000", "/code", None, "this", None)], None));
    desk.press("ctrl+d down enter");
    assert_eq!(desk.take_actions(), "");
}

/// The first letter of each listed id, in order.
fn order(desk: &Harness) -> String {
    let text = desk.text();
    let rows = text.lines().filter_map(|line| line.split(" · ").nth(2));
    rows.filter(|id| id.len() == 8).map(|id| id[..1].to_owned()).collect()
}

fn typed(desk: &mut Harness, text: &str) {
    desk.press(&format!("'{}'", text.replace(' ', "' space '")));
}

#[test]
fn a_phrase_folds_whitespace_and_a_pattern_ignores_case() {
    let mut desk = Harness::new(72, 20);
    desk.submit("/resume");
    desk.update(Msg::Sessions(vec![card("aaaaaaaa-1", "/code", None, "fix  the\tNode cve", None)], None));
    typed(&mut desk, "\"the  node CVE\"");
    assert_eq!(order(&desk), "a");
    desk.press("escape");
    typed(&mut desk, "re:NODE.CVE");
    assert_eq!(order(&desk), "a");
}

#[test]
fn recent_keeps_its_order_while_searching_and_best_match_puts_names_first() {
    let mut desk = picker();
    desk.press("ctrl+s");
    typed(&mut desk, "e");
    assert_eq!(order(&desk), "abc", "recent");
    desk.press("ctrl+s");
    assert_eq!(order(&desk).chars().next(), Some('b'), "best match: the name");
}

#[test]
fn a_blank_name_does_not_count_and_the_named_filter_combines_with_a_search() {
    let mut desk = Harness::new(72, 20);
    desk.submit("/resume");
    desk.update(Msg::Sessions(
        vec![
            card("aaaaaaaa-1", "/code", Some("  "), "blue", None),
            card("bbbbbbbb-2", "/code", Some("Named"), "blue", None),
            card("cccccccc-3", "/code", None, "blue", None),
        ],
        None,
    ));
    desk.press("ctrl+n");
    assert_eq!(order(&desk), "b");
    typed(&mut desk, "blue");
    assert_eq!(order(&desk), "b");
    desk.press("ctrl+n");
    assert_eq!(order(&desk).len(), 3);
}

#[test]
fn ctrl_backspace_deletes_only_without_a_query_and_ctrl_d_always_asks() {
    let mut desk = picker();
    typed(&mut desk, "re");
    desk.press("ctrl+backspace");
    assert!(!desk.text().contains("permanently?"), "{}", desk.text());
    desk.press("ctrl+d");
    assert!(desk.text().contains("permanently?"), "{}", desk.text());
    desk.press("escape escape");
    desk.take_actions();
    desk.press("ctrl+backspace down enter");
    assert_eq!(desk.take_actions(), "DeleteSession(Spot { store: \"file\", key: \"cccccccc-3\" })\n");
}

#[test]
fn a_list_that_arrives_late_keeps_scope_and_order_and_is_requested_once() {
    let mut desk = Harness::new(72, 20);
    desk.submit("/resume");
    desk.press("tab ctrl+s tab tab");
    assert_eq!(desk.take_actions(), "ListSessions\n");
    desk.update(Msg::Sessions(vec![card("dddddddd-4", "/else", None, "x", None)], None));
    assert!(desk.text().contains("all directories · recent"), "{}", desk.text());
    assert_eq!(order(&desk), "d");
}

#[test]
fn sessions_show_their_age_and_cyclic_threads_are_listed() {
    let mut desk = Harness::new(72, 20);
    desk.state.clock.now = 3 * 86_400_000;
    desk.submit("/resume");
    let mut cards = vec![
        card("aaaaaaaa-1", "/code", None, "one", Some("bbbbbbbb-2")),
        card("bbbbbbbb-2", "/code", None, "two", Some("aaaaaaaa-1")),
    ];
    cards[0].modified = 86_400_000;
    desk.update(Msg::Sessions(cards, None));
    assert!(desk.text().contains("4 · 2d · aaaaaaaa") && desk.text().contains("(1/2)"), "{}", desk.text());
}

#[test]
fn ten_thousand_sessions_can_be_listed_and_searched() {
    let mut desk = Harness::new(72, 20);
    desk.submit("/resume");
    let cards = (0..10_000).map(|number: usize| {
        let parent =
            number.checked_sub(1).filter(|_| !number.is_multiple_of(3)).map(|above| format!("{above:08}-0"));
        card(&format!("{number:08}-0"), "/code", None, &format!("session {number}"), parent.as_deref())
    });
    desk.update(Msg::Sessions(cards.collect(), None));
    assert!(desk.text().contains("(1/10000)"), "{}", desk.text());
    typed(&mut desk, "\"session 4711\"");
    assert!(desk.text().contains("(1/1)"), "{}", desk.text());
}

/// The requested actions in short form: for a search, the query and the cards.
fn searches(desk: &mut Harness) -> Vec<String> {
    let describe = |action: Action| match action {
        Action::Search { query, among, .. } => format!("{query} in {among:?}"),
        other => format!("{other:?}"),
    };
    desk.actions.drain(..).map(describe).collect()
}

#[test]
fn conversations_are_searched_if_the_card_does_not_match() {
    let mut desk = picker();
    typed(&mut desk, "da");
    assert_eq!(searches(&mut desk), ["da in [1]"]);
    assert_eq!(order(&desk), "ac", "matching cards are listed at once");
    desk.update(Msg::SearchHit(Some(1)));
    desk.check(expect![[r#"

        Sessions this directory · threads · searching messages…
        / da
        › fix the parser of dates                             4 · now · aaaaaaaa
          parse dates                                         4 · now · cccccccc
          Release                                             4 · now · bbbbbbbb
        (1/3) enter open · tab scope · ctrl+s sort · ctrl+n named
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.update(Msg::SearchHit(None));
    assert!(!desk.text().contains("searching"), "{}", desk.text());
}

#[test]
fn a_new_query_discards_earlier_results() {
    let mut desk = picker();
    typed(&mut desk, "m");
    desk.update(Msg::SearchHit(Some(0)));
    assert_eq!(order(&desk), "ba");
    desk.actions.clear();
    desk.press("'ilk'");
    assert_eq!(order(&desk), "", "the search is still running");
    assert!(!desk.text().contains("no sessions"), "{}", desk.text());
    assert_eq!(searches(&mut desk).last().map(String::as_str), Some("milk in [0, 1, 2]"));
    desk.press("tab");
    assert_eq!(searches(&mut desk), ["milk in [0, 1, 2, 3]"]);
    desk.update(Msg::SearchHit(None));
    assert!(desk.text().contains("  no sessions\n"), "{}", desk.text());
    desk.press("backspace escape");
    assert_eq!(searches(&mut desk), ["mil in [0, 1, 2, 3]", "StopSearch"]);
}

#[test]
fn the_cursor_stays_on_its_session_while_others_are_found() {
    let mut desk = picker();
    typed(&mut desk, "milk");
    desk.update(Msg::SearchHit(Some(1)));
    desk.update(Msg::SearchHit(Some(2)));
    desk.press("down");
    desk.update(Msg::SearchHit(Some(0)));
    assert_eq!(order(&desk), "abc");
    desk.actions.clear();
    desk.press("enter");
    assert_eq!(
        searches(&mut desk),
        ["StopSearch", "Open(Listed(Spot { store: \"file\", key: \"cccccccc-3\" }))"]
    );
}

#[test]
fn the_first_row_stays_selected_once_a_key_selected_it() {
    let opened = |keys: &str| {
        let mut desk = picker();
        desk.press("ctrl+s");
        typed(&mut desk, "milk");
        desk.press(keys);
        desk.update(Msg::SearchHit(Some(2)));
        desk.press(keys);
        desk.update(Msg::SearchHit(Some(1)));
        desk.update(Msg::SearchHit(Some(0)));
        desk.update(Msg::SearchHit(Some(0)));
        assert_eq!(order(&desk), "abc", "most recent first, without duplicates");
        desk.actions.clear();
        desk.press("enter");
        searches(&mut desk).pop().unwrap()
    };
    assert_eq!(opened("up"), "Open(Listed(Spot { store: \"file\", key: \"cccccccc-3\" }))");
    assert_eq!(opened(""), "Open(Listed(Spot { store: \"file\", key: \"aaaaaaaa-1\" }))");
}

#[test]
fn search_results_are_inserted_in_sort_order() {
    let mut desk = picker();
    typed(&mut desk, "dates");
    desk.press("tab");
    desk.update(Msg::SearchHit(Some(3)));
    desk.update(Msg::SearchHit(Some(1)));
    let found = order(&desk);
    assert!(found.ends_with("bd"), "below the matching cards: {found}");
    desk.press("ctrl+s ctrl+s ctrl+s");
    assert_eq!(order(&desk), found);
}

#[test]
fn an_invalid_pattern_shows_its_error() {
    let mut desk = picker();
    typed(&mut desk, "re:([");
    desk.check(expect![[r#"

        Sessions this directory · threads
        / re:([
          invalid regular expression: unclosed character class
        (0/0) enter open · tab scope · ctrl+s sort · ctrl+n named
        code │ a/model │ #0 │ 5e551011
    "#]]);
    assert!(
        !searches(&mut desk).iter().any(|asked| asked.starts_with("re:(")),
        "an invalid pattern is not searched"
    );
}

#[test]
fn the_current_session_is_marked_among_similar_ones() {
    let mut desk = Harness::new(72, 20);
    desk.state.config = UiConfig { store: "file".to_owned(), ..UiConfig::clone(&desk.state.config) }.into();
    desk.submit("/resume");
    let cards = ["5e551011-0000", "5e551011-0001"].map(|id| card(id, "/code", None, "hello", None));
    desk.update(Msg::Sessions(cards.to_vec(), None));
    assert_eq!(desk.text().matches("hello  ← current").count(), 1, "{}", desk.text());
}
