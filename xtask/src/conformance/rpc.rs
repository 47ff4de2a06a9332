//! RPC mode: pi's own client has the same conversation with pi and with Osier, over a prepared model. Answers and events must agree,
//! except where `docs/rpc.md` says otherwise; `peer/rpc_normalize.mjs` takes those differences out.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{ConformanceContext, ConformanceReport};
use crate::{json, peer};

pub(super) fn run(context: &ConformanceContext, report: &mut ConformanceReport) -> Result<()> {
    println!("== pi's client talks with pi and with osier");
    let pi = talk(context, "pi", &context.peer.cli())?;
    let osier = talk(context, "osier", &context.peer.script_path("osier.mjs"))?;
    let (pi, osier) = (steps(&pi)?, steps(&osier)?);
    ensure!(pi.len() == osier.len(), "pi had {} steps, osier {}", pi.len(), osier.len());
    for (pi, osier) in pi.iter().zip(osier) {
        let step = pi["step"].as_str().context("a step without a name")?;
        report.compare(Path::new("peer/rpc_conversation.mjs"), &format!("{step}: "), pi, osier);
    }
    Ok(())
}

fn steps(answer: &Value) -> Result<&[Value]> {
    Ok(answer.as_array().context("rpc.mjs printed no list")?)
}

/// Lets pi's client have the conversation with a program.
fn talk(context: &ConformanceContext, program: &str, cli: &Path) -> Result<Value> {
    let dir = context.dir.join(program);
    let job = json!({ "program": program, "cli": cli, "cwd": dir.join("project"), "home": dir.join("home") });
    let mut script = context.peer.script("rpc.mjs");
    script.env("PATH", context.peer.search_path()?).env("OSIER_BIN", context.osier.binary());
    let answer = peer::run_with_stdin(&mut script, &job)
        .with_context(|| format!("the conversation with {program}"))?;
    json::parse(&answer)
}
