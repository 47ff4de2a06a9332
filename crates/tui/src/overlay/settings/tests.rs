//! Presses keys and checks the screen.

use expect_test::expect;

use crate::msg::Msg;
use crate::testing::Harness;
use osier_protocol::engine_request::SettingRow;

fn row(key: &str, value: &str, choices: &[&str]) -> SettingRow {
    SettingRow {
        key: key.to_owned(),
        value: value.to_owned(),
        source: "default".to_owned(),
        help: "what it is".to_owned(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
    }
}

fn settings(theme: &str) -> Vec<SettingRow> {
    vec![
        row("theme", theme, &["auto", "dark", "light"]),
        row("editor", "", &[]),
        row("tree_filter", "default", &[]),
    ]
}

fn open(columns: u16, rows: u16) -> Harness {
    let mut harness = Harness::new(columns, rows);
    harness.submit("/settings");
    assert_eq!(harness.take_actions(), "ReadSettings\n");
    harness.update(Msg::Settings(settings("auto")));
    harness
}

#[test]
fn settings_are_shown_with_their_sources() {
    open(60, 14).check(expect![[r#"

        ╭─ Settings ────────────────────────────────────────────────
        │ / type to search
        │ › theme        auto       default
        │   editor       (not set)  default
        │   tree_filter  default    default
        │   what it is
        ╰─ (1/3) ↑↓ move · enter select · esc cancel ───────────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
}

#[test]
fn a_value_can_be_picked_and_the_list_shows_the_current_one() {
    let mut harness = open(60, 14);
    harness.press("'the' enter");
    harness.check(expect![[r#"

        ╭─ theme: what it is ───────────────────────────────────────
        │ / type to search
        │ › auto     ← current
        │   dark
        │   light
        ╰─ (1/3) ↑↓ move · enter select · esc cancel ───────────────
        code │ a/model │ #0 │ 5e551011
    "#]]);
    harness.press("'li' enter");
    assert_eq!(harness.take_actions(), "ChangeSetting { key: \"theme\", value: \"light\" }\n");
    harness.update(Msg::Settings(settings("light")));
    assert!(harness.text().contains("› theme        light"), "{}", harness.text());
    harness.press("escape escape");
    assert!(harness.state.overlays.is_empty());
}

#[test]
fn a_free_text_value_can_be_typed() {
    let mut harness = open(40, 12);
    harness.press("down enter 'vi' space '-n' enter");
    assert_eq!(harness.take_actions(), "ChangeSetting { key: \"editor\", value: \"vi -n\" }\n");
    harness.press("enter escape");
    assert_eq!(harness.take_actions(), "", "escape changes nothing");
}
