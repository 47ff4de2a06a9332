//! pi, which takes no lock, and two streams of osier processes append to one file at the same time. Every
//! acknowledged entry must be in the file afterward, and the file must verify.

use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::json;

use super::log::SessionLog;
use super::{ConformanceContext, ConformanceReport};
use crate::osier::{AppendParent, Osier};

const PI_APPENDS: usize = 300;
const OSIER_APPENDS: usize = 80;

pub(super) fn run(context: &ConformanceContext, report: &mut ConformanceReport) -> Result<()> {
    println!("== pi and two osier processes append to one file at the same time");
    let file = context.dir.join("race.jsonl");
    let first = context.osier.append_message(&file, "user", "first", AppendParent::Leaf)?;
    let results = thread::scope(|scope| {
        let pi = scope.spawn(|| context.peer.append_without_lock(&file, PI_APPENDS));
        let one = scope.spawn(|| append_many(&context.osier, &file, "one"));
        let two = scope.spawn(|| append_many(&context.osier, &file, "two"));
        [pi, one, two].map(|writer| writer.join().unwrap_or_else(|_| Err(anyhow!("a writer panicked"))))
    });
    let mut acknowledged = vec![first];
    for ids in results {
        acknowledged.extend(ids?);
    }
    report.check(&file, "race", check_all_present(&file, &acknowledged));
    report.check(&file, "verify after the race", context.osier.verify(&file));
    let seen = context.peer.run_jobs("see", &json!([{ "file": file }]))?;
    let rows = seen[0]["tree"].as_array().map_or(0, Vec::len);
    let wanted = acknowledged.len();
    let complete =
        (rows == wanted).then_some(()).with_context(|| format!("pi sees {rows} entries, not {wanted}"));
    report.check(&file, "pi after the race", complete);
    Ok(())
}

fn append_many(osier: &Osier, file: &Path, name: &str) -> Result<Vec<String>> {
    (0..OSIER_APPENDS)
        .map(|n| {
            osier.append_message(
                file,
                "user",
                &format!("{name} {n} {}", "y".repeat(n * 41 % 2500)),
                AppendParent::Leaf,
            )
        })
        .collect()
}

fn check_all_present(file: &Path, acknowledged: &[String]) -> Result<()> {
    let log = SessionLog::read(file)?;
    let lost: Vec<&String> = acknowledged.iter().filter(|id| log.entry(id).is_none()).collect();
    ensure!(
        lost.is_empty(),
        "{} of {} acknowledged entries are lost, first {}",
        lost.len(),
        acknowledged.len(),
        lost[0]
    );
    Ok(())
}
