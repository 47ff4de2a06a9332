//! Checks that docs/settings.md has the table of all settings, exactly as the program describes them.

use std::process::Command;

use serde_json::Value;

use crate::page::Page;

/// The table of settings, from the output of `osier config keys`.
fn table() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_osier")).args(["config", "keys", "--json"]).output();
    let keys: Value = serde_json::from_slice(&output.expect("osier runs").stdout).expect("JSON");
    let mut table = "| key | may be | default | in a project | meaning |\n|---|---|---|---|---|\n".to_owned();
    for key in keys.as_array().expect("an array") {
        let text = |name: &str| key[name].as_str().expect("text").to_owned();
        let default = if key["default"].is_null() { String::new() } else { format!("`{}`", key["default"]) };
        let project = if key["needsTrust"] == true { "if trusted" } else { "yes" };
        table += &format!(
            "| `{}` | {} | {default} | {project} | {} |\n",
            text("key"),
            text("allowed"),
            text("help")
        );
    }
    table
}

#[test]
fn the_settings_page_has_every_key() {
    let page = Page::open("docs/settings.md");
    let table = table();
    assert!(page.text.contains(&table), "{}: the table of keys should be\n{table}", page.name);
}

#[test]
fn every_option_of_these_commands_is_described() {
    for (name, commands) in
        [("docs/settings.md", ["config", "trust"]), ("docs/models.md", ["models", "doctor"])]
    {
        let page = Page::open(name);
        for command in commands {
            assert!(page.text.contains(&format!("`osier {command}")), "{name}: {command}");
            for option in super::options(&[command]) {
                assert!(
                    page.text.contains(&format!("`{option}")),
                    "{name}: {command} {option} is not described"
                );
            }
        }
        for sub in super::subcommands(&["config"]).iter().filter(|_| name == "docs/settings.md") {
            assert!(
                page.text.contains(&format!("`{sub}`")) || page.text.contains(&format!("osier config {sub}")),
                "{sub}"
            );
        }
    }
}
