//! Measures a gateway and RPC mode from outside, next to bare programs that move the same bytes. `cargo xtask bench --gateway`
//! runs it: `gateway-bench OSIER DIR CLIENTS SESSION_HOME...`, where each home has one large session.
//!
//! `gateway-bench broadcast` and `gateway-bench write` are the bare programs.

mod attaching;
mod broadcast;
mod client;
mod fanout;
mod pipes;
mod prepared_model;
mod process;
mod snapshots;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// What all measurements need.
struct BenchRun {
    osier: PathBuf,
    dir: PathBuf,
    clients: usize,
    /// Homes with one session each, the smallest first.
    homes: Vec<PathBuf>,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["broadcast"] => runtime.block_on(broadcast::serve()),
        ["write"] => pipes::write_lines(),
        [osier, dir, clients, ref homes @ ..] => {
            let homes = homes.iter().map(PathBuf::from).collect();
            let clients = clients.parse().context("the number of clients")?;
            let run = BenchRun { osier: osier.into(), dir: dir.into(), clients, homes };
            runtime.block_on(measure(&run))
        }
        _ => bail!("usage: gateway-bench OSIER DIR CLIENTS SESSION_HOME..."),
    }
}

async fn measure(run: &BenchRun) -> Result<()> {
    attaching::measure(run).await?;
    snapshots::measure(run).await?;
    fanout::measure(run).await?;
    pipes::measure(run).await
}

/// A line of the report.
fn report(met: Option<bool>, text: &str) {
    let mark = match met {
        Some(true) => "ok    ",
        Some(false) => "MISS  ",
        None => "      ",
    };
    println!("{mark}{text}");
}
