//! The page on the terminal names every command and every key that can be changed.

use std::fs;

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
