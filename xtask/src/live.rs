//! The agent against a server and a model that nobody here wrote: llama.cpp with a very small model, over three protocols.
//!
//! What such a model says is worth nothing and is only shown. Checked is what holds for any model: that turns end, tools
//! run, logs verify, the server finds its cache, and a full window is told as such.

mod server;
mod story;

use anyhow::{Result, ensure};

use crate::args::Args;
use crate::osier::Osier;
use crate::place;
use server::Server;
use story::Story;

const APIS: [&str; 3] = ["openai-completions", "openai-responses", "anthropic-messages"];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let osier = args.value("--osier")?;
    args.finish()?;
    let dir = tempfile::tempdir()?;
    let osier = Osier::new(osier.as_deref(), dir.path().join("home"))?;
    let server = Server::start(&place::target()?.join("llm"), None)?;
    let mut failed = Vec::new();
    for api in APIS {
        println!("== {api}");
        let told = Story::new(&osier, dir.path(), api, server.port()).and_then(|story| story.tell());
        failed.extend(told.err().map(|error| format!("{api}: {error:#}")));
    }
    println!("== a window of 1,024 tokens");
    drop(server);
    let small = Server::start(&place::target()?.join("llm"), Some(1024))?;
    let told = Story::new(&osier, dir.path(), APIS[0], small.port()).and_then(|story| story.overflow());
    failed.extend(told.err().map(|error| format!("overflow: {error:#}")));
    ensure!(failed.is_empty(), "with a real model:\n  {}", failed.join("\n  "));
    Ok(())
}
