//! `osier config`: shows every setting with its value and source, or changes one. Secrets show only as `(set)`.

mod edit;
mod keys;
mod names;
mod rows;
pub(crate) mod screen;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

pub(crate) use self::names::{BACKTRACK, no_tool};
use self::rows::Row;
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::{pad_right, sanitize_line, truncate, width};
use crate::out::{Out, TextStyle};
use crate::settings::table::{Key, Meaning, meaning, nearest};
use crate::settings::{Loaded, dotted};

/// Maximum width of a value; `get` prints longer ones.
const VALUE: usize = 60;

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
    command: Option<Command>,
    /// Print as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
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
        None => list(args.json, &home, &loaded),
        Some(Command::Get { key }) => get(&key, args.json, &home, &loaded),
        Some(Command::Set { key, value }) => edit::set(&key, &value, args.json, &home),
        Some(Command::Unset { key }) => edit::unset(&key, args.json, &home),
        Some(Command::Keys) => keys::list(args.json),
        Some(Command::Path) => path(args.json, &home),
    }
}

fn path(json: bool, home: &Home) -> Result<ExitCode> {
    let file = home.config_file();
    let mut out = Out::new();
    match json {
        true => out.json(&serde_json::json!({ "path": file.to_string_lossy() }))?,
        false => out.line(&sanitize_line(&file.to_string_lossy()))?,
    }
    out.finish()
}

fn list(json: bool, home: &Home, loaded: &Loaded) -> Result<ExitCode> {
    let rows = rows::all(home, loaded);
    let mut out = Out::new();
    if json {
        out.json(&rows)?;
    } else {
        write(&rows, home, &mut out)?;
    }
    let code = out.finish()?;
    home.warn_about(&loaded.problems);
    Ok(code)
}

fn write(rows: &[Row], home: &Home, out: &mut Out) -> Result<()> {
    let values: Vec<String> = rows.iter().map(|row| truncate(&sanitize_line(&row.shown()), VALUE)).collect();
    let keys = rows.iter().map(|row| width(&sanitize_line(&row.key))).max().unwrap_or(0);
    let widest = values.iter().map(|value| width(value)).max().unwrap_or(0);
    for (row, value) in rows.iter().zip(&values) {
        let key = pad_right(&sanitize_line(&row.key), keys);
        let from = out.paint(TextStyle::Dim, &sanitize_line(&row.origin(home)));
        let key = if row.is_in_force() {
            out.paint(TextStyle::Label, &key)
        } else {
            out.paint(TextStyle::Dim, &key)
        };
        out.line(format!("{key}  {}  {from}", pad_right(value, widest)).trim_end())?;
    }
    Ok(())
}

fn get(name: &str, json: bool, home: &Home, loaded: &Loaded) -> Result<ExitCode> {
    let (path, _) = key_of(name)?;
    let rows = rows::all(home, loaded);
    let row = rows.iter().find(|row| row.key == dotted(&path) && row.is_in_force());
    let mut out = Out::new();
    match row {
        Some(row) if json => out.json(row)?,
        Some(row) if row.has_value() => out.line(&sanitize_line(&row.bare()))?,
        _ => anyhow::bail!("{name} is not set"),
    }
    out.finish()
}

/// Looks up a setting by name. The error for an unknown name suggests the closest one.
fn key_of(name: &str) -> Result<(Vec<String>, &'static Key)> {
    let words =
        toml_edit::Key::parse(name).map_err(|_| usage_error(format!("invalid key {}", sanitize_line(name))))?;
    let path: Vec<String> = words.iter().map(|word| word.get().to_owned()).collect();
    match meaning(&path) {
        Meaning::Key(key) => Ok((path, key)),
        Meaning::Table => Err(usage_error(format!("{name} is a table; name one of its keys"))),
        Meaning::Unknown(names) => {
            let word = path.last().map(String::as_str).unwrap_or_default();
            let above = &path[..path.len().saturating_sub(1)];
            let near = nearest(word, &names).map(|near| [above, &[near.to_owned()]].concat());
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {}?", dotted(&near)));
            Err(usage_error(format!("unknown setting {}{hint}", sanitize_line(name))))
        }
    }
}
