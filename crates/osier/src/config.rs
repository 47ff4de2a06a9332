//! `osier config`: shows every setting with its value and source, or changes one. Secrets show only as `(set)`.

mod keys;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use osier_settings::rows::{self, ConfigRow};
use osier_settings::{LoadedSettings, dotted_key, edit};
use serde_json::json;

use crate::home::{self, Home};
use crate::layout::{pad_right, sanitize_line, truncate, width};
use crate::output_writer::{OutputWriter, TextStyle, notice};

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
    let (home, loaded) = home::load_unchecked(&home::cwd()?)?;
    match args.command {
        None => print_list(args.json, &home, &loaded),
        Some(ConfigCommand::Get { key }) => print_value(&key, args.json, &home, &loaded),
        Some(ConfigCommand::Set { key, value }) => set(&key, &value, args.json, &home),
        Some(ConfigCommand::Unset { key }) => unset(&key, args.json, &home),
        Some(ConfigCommand::Keys) => keys::print_keys(args.json),
        Some(ConfigCommand::Path) => print_path(args.json, &home),
    }
}

fn print_path(json: bool, home: &Home) -> Result<ExitCode> {
    let file = home.config_file();
    let mut out = OutputWriter::new();
    match json {
        true => out.json(&json!({ "path": file.to_string_lossy() }))?,
        false => out.line(&sanitize_line(&file.to_string_lossy()))?,
    }
    out.finish()
}

fn print_list(json: bool, home: &Home, loaded: &LoadedSettings) -> Result<ExitCode> {
    let rows = rows::config_rows(home, loaded);
    let mut out = OutputWriter::new();
    if json {
        out.json(&rows)?;
    } else {
        write_rows(&rows, home, &mut out)?;
    }
    let code = out.finish()?;
    home::warn_about(home, &loaded.problems);
    Ok(code)
}

fn write_rows(rows: &[ConfigRow], home: &Home, out: &mut OutputWriter) -> Result<()> {
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
    let (path, _) = edit::find_key(name)?;
    let rows = rows::config_rows(home, loaded);
    let row = rows.iter().find(|row| row.key == dotted_key(&path) && row.is_effective());
    let mut out = OutputWriter::new();
    match row {
        Some(row) if json => out.json(row)?,
        Some(row) if row.has_value() => out.line(&sanitize_line(&row.plain_value()))?,
        _ => anyhow::bail!("{name} is not set"),
    }
    out.finish()
}

fn set(name: &str, text: &str, json: bool, home: &Home) -> Result<ExitCode> {
    let (path, shown) = edit::write_setting(name, text, home)?;
    let mut out = OutputWriter::new();
    match json {
        true => {
            out.json(&json!({ "key": dotted_key(&path), "file": home.config_file().to_string_lossy() }))?;
        }
        false => out.line(&sanitize_line(&format!("{} = {shown}", dotted_key(&path))))?,
    }
    for text in edit::change_notices(&path, home)? {
        notice(&format!("osier: {text}"));
    }
    out.finish()
}

fn unset(name: &str, json: bool, home: &Home) -> Result<ExitCode> {
    let path = edit::remove_setting(name, home)?;
    let mut out = OutputWriter::new();
    if json {
        out.json(&json!({ "key": dotted_key(&path), "file": home.config_file().to_string_lossy() }))?;
    }
    out.finish()
}
