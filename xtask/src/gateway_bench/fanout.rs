//! Many clients on one streaming session, next to a bare broadcast of the same frames to as many clients.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::FrameClient;
use super::process::ServerProcess;
use super::{BenchRun, prepared_model, report};

const PIECES: usize = 500;
const INTERVAL: Duration = Duration::from_millis(20);
const MAX_RATIO: f64 = 2.0;
/// The last frame of a turn.
const END: &str = "\"turn_ended\"";

pub(crate) async fn measure(run: &BenchRun) -> Result<()> {
    let home = run.dir.join("fanout-home");
    prepared_model::start(&home, PIECES, INTERVAL).await?;
    let server = ServerProcess::start_gateway(&run.osier, &home, &run.dir.join("project")).await?;
    let mut sender = FrameClient::connect(&server).await?;
    let (session, name) = sender.open(json!({ "target": "new" })).await?;
    let before = server.memory_mb("VmRSS")?;
    let mut clients = Vec::new();
    for _ in 0..run.clients {
        let mut client = FrameClient::connect(&server).await?;
        let (opened, _) = client.open(json!({ "target": "listed", "session": name })).await?;
        client.attach(opened).await?;
        clients.push(client);
    }
    let attached = server.memory_mb("VmRSS")?;
    let idle = server.cpu_ms()?;
    let reading = read_until_end(clients);
    let prompt = json!({ "type": "prompt", "text": "Go" });
    sender.request(json!({ "type": "send", "session": session, "command": prompt })).await?;
    let received = join(reading).await?;
    let gateway_ms = server.cpu_ms()? - idle;
    let streaming = server.memory_mb("VmHWM")?;
    drop(server);

    // The frames of one client, at the times at which it got them.
    let frames = received.into_iter().next().context("no client")?;
    let broadcast_ms = broadcast(run, &frames).await?;
    let (count, bytes) = (frames.len(), frames.iter().map(|(_, text)| text.len()).sum::<usize>());
    let ratio = gateway_ms / broadcast_ms;
    report(
        Some(ratio <= MAX_RATIO),
        &format!(
            "{} clients, {count} frames of {} bytes: {gateway_ms:.0} ms of CPU, a bare broadcast {broadcast_ms:.0} ms: {ratio:.2}x (at most {MAX_RATIO}x)",
            run.clients,
            bytes / count.max(1)
        ),
    );
    let per_client = |megabytes: f64| (megabytes - before) * 1e3 / run.clients as f64;
    report(
        None,
        &format!(
            "memory per client: {:.0} KB attached, {:.0} KB at the peak",
            per_client(attached),
            per_client(streaming)
        ),
    );
    Ok(())
}

type TimedFrames = Vec<(Instant, String)>;

/// Reads the frames of all clients up to the end of the turn. Only those of the first one are kept.
fn read_until_end(clients: Vec<FrameClient>) -> JoinSet<Result<(usize, TimedFrames)>> {
    let mut reading = JoinSet::new();
    for (index, mut client) in clients.into_iter().enumerate() {
        reading.spawn(async move {
            let mut frames = Vec::new();
            loop {
                let text = client.next_text().await?;
                anyhow::ensure!(!text.contains("\"type\":\"lagged\""), "a client was too slow");
                let is_end = text.contains(END);
                if index == 0 {
                    frames.push((Instant::now(), text));
                }
                if is_end {
                    return Ok((index, frames));
                }
            }
        });
    }
    reading
}

async fn join(mut reading: JoinSet<Result<(usize, TimedFrames)>>) -> Result<Vec<TimedFrames>> {
    let mut first = Vec::new();
    while let Some(read) = reading.join_next().await {
        let (index, frames) = read??;
        if index == 0 {
            first = frames;
        }
    }
    Ok(vec![first])
}

/// The CPU time of the bare broadcast for the same frames at the same times.
async fn broadcast(run: &BenchRun, frames: &TimedFrames) -> Result<f64> {
    let server = ServerProcess::start_broadcast().await?;
    let mut sender = FrameClient::connect_bare(&server).await?;
    let mut clients = Vec::new();
    for _ in 0..run.clients {
        clients.push(FrameClient::connect_bare(&server).await?);
    }
    let idle = server.cpu_ms()?;
    let reading = read_until_end(clients);
    let (begin, start) = (Instant::now(), frames.first().context("no frames")?.0);
    for (time, text) in frames {
        tokio::time::sleep_until(begin + (*time - start)).await;
        sender.send_text(text).await?;
    }
    join(reading).await?;
    Ok(server.cpu_ms()? - idle)
}
