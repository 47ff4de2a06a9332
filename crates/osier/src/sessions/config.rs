//! `config`: the settings of one session. They are entries of it, shared with no other.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::failure::usage;
use crate::home::Home;
use crate::out::{Out, Style};
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions config 4f89da11
  osier sessions config 4f89da11 approvalMode=autoEdit 'approvalTools=[\"read\"]'
  osier sessions config 4f89da11 --unset summary

A VALUE that is JSON is taken as such, anything else as text.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Settings to change
    #[arg(value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Settings to give back their defaults
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// Print all settings as JSON
    #[arg(long)]
    json: bool,
}

/// What a session does where nobody said otherwise.
fn defaults() -> Map<String, Value> {
    let defaults =
        json!({ "approvalMode": "default", "approvalTools": [], "pastedImageMap": {}, "pastedTextMap": {} });
    defaults.as_object().cloned().unwrap_or_default()
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let mut set = Map::new();
    for pair in &args.set {
        let (key, value) = pair.split_once('=').ok_or_else(|| usage(format!("{pair:?} is not KEY=VALUE")))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        check(key, &value)?;
        set.insert(key.to_owned(), value);
    }
    let session = Target::find(home, &args.session).await?.session(home).await?;
    if !set.is_empty() || !args.unset.is_empty() {
        session.config(set, args.unset).await?;
        session.before_prompt().await?;
    }
    let tree = session.tree();
    let mut all = defaults();
    all.extend(tree.marks().settings().iter().map(|(key, value)| (key.clone(), value.clone())));
    let mut out = Out::new();
    if args.json {
        out.json(&all)?;
        return out.done();
    }
    for (key, value) in &all {
        let changed = tree.marks().settings().contains_key(key);
        let line = format!("{key} = {}", osier_tree::projection::preview::inert(&value.to_string()));
        out.line(&if changed { line } else { out.paint(Style::Dim, &line) })?;
    }
    out.done()
}

/// Refuses values that no reader could use.
fn check(key: &str, value: &Value) -> Result<()> {
    let good = match key {
        "approvalMode" => matches!(value.as_str(), Some("default" | "autoEdit" | "yolo")),
        "approvalTools" => value.as_array().is_some_and(|tools| tools.iter().all(Value::is_string)),
        "pastedTextMap" | "pastedImageMap" => value.is_object(),
        "summary" => value.is_string(),
        _ => !key.is_empty(),
    };
    let expected = match key {
        "approvalMode" => "default, autoEdit or yolo",
        "approvalTools" => "a list of tool names",
        "pastedTextMap" | "pastedImageMap" => "an object",
        _ => "text",
    };
    if good { Ok(()) } else { Err(usage(format!("{key} must be {expected}, not {value}"))) }
}
