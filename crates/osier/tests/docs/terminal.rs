//! The pages on the terminal and on themes name every command, every key that can be changed, and every color.

use std::fs;

use osier_tui::theme::{ColorRole, PI_TOKENS, Theme};

use crate::page::{self, Page};

#[test]
fn every_command_of_the_screen_is_described() {
    let page = Page::open("docs/terminal.md");
    let files = fs::read_dir(page::root().join("crates/tui/src/commands")).expect("one file per command");
    let mut seen = 0;
    for file in files {
        let name = file.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(page.text.contains(&format!("/{name}")), "{}: /{name} is not described", page.name);
        seen += 1;
    }
    assert!(seen > 15, "there are more commands");
}

#[test]
fn every_key_of_the_tree_that_has_a_name_is_named() {
    let page = Page::open("docs/terminal.md");
    let keys =
        fs::read_to_string(page::root().join("crates/tui/src/overlay/tree/keys.rs")).expect("the keys");
    let names: Vec<&str> = keys.split("(\"tree.").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(page.text.contains(&format!("`{name}`")), "{}: tree.{name} is not named", page.name);
    }
}

#[test]
fn every_color_of_a_theme_is_described() {
    let page = Page::open("docs/themes.md");
    for role in ColorRole::ALL {
        assert!(page.text.contains(&format!("| `{}` |", role.name())), "{}: {}", page.name, role.name());
    }
    for (token, roles) in PI_TOKENS {
        assert!(page.text.contains(&format!("`{token}`")), "{}: {token} of pi", page.name);
        for role in roles.iter().filter(|role| role.name() != *token) {
            let row = page.text.lines().find(|line| line.starts_with(&format!("| `{}` |", role.name())));
            assert!(row.is_some_and(|row| row.contains(&format!("`{token}`"))), "{}: {token}", role.name());
        }
    }
    for name in Theme::builtin_names() {
        assert!(page.text.contains(&format!("`{name}`")), "{}: {name}", page.name);
    }
}

/// The example in the page is a theme without mistakes, but for what it leaves out.
#[test]
fn the_example_theme_is_understood() {
    let page = Page::open("docs/themes.md");
    let examples: Vec<&str> =
        page.text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() > 1, "{examples:?}");
    for example in examples {
        let (_, problems) = Theme::parse(example);
        assert!(problems.iter().all(|problem| problem.starts_with("missing tokens")), "{problems:?}");
    }
}
