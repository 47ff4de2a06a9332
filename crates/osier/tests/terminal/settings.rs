//! Settings of the interface: from the settings file, and changed with `/settings`.

use std::fs;

use crate::run_support::osier_command;
use crate::screen::{ESCAPE, READY, Screen, open};
use crate::support::TestEnv;

fn env(settings: &str) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), settings).unwrap();
    env
}

#[test]
fn settings_choose_what_escape_twice_opens() {
    let env = env("double_escape = 'fork'\n");
    let mut screen = open(&env, &["--", "hello"]);
    screen.wait_for("#2");
    screen.press(&ESCAPE.repeat(2));
    screen.wait_for("Fork before a message");
    screen.press(ESCAPE);
    screen.wait_gone("Fork before a message");
    screen.quit();
}

#[test]
fn settings_choose_the_tree_filter_and_disable_the_summary_question() {
    let env = env("tree_filter = 'user-only'\nask_summary = false\n");
    let mut screen = open(&env, &["--", "hello"]);
    screen.wait_for("#2");
    screen.submit("/tree");
    screen.wait_for("user: \"hello\"");
    assert!(!screen.text().contains("assistant:"), "{}", screen.text());
    screen.press("\r");
    screen.wait_until("the move", |text| text.contains("Moved from") && text.contains("> hello"));
    assert!(!screen.text().contains("Summarize the branch"), "{}", screen.text());
    screen.press("\x03");
    screen.wait_gone("> hello");
    screen.quit();
}

#[test]
fn the_configured_editor_edits_the_draft() {
    let env = env("editor = 'sed -i s/milk/bread/'\n");
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.press("buy milk");
    screen.wait_for("> buy milk");
    screen.press("\x07");
    screen.wait_for("> buy bread");
    screen.press("\x03");
    screen.wait_for(READY);
    screen.quit();
}

#[test]
fn changed_settings_apply_at_once_and_are_saved() {
    let env = env("# mine\n");
    let mut screen = open(&env, &["--", "hello"]);
    screen.wait_for("#2");
    screen.submit("/settings");
    screen.wait_for("backtracking");
    screen.press("double");
    screen.wait_for("› double_escape");
    screen.press("\r");
    screen.wait_for("← current");
    screen.press("fork\r");
    screen.wait_for("double_escape = \"fork\"");
    screen.press(ESCAPE);
    screen.wait_for("type to search");
    screen.press("attempts");
    screen.wait_for("› retry.attempts");
    screen.press("\r");
    screen.wait_for("> 4");
    screen.press("\x7f5\r");
    screen.wait_for("retry.attempts = 5; applies to the next session");
    screen.press(ESCAPE);
    screen.wait_for("type to search");
    screen.press(ESCAPE);
    screen.wait_gone("Settings");
    screen.press(&ESCAPE.repeat(2));
    screen.wait_for("Fork before a message");
    screen.press(ESCAPE);
    screen.wait_gone("Fork before a message");
    screen.quit();
    let file = fs::read_to_string(env.home().join("config.toml")).unwrap();
    assert_eq!(file, "# mine\ndouble_escape = \"fork\"\n\n[retry]\nattempts = 5\n");
}

#[test]
fn settings_can_change_keys_of_the_tree() {
    let env = env("[keys]\n'tree.label' = 'ctrl+k'\n");
    let mut screen = open(&env, &["--", "hello"]);
    screen.wait_for("#2");
    screen.submit("/tree");
    screen.wait_for("← active");
    screen.press("\u{b}");
    screen.wait_for("enter save label");
    screen.submit("here");
    screen.wait_for("[here]");
    screen.press(ESCAPE);
    screen.wait_gone("[here]");
    screen.quit();
}

#[test]
fn unknown_keys_are_reported_at_startup_and_by_doctor() {
    let env = env("[keys]\n'tree.lable' = 'ctrl+k'\ntree.mark = 'hyper+m'\n");
    let mut screen = open(&env, &[]);
    screen.wait_for("unknown key name tree.lable; did you mean tree.label?");
    screen.wait_for("unknown key hyper+m");
    screen.wait_for(READY);
    screen.quit();
    let doctor = env.args(&["doctor"]);
    assert!(doctor.out.contains("unknown key name tree.lable"), "{}", doctor.out);
}

#[test]
fn a_user_theme_is_found_by_name_and_its_mistakes_are_reported() {
    let env = env("theme = \"mine\"\n");
    fs::create_dir_all(env.home().join("themes")).unwrap();
    fs::write(env.home().join("themes/mine.toml"), "user = \"#123456\"\nacent = \"red\"\n").unwrap();
    let colored = |env: &TestEnv| {
        let mut command = osier_command(env, &[]);
        command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor");
        Screen::start(command, 80, 24)
    };
    let mut screen = colored(&env);
    screen.wait_for("theme mine: unknown token acent; did you mean accent?");
    screen.wait_for("theme mine: missing tokens, taken from dark: text,");
    screen.wait_for(READY);
    screen.submit("hello");
    screen.wait_for("#2");
    let bytes = String::from_utf8_lossy(&screen.bytes).into_owned();
    assert!(bytes.contains("\x1b[1;38;2;18;52;86"), "{bytes:?}");
    screen.submit("/settings");
    screen.wait_for("backtracking");
    screen.press("theme\r");
    screen.wait_for("solarized");
    screen.wait_for("mine");
    screen.press("solar\r");
    screen.wait_for("theme = \"solarized\"");
    screen.press(ESCAPE);
    screen.wait_for("type to search");
    screen.press(ESCAPE);
    screen.wait_gone("type to search");
    screen.quit();
    let doctor = env.args(&["config", "set", "theme", "solarised"]);
    assert!(doctor.err.contains("unknown theme solarised; did you mean solarized?"), "{}", doctor.err);
    fs::write(env.home().join("config.toml"), "theme = \"../mine\"\n").unwrap();
    let doctor = env.args(&["doctor"]);
    assert!(doctor.out.contains("unknown theme ../mine"), "{}", doctor.out);
    let mut screen = colored(&env);
    screen.wait_for("unknown theme ../mine");
    screen.wait_for(READY);
    screen.quit();
}
