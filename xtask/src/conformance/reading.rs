//! pi writes, Osier reads: hundreds of random sessions, half of them deliberately damaged. Reading must not
//! change a byte.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::log::SessionLog;
use super::{ConformanceContext, ConformanceReport, view};
use crate::json;

pub(super) fn run(context: &ConformanceContext, report: &mut ConformanceReport) -> Result<()> {
    println!("== osier reads pi's sessions");
    for file in session_files(&context.dir.join("from-pi"))? {
        compare(context, report, &file)?;
    }
    Ok(())
}

/// The session files in a folder, sorted.
pub(super) fn session_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// What pi reported about a file when it wrote it.
pub(super) fn pi_view(file: &Path) -> Result<Value> {
    let report_file = file.with_extension("jsonl.pi.json");
    json::parse(
        &std::fs::read(&report_file).with_context(|| format!("cannot read {}", report_file.display()))?,
    )
}

fn compare(context: &ConformanceContext, report: &mut ConformanceReport, file: &Path) -> Result<()> {
    let before = std::fs::read(file)?;
    let mut pi = pi_view(file)?;
    let damage = pi.as_object_mut().and_then(|fields| fields.remove("damage")).unwrap_or_default();
    let places = pi["at"].as_array().into_iter().flatten().filter_map(|at| at["id"].as_str());
    let places: Vec<&str> = places.collect();
    match view::osier_view(&context.osier, file, &places) {
        Ok(osier) => {
            for what in ["leafId", "path", "tree", "labels", "name", "context", "at"] {
                report.compare(file, &format!("{what} (damage: {damage}) "), &pi[what], &osier[what]);
            }
        }
        Err(error) => {
            report.add_difference(file, &format!("reading (damage: {damage})"), &format!("{error:#}"));
        }
    }
    report.check(file, "lines", check_lines_unchanged(context, file));
    ensure!(before == std::fs::read(file)?, "reading changed {}", file.display());
    Ok(())
}

/// Checks that entries printed by Osier equal the lines of the file, including unknown fields.
fn check_lines_unchanged(context: &ConformanceContext, file: &Path) -> Result<()> {
    let log = SessionLog::read(file)?;
    for entry in context.osier.path(file, None)?.as_array().into_iter().flatten() {
        let id = entry["id"].as_str().context("an entry without id")?;
        let line = log.entry(id).with_context(|| format!("entry {id} is not in the file"))?;
        if let Some(found) = json::difference(line, entry) {
            anyhow::bail!("entry {id}{}: file has {}, osier {}", found.path, found.left, found.right);
        }
    }
    Ok(())
}
