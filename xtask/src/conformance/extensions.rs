//! Extensions: each of pi's examples runs in pi and in Osier, with the same user and the same model, over RPC and in a terminal.
//! `peer/extension_runs.mjs` says what the user does. `docs/extension-differences.md` lists the examples that differ, and this task
//! fails if the list is wrong.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::ConformanceContext;
use crate::{extension_types, json, peer, workspace};

/// Of the examples that run on pi, at least this share must agree.
const REQUIRED_PERCENT: usize = 90;
/// At least so many examples must load in QuickJS.
const REQUIRED_IN_QUICKJS: usize = 73;
const PAGE: &str = "docs/extension-differences.md";

pub(super) fn run(context: &ConformanceContext, only: Option<&str>) -> Result<()> {
    if !extension_types::check(&context.peer.examples())? {
        println!("NOT RUN: the types, which need npm");
    }
    println!("== pi and osier run pi's example extensions");
    let results = run_examples(context, only)?;
    let results = results.as_array().context("extensions.mjs printed no list")?;
    let on_pi: Vec<&Value> = results.iter().filter(|result| result["runsOnPi"] == true).collect();
    let differing: Vec<&Value> = on_pi.iter().copied().filter(|result| differs(result)).collect();
    for result in results.iter().filter(|result| result["runsOnPi"] != true) {
        println!("{} does not run on pi: {}", name(result), first_line(&result["reason"]));
    }
    differing.iter().for_each(|result| print_differences(result));
    let agreeing = on_pi.len() - differing.len();
    println!("{agreeing} of the {} examples that run on pi agree", on_pi.len());
    let in_quickjs = results.iter().filter(|result| loads_in_quickjs(result)).count();
    for result in results.iter().filter(|result| result["inNode"].is_string()) {
        println!("{} runs in Node: {}", name(result), result["inNode"]);
    }
    println!("{in_quickjs} of the {} examples load in QuickJS", results.len());
    if only.is_none() {
        check_page(&differing)?;
        ensure!(
            in_quickjs >= REQUIRED_IN_QUICKJS,
            "less than {REQUIRED_IN_QUICKJS} examples load in QuickJS"
        );
        ensure!(
            agreeing * 100 >= on_pi.len() * REQUIRED_PERCENT,
            "less than {REQUIRED_PERCENT} % of the examples agree; the files are in {}",
            context.dir.display()
        );
    }
    Ok(())
}

fn run_examples(context: &ConformanceContext, only: Option<&str>) -> Result<Value> {
    let job = json!({
        "pi": [context.peer.node(), context.peer.cli()],
        "osier": [context.osier.binary(), "--approval", "yolo"],
        "dir": context.dir.join("extensions"),
        "examples": context.peer.examples(),
        "only": only.map(|names| names.split(',').collect::<Vec<_>>()),
        "terminal": std::env::current_exe()?,
    });
    let mut script = context.peer.script("extensions.mjs");
    script.env("PATH", context.peer.search_path()?);
    json::parse(&peer::run_with_stdin(&mut script, &job).context("extensions.mjs failed")?)
}

fn name(result: &Value) -> &str {
    result["example"].as_str().unwrap_or_default()
}

fn differs(result: &Value) -> bool {
    result["differences"].as_array().is_some_and(|differences| !differences.is_empty())
}

/// Whether the confined engine loads an example.
fn loads_in_quickjs(result: &Value) -> bool {
    result["loads"] == true && !result["inNode"].is_string()
}

fn first_line(text: &Value) -> &str {
    text.as_str().unwrap_or_default().lines().nth(1).unwrap_or_default()
}

fn print_differences(result: &Value) {
    for difference in result["differences"].as_array().into_iter().flatten() {
        let place = difference["where"].as_str().unwrap_or_default();
        println!(
            "{}: {place}\n    pi    {}\n    osier {}",
            name(result),
            difference["pi"],
            difference["osier"]
        );
    }
}

/// The page must list the examples that differ.
fn check_page(differing: &[&Value]) -> Result<()> {
    let page = std::fs::read_to_string(workspace::root()?.join(PAGE))?;
    let listed: Vec<&str> = page.lines().filter_map(listed_example).collect();
    let found: Vec<&str> = differing.iter().map(|result| name(result)).collect();
    let missing: Vec<&&str> = found.iter().filter(|name| !listed.contains(name)).collect();
    for name in listed.iter().filter(|name| !found.contains(name)) {
        println!("{name} agrees now; remove it from {PAGE}");
    }
    ensure!(missing.is_empty(), "{PAGE} does not list {missing:?}, which differ");
    Ok(())
}

/// The example of a row of the table.
fn listed_example(line: &str) -> Option<&str> {
    line.strip_prefix("| `")?
        .split_once('`')
        .map(|(name, _)| name)
        .filter(|name| Path::new(name).components().count() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_that_fails_or_needs_node_does_not_load_in_quickjs() {
        assert!(loads_in_quickjs(&json!({ "loads": true })));
        assert!(!loads_in_quickjs(&json!({ "loads": false })));
        assert!(!loads_in_quickjs(&json!({ "loads": true, "inNode": "x.ts:1: import of node:zlib" })));
    }

    #[test]
    fn rows_of_the_table_name_examples() {
        assert_eq!(listed_example("| `doom-overlay` | it needs Node |"), Some("doom-overlay"));
        assert_eq!(listed_example("| example | reason |"), None);
    }
}
