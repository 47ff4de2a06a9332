//! The input of summaries: pi's exported functions and Osier's must choose the same entries, cut at the same
//! positions, list the same files and count the same tokens, except where `docs/differences.md` says
//! otherwise.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::reading::session_files;
use super::{ConformanceContext, ConformanceReport};
use crate::{json, peer, workspace};

pub(super) fn run(context: &ConformanceContext, report: &mut ConformanceReport) -> Result<()> {
    let files = session_files(&context.dir.join("from-pi"))?;
    println!("== pi and osier prepare summaries in {} sessions", files.len());
    let dir = context.dir.join("preparing");
    std::fs::create_dir_all(&dir)?;
    let pi = context.peer.run_job("prepare", &json!({ "dir": dir, "seed": context.seed, "files": files }))?;
    let asked: Value = files
        .iter()
        .zip(list(&pi["files"]))
        .map(|(file, cases)| json!({ "file": file, "cases": cases }))
        .collect();
    let questions = json!({ "files": asked, "limits": pi["limits"] });
    let osier =
        peer::run_with_stdin(&mut build_example()?, &questions).context("the example `prepare` failed")?;
    let osier = json::parse(&osier)?;
    let mut skipped = 0;
    for ((file, cases), answers) in files.iter().zip(list(&pi["files"])).zip(list(&osier["files"])) {
        for (case, answer) in list(cases).iter().zip(list(answers)) {
            skipped += usize::from(!compare(report, file, case, answer)?);
        }
    }
    let limits: Value = list(&pi["limits"]).iter().map(|case| case["answer"].clone()).collect();
    report.compare(&dir, "shouldCompact", &limits, &osier["limits"]);
    println!("   {skipped} cases skipped because pi failed on them");
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Compares one case. Returns whether there was anything to compare.
fn compare(report: &mut ConformanceReport, file: &Path, case: &Value, osier: &Value) -> Result<bool> {
    let what = case["what"].as_str().context("a case without a name")?;
    let name = match what {
        "leave" => format!("leave {} for {} within {}: ", case["from"], case["to"], case["budget"]),
        "cut" => format!("cut at {} keeping {}: ", case["at"], case["keep"]),
        _ => format!("messages at {}: ", case["at"]),
    };
    let osier = parse_messages(osier)?;
    if case["skipped"].is_string() {
        return Ok(false);
    }
    match case.get("among") {
        Some(allowed) => {
            let holds = osier.get("firstKept").is_none_or(|kept| list(allowed).contains(kept));
            let result = holds.then_some(()).with_context(|| format!("keeps from {}", osier["firstKept"]));
            report.check(file, &name, result);
        }
        None if what == "messages" => {
            let (mut pi, mut osier) = (case["seen"].clone(), osier);
            remove_incomparable(&mut pi, &mut osier);
            report.compare(file, &name, &pi, &osier);
        }
        None => report.compare(file, &name, &case["answer"], &keep_compared_fields(&case["answer"], osier)),
    }
    Ok(true)
}

/// Parses messages that arrive as text.
fn parse_messages(answer: &Value) -> Result<Value> {
    let mut answer = answer.clone();
    if let Some(messages) = answer.get_mut("messages") {
        *messages = list(messages)
            .iter()
            .map(|text| json::parse(text.as_str().unwrap_or_default().as_bytes()))
            .collect::<Result<Vec<_>>>()?
            .into();
    }
    Ok(answer)
}

/// Removes fields for which pi has no comparable answer.
fn remove_incomparable(pi: &mut Value, osier: &mut Value) {
    let (Some(pi), Some(osier)) = (pi.as_array_mut(), osier.as_array_mut()) else { return };
    for (pi, osier) in pi.iter().zip(osier) {
        for key in ["tokens", "text"] {
            if pi[key].is_null() {
                osier[key] = Value::Null;
            }
        }
    }
}

/// Keeps only the fields that pi's answer has. If nothing fits into the budget, pi returns nothing and Osier
/// the start of the conversation.
fn keep_compared_fields(pi: &Value, mut osier: Value) -> Value {
    let has_only_the_start = pi.get("messages").is_some_and(|messages| list(messages).is_empty())
        && list(&osier["messages"]).len() == 1;
    if let Some(fields) = osier.as_object_mut() {
        fields.retain(|key, _| pi.get(key).is_some());
        if has_only_the_start {
            fields.insert("messages".to_owned(), pi["messages"].clone());
            fields.insert("tokens".to_owned(), pi["tokens"].clone());
        }
        if let Some(files) = fields.get_mut("files").and_then(Value::as_object_mut) {
            files.values_mut().for_each(sort);
        }
    }
    osier
}

/// JavaScript sorts by UTF-16 code units, Rust by characters.
fn sort(paths: &mut Value) {
    if let Some(paths) = paths.as_array_mut() {
        paths.sort_by_key(|path| path.as_str().map(|path| path.encode_utf16().collect::<Vec<_>>()));
    }
}

fn build_example() -> Result<Command> {
    println!("== cargo build -p osier-tree --example prepare");
    let mut cargo = workspace::cargo()?;
    cargo.args(["build", "--quiet", "-p", "osier-tree", "--example", "prepare"]);
    ensure!(cargo.stderr(Stdio::inherit()).status()?.success(), "cannot build the example `prepare`");
    Ok(Command::new(workspace::target()?.join("debug/examples/prepare")))
}
