//! Checks that docs/terminal.md and docs/themes.md name every command, every configurable key, and every color.

use std::fs;

use osier_tui::theme::{ColorRole, PI_TOKENS, Theme};

use crate::page::{self, Page};

#[test]
fn every_slash_command_is_described() {
    let page = Page::open("docs/terminal.md");
    let files = fs::read_dir(page::root().join("crates/tui/src/commands")).expect("one file per command");
    let mut seen = 0;
    for file in files {
        let name = file.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(page.text.contains(&format!("/{name}")), "{}: /{name} is not described", page.name);
        seen += 1;
    }
    assert!(seen > 15, "expected more commands");
}

#[test]
fn every_configurable_tree_key_is_described() {
    let page = Page::open("docs/terminal.md");
    let keys =
        fs::read_to_string(page::root().join("crates/tui/src/overlay/tree/keys.rs")).expect("the keys");
    let names: Vec<&str> = keys.split("(\"tree.").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(page.text.contains(&format!("`{name}`")), "{}: tree.{name} is not described", page.name);
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
            let mut rows =
                page.text.lines().filter(|line| line.starts_with(&format!("| `{}` |", role.name())));
            assert!(rows.any(|row| row.contains(&format!("`{token}`"))), "{}: {token}", role.name());
        }
    }
    for name in Theme::builtin_names() {
        assert!(page.text.contains(&format!("`{name}`")), "{}: {name}", page.name);
    }
}

/// The examples on the page are valid themes, except for missing tokens.
#[test]
fn the_example_themes_are_valid() {
    let page = Page::open("docs/themes.md");
    let examples: Vec<&str> =
        page.text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() > 1, "{examples:?}");
    for example in examples {
        let (_, problems) = Theme::parse(example);
        assert!(problems.iter().all(|problem| problem.starts_with("missing tokens")), "{problems:?}");
    }
}
