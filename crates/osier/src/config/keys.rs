//! `osier config keys`: describes every setting.

use std::process::ExitCode;

use anyhow::Result;
use osier_settings::table::{SETTING_KEYS, SettingAccess, SettingKey};
use serde_json::json;

use crate::output_writer::{OutputWriter, TextStyle};

pub(super) fn print_keys(json: bool) -> Result<ExitCode> {
    let mut out = OutputWriter::new();
    if json {
        out.json(&SETTING_KEYS.iter().map(key_json).collect::<Vec<_>>())?;
        return out.finish();
    }
    for key in SETTING_KEYS {
        let default =
            if key.default.is_empty() { String::new() } else { format!("; default {}", key.default) };
        let trust = if key.access == SettingAccess::Harmless {
            ""
        } else {
            "; a project can set it only if you trust it"
        };
        out.line(&out.paint(TextStyle::Label, key.name))?;
        out.line(&format!("  {}", key.help))?;
        out.line(&out.paint(TextStyle::Dim, &format!("  {}{default}{trust}", key.kind)))?;
    }
    out.finish()
}

fn key_json(key: &SettingKey) -> serde_json::Value {
    json!({
        "key": key.name,
        "allowed": key.kind.to_string(),
        "default": key.default_value(),
        "help": key.help,
        "needsTrust": key.access != SettingAccess::Harmless,
    })
}
