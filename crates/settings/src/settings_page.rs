//! The settings that `/settings` shows and changes: all except secrets and those of single providers, stores and agents.

use osier_protocol::engine_request::SettingRow;

use crate::edit;
use crate::error::SettingsError;
use crate::home::Home;
use crate::rows;
use crate::settings::dotted_key;
use crate::settings::table::{NAME_PLACEHOLDER, SETTING_KEYS, SettingAccess, SettingKey};
use crate::themes;

pub fn setting_rows(home: &Home) -> Vec<SettingRow> {
    let (home, loaded) = home.reload_with_problems();
    let rows = rows::config_rows(&home, &loaded);
    let is_here =
        |key: &&SettingKey| key.access != SettingAccess::Secret && !key.name.contains(NAME_PLACEHOLDER);
    let row = |key: &SettingKey| {
        let row = rows.iter().find(|row| row.key == key.name && row.is_effective());
        SettingRow {
            key: key.name.to_owned(),
            value: row.filter(|row| row.has_value()).map(rows::ConfigRow::plain_value).unwrap_or_default(),
            source: row.map(|row| row.origin(&home)).unwrap_or_default(),
            help: key.help.to_owned(),
            choices: match key.name {
                "theme" => themes::theme_names(&home),
                _ => key.kind.choices().iter().map(ToString::to_string).collect(),
            },
        }
    };
    SETTING_KEYS.iter().filter(is_here).map(row).collect()
}

/// When a changed setting takes effect; `None` means immediately.
fn takes_effect(key: &str) -> Option<&'static str> {
    match key {
        "theme" | "double_escape" | "tree_filter" | "tree_order" | "tree_style" | "notify"
        | "ask_summary" | "prompt_history" | "editor" => None,
        "model" => Some("applies to new sessions; /model changes this one"),
        "thinking" => Some("applies to new sessions; /thinking changes this one"),
        "approval" => Some("applies to new sessions; /approval changes this one"),
        "agent" | "default_store" => Some("applies to new sessions"),
        _ => Some("applies to the next session that you open with /new or /resume"),
    }
}

/// Whether a setting concerns the interface. With an engine on another machine, the value on this one counts.
pub fn is_interface_setting(key: &str) -> bool {
    takes_effect(key).is_none()
}

/// Whether a key is one of the gateway, however it is written: TOML has several ways.
pub fn is_gateway_setting(key: &str) -> bool {
    edit::find_key(key).is_ok_and(|(path, _)| path.first().is_some_and(|table| table == "gateway"))
}

/// Changes a setting in the user's file, or removes it if the value is empty. Returns a message with the new value and
/// notices.
pub fn change_setting(key: &str, value: &str, home: &Home) -> Result<String, SettingsError> {
    let (path, mut message) = match value.trim().is_empty() {
        true => {
            let path = edit::remove_setting(key, home)?;
            let message = format!("unset {}", dotted_key(&path));
            (path, message)
        }
        false => {
            let (path, shown) = edit::write_setting(key, value, home)?;
            let message = format!("{} = {shown}", dotted_key(&path));
            (path, message)
        }
    };
    message += &takes_effect(key).map(|when| format!("; {when}")).unwrap_or_default();
    for notice in edit::change_notices(&path, home)? {
        message += &format!("; {notice}");
    }
    Ok(message)
}
