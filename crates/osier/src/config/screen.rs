//! The settings that `/settings` shows and changes: all except secrets and those of single providers, stores and agents.

use anyhow::Result;
use osier_tui::SettingRow;

use super::{edit, rows};
use crate::home::Home;
use crate::settings::dotted;
use crate::settings::table::{KEYS, Key, NAME, Reach};
use crate::themes;

pub(crate) fn rows(home: &Home) -> Result<Vec<SettingRow>> {
    let (home, loaded) = Home::load_unchecked(&home.cwd)?;
    let rows = rows::all(&home, &loaded);
    let is_here = |key: &&Key| key.reach != Reach::Secret && !key.name.contains(NAME);
    let row = |key: &Key| {
        let row = rows.iter().find(|row| row.key == key.name && row.is_in_force());
        SettingRow {
            key: key.name.to_owned(),
            value: row.filter(|row| row.has_value()).map(rows::Row::bare).unwrap_or_default(),
            source: row.map(|row| row.origin(&home)).unwrap_or_default(),
            help: key.help.to_owned(),
            choices: match key.name {
                "theme" => themes::theme_names(&home),
                _ => key.kind.choices().iter().map(ToString::to_string).collect(),
            },
        }
    };
    Ok(KEYS.iter().filter(is_here).map(row).collect())
}

/// When a changed setting takes effect; `None` means immediately.
fn effect(key: &str) -> Option<&'static str> {
    match key {
        "theme" | "double_escape" | "tree_filter" | "tree_order" | "ask_summary" | "prompt_history"
        | "editor" => None,
        "model" => Some("applies to new sessions; /model changes this one"),
        "thinking" => Some("applies to new sessions; /thinking changes this one"),
        "approval" => Some("applies to new sessions; /approval changes this one"),
        "agent" | "default_store" => Some("applies to new sessions"),
        _ => Some("applies to the next session that you open with /new or /resume"),
    }
}

/// Changes a setting in the user's file, or removes it if the value is empty. Returns a message with the new value and
/// notices.
pub(crate) fn set(key: &str, value: &str, home: &Home) -> Result<String> {
    let (path, mut message) = match value.trim().is_empty() {
        true => {
            let path = edit::take_out(key, home)?;
            let message = format!("unset {}", dotted(&path));
            (path, message)
        }
        false => {
            let (path, shown) = edit::write_down(key, value, home)?;
            let message = format!("{} = {shown}", dotted(&path));
            (path, message)
        }
    };
    message += &effect(key).map(|when| format!("; {when}")).unwrap_or_default();
    for notice in edit::afterthoughts(&path, home)? {
        message += &format!("; {notice}");
    }
    Ok(message)
}
