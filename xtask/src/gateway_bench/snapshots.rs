//! Snapshots over HTTP: how many of a small session, and what one of a large session costs.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use serde_json::json;

use super::attaching::session_size;
use super::client::FrameClient;
use super::process::ServerProcess;
use super::{BenchRun, report};

const DURATION: Duration = Duration::from_secs(3);

pub(crate) async fn measure(run: &BenchRun) -> Result<()> {
    for (at, home) in run.homes.iter().take(2).enumerate() {
        let server = ServerProcess::start_gateway(&run.osier, home, &run.dir.join("project")).await?;
        let mut client = FrameClient::connect(&server).await?;
        let (_, session) = client.open(json!({ "target": "latest" })).await?;
        let id = session["key"].as_str().context("the key of the session")?.to_owned();
        let id = id.rsplit('_').next().unwrap_or_default().trim_end_matches(".jsonl").to_owned();
        let (before, begin) = (server.memory_mb("VmHWM")?, Instant::now());
        let bytes = get(&server, &format!("/api/sessions/{id}/snapshot")).await?;
        let (ms, peak) = (begin.elapsed().as_secs_f64() * 1000.0, server.memory_mb("VmHWM")?);
        report(
            None,
            &format!(
                "snapshot of {} MB over HTTP: {:.1} MB in {ms:.0} ms, peak memory {peak:.0} MB (before: {before:.0} MB)",
                session_size(home)?,
                bytes as f64 / 1e6
            ),
        );
        // A larger one is refused there.
        if at > 0 {
            continue;
        }
        let request = json!({ "type": "snapshot", "session": session });
        let begin = Instant::now();
        client.request(json!({ "type": "call", "request": request })).await?;
        let (ms, peak) = (begin.elapsed().as_secs_f64() * 1000.0, server.memory_mb("VmHWM")?);
        report(
            None,
            &format!(
                "the same over the WebSocket: {:.1} MB in {ms:.0} ms, peak memory {peak:.0} MB",
                client.received as f64 / 1e6
            ),
        );
    }
    let Some(home) = run.homes.first() else { return Ok(()) };
    let server = ServerProcess::start_gateway(&run.osier, home, &run.dir.join("project")).await?;
    let mut client = FrameClient::connect(&server).await?;
    let (_, session) = client.open(json!({ "target": "latest" })).await?;
    let id = session["key"]
        .as_str()
        .unwrap_or_default()
        .rsplit('_')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".jsonl")
        .to_owned();
    let end = format!("/api/sessions/{id}/snapshot?since=6990&withoutContext=true");
    let (begin, mut count) = (Instant::now(), 0);
    while begin.elapsed() < DURATION {
        get(&server, &end).await?;
        count += 1;
    }
    let rate = f64::from(count) / begin.elapsed().as_secs_f64();
    report(
        None,
        &format!(
            "snapshots of the last entries of {} MB: {rate:.0} per second, one after the other",
            session_size(home)?
        ),
    );
    Ok(())
}

/// Gets a resource over a new connection. Returns the bytes of the body.
async fn get(server: &ServerProcess, path: &str) -> Result<usize> {
    let mut stream = BufReader::new(TcpStream::connect(&server.address).await?);
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
        server.address, server.token
    );
    stream.write_all(request.as_bytes()).await?;
    let mut status = String::new();
    stream.read_line(&mut status).await?;
    anyhow::ensure!(status.contains(" 200 "), "{path}: {status}");
    let (mut total, mut buffer) = (0, vec![0; 64 << 10]);
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(total),
            count => total += count,
        }
    }
}
