//! `osier config`: shows every setting with its value and source, or changes one. Secrets show only as `(set)`.

mod edit;
mod keys;
mod names;
mod rows;
pub(crate) mod settings_page;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

pub(crate) use self::names::{BACKTRACK, unknown_tool};
use self::rows::ConfigRow;
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::{pad_right, sanitize_line, truncate, width};
use crate::out::{Out, TextStyle};
use crate::settings::table::{KeyLookup, SettingKey, closest_name, look_up_key};
use crate::settings::{LoadedSettings, dotted_key};

/// Maximum width of a value; `get` prints longer ones.
const MAX_VALUE_WIDTH: usize = 60;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier config                            list every setting and its source
  osier config get model
  osier config set model local/smollm2    change your own file and keep its comments
  osier config unset model
  osier config keys                       describe every setting

Settings are in config.toml in Osier's home folder; .osier/config.toml of a project overrides them.
Prints one line for each setting. `get` prints only the value, `keys` describes every setting,
`path` prints the path of your file.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<ConfigCommand>,
    /// Print as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the value of a setting
    Get { key: String },
    /// Change a setting in your own file
    Set {
        key: String,
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove a setting from your own file
    Unset { key: String },
    /// Describe every setting: its type, its default and its meaning
    Keys,
    /// Print the path of your own file
    Path,
}

/// Works even with invalid settings, which stop other commands: it shows what is wrong.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let (home, loaded) = Home::load_unchecked(&home::cwd()?)?;
    match args.command {
        None => print_list(args.json, &home, &loaded),
        Some(ConfigCommand::Get { key }) => print_value(&key, args.json, &home, &loaded),
        Some(ConfigCommand::Set { key, value }) => edit::set(&key, &value, args.json, &home),
        Some(ConfigCommand::Unset { key }) => edit::unset(&key, args.json, &home),
        Some(ConfigCommand::Keys) => keys::print_keys(args.json),
        Some(ConfigCommand::Path) => print_path(args.json, &home),
    }
}

fn print_path(json: bool, home: &Home) -> Result<ExitCode> {
    let file = home.config_file();
    let mut out = Out::new();
    match json {
        true => out.json(&serde_json::json!({ "path": file.to_string_lossy() }))?,
        false => out.line(&sanitize_line(&file.to_string_lossy()))?,
    }
    out.finish()
}

fn print_list(json: bool, home: &Home, loaded: &LoadedSettings) -> Result<ExitCode> {
    let rows = rows::config_rows(home, loaded);
    let mut out = Out::new();
    if json {
        out.json(&rows)?;
    } else {
        write_rows(&rows, home, &mut out)?;
    }
    let code = out.finish()?;
    home.warn_about(&loaded.problems);
    Ok(code)
}

fn write_rows(rows: &[ConfigRow], home: &Home, out: &mut Out) -> Result<()> {
    let values: Vec<String> =
        rows.iter().map(|row| truncate(&sanitize_line(&row.toml_value()), MAX_VALUE_WIDTH)).collect();
    let keys = rows.iter().map(|row| width(&sanitize_line(&row.key))).max().unwrap_or(0);
    let widest = values.iter().map(|value| width(value)).max().unwrap_or(0);
    for (row, value) in rows.iter().zip(&values) {
        let key = pad_right(&sanitize_line(&row.key), keys);
        let from = out.paint(TextStyle::Dim, &sanitize_line(&row.origin(home)));
        let key = if row.is_effective() {
            out.paint(TextStyle::Label, &key)
        } else {
            out.paint(TextStyle::Dim, &key)
        };
        out.line(format!("{key}  {}  {from}", pad_right(value, widest)).trim_end())?;
    }
    Ok(())
}

fn print_value(name: &str, json: bool, home: &Home, loaded: &LoadedSettings) -> Result<ExitCode> {
    let (path, _) = find_key(name)?;
    let rows = rows::config_rows(home, loaded);
    let row = rows.iter().find(|row| row.key == dotted_key(&path) && row.is_effective());
    let mut out = Out::new();
    match row {
        Some(row) if json => out.json(row)?,
        Some(row) if row.has_value() => out.line(&sanitize_line(&row.plain_value()))?,
        _ => anyhow::bail!("{name} is not set"),
    }
    out.finish()
}

/// Looks up a setting by name. The error for an unknown name suggests the closest one.
fn find_key(name: &str) -> Result<(Vec<String>, &'static SettingKey)> {
    let words = toml_edit::Key::parse(name)
        .map_err(|_| usage_error(format!("invalid key {}", sanitize_line(name))))?;
    let path: Vec<String> = words.iter().map(|word| word.get().to_owned()).collect();
    match look_up_key(&path) {
        KeyLookup::Key(key) => Ok((path, key)),
        KeyLookup::Table => Err(usage_error(format!("{name} is a table; name one of its keys"))),
        KeyLookup::Unknown(names) => {
            let word = path.last().map(String::as_str).unwrap_or_default();
            let above = &path[..path.len().saturating_sub(1)];
            let near = closest_name(word, &names).map(|near| [above, &[near.to_owned()]].concat());
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {}?", dotted_key(&near)));
            Err(usage_error(format!("unknown setting {}{hint}", sanitize_line(name))))
        }
    }
}
