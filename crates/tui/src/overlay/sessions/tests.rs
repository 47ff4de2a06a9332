//! Keys in, screens out.

use expect_test::expect;
use osier_tree::Header;
use osier_tree::projection::card::Card;

use crate::msg::Msg;
use crate::testing::Desk;

fn card(id: &str, cwd: &str, name: Option<&str>, first: &str, parent: Option<&str>) -> Card {
    let mut card = Card::new(&Header::new(id, 0, cwd), "file");
    card.name = name.map(str::to_owned);
    card.first_message = first.to_owned();
    card.message_count = 4;
    card.parent_session_id = parent.map(str::to_owned);
    card
}

fn picker() -> Desk {
    let mut desk = Desk::new(72, 20);
    desk.say("/resume");
    assert_eq!(desk.asked(), "ListSessions\n");
    desk.hear(Msg::Sessions(vec![
        card("aaaaaaaa-1", "/code", None, "fix the parser of dates", Some("cccccccc-3")),
        card("bbbbbbbb-2", "/code", Some("Release"), "make a release", None),
        card("cccccccc-3", "/code", None, "parse dates", None),
        card("dddddddd-4", "/else", None, "another project", None),
    ]));
    desk
}

#[test]
fn sessions_of_this_directory_by_thread() {
    picker().check(expect![[r#"

        Sessions this directory · threads
        / words, "a phrase" or re:pattern
        › parse dates  4 · cccccccc
          └─ fix the parser of dates  4 · aaaaaaaa
          Release  4 · bbbbbbbb
        (1/3) enter · tab scope · ctrl+s sort · ctrl+n named · ctrl+r rename · …
        code │ a/model │ #0 │ 5e551011
    "#]]);
}

#[test]
fn tab_looks_everywhere_and_named_ones_alone_can_be_shown() {
    let mut desk = picker();
    desk.press("tab ctrl+s");
    desk.check(expect![[r#"

        Sessions all directories · recent
        / words, "a phrase" or re:pattern
        › fix the parser of dates  /code  4 · aaaaaaaa
          Release  /code  4 · bbbbbbbb
          parse dates  /code  4 · cccccccc
          another project  /else  4 · dddddddd
        (1/4) enter · tab scope · ctrl+s sort · ctrl+n named · ctrl+r rename · …
        code │ a/model │ #0 │ 5e551011
    "#]]);
    desk.press("ctrl+n");
    assert!(desk.text().contains("(1/1)") && desk.text().contains("Release"), "{}", desk.text());
}

#[test]
fn words_phrases_and_patterns_are_searched() {
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
fn one_is_opened_renamed_or_deleted_after_a_question() {
    let mut desk = picker();
    desk.press("down down ctrl+r ctrl+u 'Next' enter");
    assert_eq!(desk.asked(), "RenameSession { id: \"bbbbbbbb-2\", name: \"Next\" }\n");
    desk.press("ctrl+d");
    assert!(desk.text().contains("Delete \"Release\" for good?"), "{}", desk.text());
    desk.press("escape ctrl+d enter");
    assert_eq!(desk.asked(), "DeleteSession(\"bbbbbbbb-2\")\n");
    desk.press("enter");
    assert_eq!(desk.asked(), "Open(There(\"bbbbbbbb-2\"))\n");
    assert!(desk.state.overlays.is_empty());
}

#[test]
fn the_open_session_is_not_deleted() {
    let mut desk = Desk::new(72, 20);
    desk.say("/resume");
    desk.asked();
    desk.hear(Msg::Sessions(vec![card("5e551011-0000", "/code", None, "this", None)]));
    desk.press("ctrl+d enter");
    assert_eq!(desk.asked(), "");
}
