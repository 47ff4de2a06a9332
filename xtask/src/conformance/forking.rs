//! Both programs fork the same path: pi's `createBranchedSession` and `osier sessions fork` write the same
//! lines, except for the ids of recreated labels, the session id and its time. The source file does not
//! change.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::reading::{pi_view, session_files};
use super::{ConformanceContext, ConformanceReport};
use crate::json;
use crate::rng::Rng;

const FORKS: usize = 80;

pub(super) fn run(context: &ConformanceContext, report: &mut ConformanceReport) -> Result<()> {
    let forks = choose_forks(context)?;
    println!("== pi and osier fork {} sessions", forks.len());
    let dir = context.dir.join("forked-by-pi");
    std::fs::create_dir_all(&dir)?;
    let jobs: Value =
        forks.iter().map(|(file, entry)| json!({ "file": file, "entry": entry, "dir": dir })).collect();
    for ((file, entry), lines) in forks.iter().zip(context.peer.run_jobs("fork", &jobs)?) {
        // pi keeps a fork without a conversation in memory only, so there is nothing to compare.
        let Value::Array(lines) = lines else { continue };
        match fork(context, file, entry) {
            Ok(osier) => {
                report.compare(file, &format!("fork at {entry} "), &comparable(lines), &comparable(osier));
            }
            Err(error) => report.add_difference(file, &format!("fork at {entry}"), &format!("{error:#}")),
        }
    }
    Ok(())
}

/// One position in each of some undamaged sessions: the leaf or a random entry.
fn choose_forks(context: &ConformanceContext) -> Result<Vec<(PathBuf, String)>> {
    let mut rng = Rng::new(context.seed ^ 0xf0_4b);
    let mut chosen = Vec::new();
    for file in session_files(&context.dir.join("from-pi"))? {
        let seen = pi_view(&file)?;
        if chosen.len() == FORKS || seen["damage"].as_array().is_none_or(|damage| !damage.is_empty()) {
            continue;
        }
        let ids: Vec<&str> =
            seen["tree"].as_array().into_iter().flatten().filter_map(|row| row["id"].as_str()).collect();
        let leaf = seen["leafId"].as_str().filter(|_| rng.chance(40));
        if let Some(entry) = leaf.or_else(|| rng.pick(&ids).copied()) {
            chosen.push((file, entry.to_owned()));
        }
    }
    Ok(chosen)
}

fn fork(context: &ConformanceContext, file: &Path, entry: &str) -> Result<Vec<Value>> {
    let before = std::fs::read(file)?;
    let made = context.osier.fork(file, entry)?;
    ensure!(before == std::fs::read(file)?, "forking changed its source");
    let bytes =
        std::fs::read(&made).with_context(|| format!("cannot read the forked file {}", made.display()))?;
    ensure!(bytes.ends_with(b"\n"), "the fork does not end with a line feed");
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(json::parse).collect()
}

/// The header without fields that always differ, and the entries with numbered labels.
fn comparable(lines: Vec<Value>) -> Value {
    let mut names: HashMap<String, String> = HashMap::new();
    let mut out = Vec::new();
    for (at, mut line) in lines.into_iter().enumerate() {
        if at == 0 {
            out.push(
                ["type", "version", "cwd", "parentSession"]
                    .map(|key| line[key].clone())
                    .into_iter()
                    .collect(),
            );
            continue;
        }
        if let Some(id) = line["id"].as_str().filter(|_| line["type"] == "label") {
            names.insert(id.to_owned(), format!("label {}", names.len() + 1));
        }
        for key in ["id", "parentId"] {
            if let Some(name) = line[key].as_str().and_then(|id| names.get(id)) {
                line[key] = json!(name);
            }
        }
        out.push(line);
    }
    Value::Array(out)
}
