//! Runs the agent against a real server: llama.cpp with a very small model, over three APIs.
//!
//! The text of such a model is meaningless and is only printed. The checks hold for any model: turns end,
//! tools run, logs verify, the server's cache hits, and a context overflow is reported.

mod live_run;
mod moves;
mod server;

use anyhow::{Result, ensure};

use crate::args::Args;
use crate::osier::Osier;
use crate::workspace;
use live_run::LiveRun;
use server::LlamaServer;

const APIS: [&str; 3] = ["openai-completions", "openai-responses", "anthropic-messages"];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let osier = args.value("--osier")?;
    args.finish()?;
    let dir = tempfile::tempdir()?;
    let osier = Osier::new(osier.as_deref(), dir.path().join("home"))?;
    let llm = workspace::target()?.join("llm");
    let server = LlamaServer::start(&llm, &[])?;
    let mut failed = Vec::new();
    for api in APIS {
        println!("== {api}");
        let result =
            LiveRun::new(&osier, dir.path(), api, server.port()).and_then(|live_run| live_run.run_turns());
        failed.extend(result.err().map(|error| format!("{api}: {error:#}")));
    }
    println!("== a move with a summary, and a backtrack");
    let result =
        LiveRun::new(&osier, dir.path(), APIS[0], server.port()).and_then(|live_run| live_run.run_moves());
    failed.extend(result.err().map(|error| format!("moves: {error:#}")));
    drop(server);
    println!("== a compaction");
    let wordy = LlamaServer::start(&llm, &[("LLM_PENALTY", "1")])?;
    let result =
        LiveRun::new(&osier, dir.path(), APIS[0], wordy.port()).and_then(|live_run| live_run.compact());
    failed.extend(result.err().map(|error| format!("compaction: {error:#}")));
    drop(wordy);
    println!("== a context window of 1,024 tokens");
    let small = LlamaServer::start(&llm, &[("LLM_CTX", "1024")])?;
    let result =
        LiveRun::new(&osier, dir.path(), APIS[0], small.port()).and_then(|live_run| live_run.overflow());
    failed.extend(result.err().map(|error| format!("overflow: {error:#}")));
    ensure!(failed.is_empty(), "failures with a real model:\n  {}", failed.join("\n  "));
    Ok(())
}
