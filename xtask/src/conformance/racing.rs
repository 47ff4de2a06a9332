//! pi, which takes no lock, and two streams of osier processes append to one file at the same time. Every
//! acknowledged entry must be in the file afterward, and the file must verify.

use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::json;

use super::log::Log;
use super::{Report, World};
use crate::osier::{Below, Osier};

const BY_PI: usize = 300;
const BY_OSIER: usize = 80;

pub(super) fn run(world: &World, report: &mut Report) -> Result<()> {
    println!("== pi and two osier processes append to one file at the same time");
    let file = world.dir.join("race.jsonl");
    let first = world.osier.say(&file, "user", "first", Below::Leaf)?;
    let results = thread::scope(|scope| {
        let pi = scope.spawn(|| world.peer.hammer(&file, BY_PI));
        let one = scope.spawn(|| stream(&world.osier, &file, "one"));
        let two = scope.spawn(|| stream(&world.osier, &file, "two"));
        [pi, one, two].map(|writer| writer.join().unwrap_or_else(|_| Err(anyhow!("a writer panicked"))))
    });
    let mut acknowledged = vec![first];
    for ids in results {
        acknowledged.extend(ids?);
    }
    report.holds(&file, "race", all_there(&file, &acknowledged));
    report.holds(&file, "verify after the race", world.osier.verify(&file));
    let seen = world.peer.ask("see", &json!([{ "file": file }]))?;
    let rows = seen[0]["tree"].as_array().map_or(0, Vec::len);
    let wanted = acknowledged.len();
    let complete =
        (rows == wanted).then_some(()).with_context(|| format!("pi sees {rows} entries, not {wanted}"));
    report.holds(&file, "pi after the race", complete);
    Ok(())
}

fn stream(osier: &Osier, file: &Path, name: &str) -> Result<Vec<String>> {
    (0..BY_OSIER)
        .map(|n| osier.say(file, "user", &format!("{name} {n} {}", "y".repeat(n * 41 % 2500)), Below::Leaf))
        .collect()
}

fn all_there(file: &Path, acknowledged: &[String]) -> Result<()> {
    let log = Log::read(file)?;
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
