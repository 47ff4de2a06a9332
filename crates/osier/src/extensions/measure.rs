//! Measures extensions, for `cargo xtask bench --extensions`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use osier_engine::KeepWhen;
use osier_engine::hooks::{HookContext, HookEvent};
use osier_extensions::ExtensionMode;
use osier_model::CancellationToken;
use serde_json::json;

use super::{ExtensionArgs, register};
use crate::home::Home;

/// Loads extensions, sends events to them, and prints what that took as JSON.
pub(crate) async fn run(home: Home, files: Vec<PathBuf>, events: usize) -> Result<()> {
    let args = ExtensionArgs { extensions: files, no_extensions: true };
    let (home, extensions) = register(home, &args, ExtensionMode::Rpc)?;
    let live = home.engine.create(&home.new_session(KeepWhen::Never)).await?;
    let start = Instant::now();
    extensions.check(live.session()).await?;
    let ready = start.elapsed();
    let cancel = CancellationToken::new();
    let ctx = HookContext::new(live.session(), None, &cancel);
    let hooks = home.engine.config().hooks.clone();
    // The extensions of the benchmark handle the first event and not the second.
    let mut times = [Vec::with_capacity(events), Vec::with_capacity(events)];
    for (times, event) in times.iter_mut().zip([
        HookEvent::TurnStarted,
        HookEvent::SessionForked { previous_session_file: String::new(), new_session_file: String::new() },
    ]) {
        for _ in 0..events {
            let start = Instant::now();
            hooks.observe(&event, &ctx).await;
            times.push(start.elapsed());
        }
        times.sort_unstable();
    }
    let [handled, unhandled] = times;
    let memory = memory_of_children();
    let result = json!({
        "readyMs": ready.as_secs_f64() * 1e3,
        "eventUs": microseconds(&handled, 0.5),
        "event95Us": microseconds(&handled, 0.95),
        "unhandledUs": microseconds(&unhandled, 0.5),
        "residentKb": memory.resident,
        "privateKb": memory.private,
        "proportionalKb": memory.proportional,
    });
    println!("{result}");
    Ok(())
}

fn microseconds(sorted: &[Duration], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

/// The memory of the processes that this one started, in KB.
struct ChildMemory {
    resident: u64,
    /// What they share with no file.
    private: u64,
    /// Their part of all pages, if the system says it: a page that two processes use counts half for each.
    proportional: Option<u64>,
}

fn memory_of_children() -> ChildMemory {
    let own = format!("PPid:\t{}", std::process::id());
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|process| process.path());
    let children = processes.filter_map(|folder| {
        let status = std::fs::read_to_string(folder.join("status")).ok()?;
        let pages = std::fs::read_to_string(folder.join("smaps_rollup")).ok();
        status.lines().any(|line| line == own).then_some((status, pages))
    });
    let children: Vec<(String, Option<String>)> = children.collect();
    let value = |text: &str, name: &str| -> u64 {
        let values = text
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok());
        values.sum()
    };
    let total = |name: &str| -> u64 { children.iter().map(|(status, _)| value(status, name)).sum() };
    let proportional = children.iter().map(|(_, pages)| Some(value(pages.as_ref()?, "Pss:"))).sum();
    ChildMemory { resident: total("VmRSS:"), private: total("RssAnon:"), proportional }
}
