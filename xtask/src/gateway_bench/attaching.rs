//! From connecting until the last screenful of a large session has arrived.

use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;

use super::client::FrameClient;
use super::process::ServerProcess;
use super::{BenchRun, report};

/// The entries of a screen.
const SCREENFUL: usize = 40;
const ROUNDS: usize = 5;
/// The goals: milliseconds, bytes, and the ratio between the sizes.
const MAX_MS: f64 = 100.0;
const MAX_BYTES: usize = 200_000;
const MAX_SPREAD: f64 = 1.5;

pub(crate) async fn measure(run: &BenchRun) -> Result<()> {
    let mut times = Vec::new();
    for home in &run.homes {
        let size = session_size(home)?;
        let (mut first, mut open, mut bytes) = (f64::INFINITY, f64::INFINITY, 0);
        for round in 0..=ROUNDS {
            let server = ServerProcess::start_gateway(&run.osier, home, &run.dir.join("project")).await?;
            let (ms, client) = attach(&server).await?;
            // The first round writes the index.
            if round > 0 {
                (first, bytes) = (first.min(ms), client.received);
            }
            // The first client is still attached.
            for _ in 0..ROUNDS {
                open = open.min(attach(&server).await?.0);
            }
            drop(client);
        }
        times.push((first, open));
        let text = format!(
            "attach to {size} MB: {first:.1} ms in a new gateway, {open:.1} ms in one that has it open (< {MAX_MS} ms), {} KB (< {} KB)",
            bytes / 1000,
            MAX_BYTES / 1000
        );
        report(Some(first < MAX_MS && bytes < MAX_BYTES), &text);
    }
    let (new, open): (Vec<f64>, Vec<f64>) = times.into_iter().unzip();
    for (what, times) in [("a new gateway", new), ("a gateway that has it open", open)] {
        let (most, least) =
            (times.iter().copied().fold(0.0, f64::max), times.iter().copied().fold(f64::MAX, f64::min));
        let spread = most / least;
        let text = format!("slowest to fastest in {what}: {spread:.2}x (at most {MAX_SPREAD}x)");
        report(Some(spread <= MAX_SPREAD), &text);
    }
    Ok(())
}

/// The milliseconds until the end of the path is there, and the client.
async fn attach(server: &ServerProcess) -> Result<(f64, FrameClient)> {
    let begin = Instant::now();
    let mut client = FrameClient::connect(server).await?;
    let (session, _) = client.open(json!({ "target": "latest" })).await?;
    client.attach(session).await?;
    let query = json!({ "type": "path", "limit": SCREENFUL });
    let (_, path) = client.request(json!({ "type": "query", "session": session, "query": query })).await?;
    let entries = path["answer"]["entries"].as_array().map_or(0, Vec::len);
    anyhow::ensure!(entries > 10, "the path has {entries} entries");
    Ok((begin.elapsed().as_secs_f64() * 1000.0, client))
}

/// The size of the session in a home, in megabytes.
pub(crate) fn session_size(home: &std::path::Path) -> Result<u64> {
    let mut folders = std::fs::read_dir(home.join("sessions"))?;
    let folder = folders.next().context("no session")??.path();
    let file = std::fs::read_dir(folder)?
        .flatten()
        .find(|file| file.path().extension().is_some_and(|e| e == "jsonl"));
    Ok(file.context("no session file")?.metadata()?.len() / 1_000_000)
}
