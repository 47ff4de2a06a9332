//! Runs with a real model: a tool call, a second turn, and a prompt that does not fit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::osier::Osier;

/// The model does not follow long prompts, and reads them slowly.
const SYSTEM: &str = "You are a coding agent.";

pub(super) struct LiveRun<'a> {
    osier: &'a Osier,
    project: PathBuf,
    /// The model name for `--model`.
    model: String,
}

impl<'a> LiveRun<'a> {
    pub(super) fn new(osier: &'a Osier, dir: &Path, api: &str, port: u16) -> Result<LiveRun<'a>> {
        let home = dir.join("home");
        fs::create_dir_all(&home)?;
        let config = format!(
            "[providers.live]\napi = \"{api}\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
             [[providers.live.models]]\nid = \"smollm2\"\ncontext_window = 8192\nmax_output = 400\n\
             [compaction]\nkeep_recent_tokens = 20\n"
        );
        fs::write(home.join("config.toml"), config)?;
        let project = dir.join(format!("{api}-{port}"));
        fs::create_dir_all(&project)?;
        fs::write(project.join("a.txt"), "The willow stands by the river.\n")?;
        Ok(LiveRun { osier, project, model: "live/smollm2".to_owned() })
    }

    pub(super) fn run_turns(&self) -> Result<()> {
        let events = self.events(&["--tools", "read", "Use read with a.txt."])?;
        let entries: Vec<&Value> = events.iter().filter(|event| event["type"] == "entry").collect();
        let roles: Vec<&str> =
            entries.iter().filter_map(|event| event["entry"]["message"]["role"].as_str()).collect();
        ensure!(roles.contains(&"toolResult"), "no tool ran: {roles:?}");
        ensure!(roles.last() == Some(&"assistant"), "the turn did not end with a reply: {roles:?}");
        let again = self.events(&["-c", "--tools", "read", "Thank you."])?;
        let usage = again.iter().rev().find_map(|event| event["entry"]["message"]["usage"].as_object());
        let usage = usage.context("the second reply has no usage")?;
        let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
        println!("   second turn: {} tokens in, {} of them cached", tokens("input"), tokens("cacheRead"));
        ensure!(tokens("cacheRead") > 0, "the server's cache did not hit");
        self.show()
    }

    /// A prompt that is too long fails with a clear error.
    pub(super) fn overflow(&self) -> Result<()> {
        fs::write(self.project.join("long.txt"), "willow and river and stone and path. ".repeat(300))?;
        let long = fs::read_to_string(self.project.join("long.txt"))?;
        let ran = self.command(&["-p", &long]).output()?;
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        println!("   {}", stderr.trim().lines().last().unwrap_or_default());
        ensure!(ran.status.code() == Some(1), "expected a failure: {stderr}");
        ensure!(
            stderr.contains("window") || stderr.contains("context"),
            "the error does not name the cause: {stderr}"
        );
        Ok(())
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.osier.command();
        command
            .current_dir(&self.project)
            .args(["--model", &self.model, "--system-prompt", SYSTEM])
            .args(args);
        command
    }

    pub(super) fn events(&self, args: &[&str]) -> Result<Vec<Value>> {
        let output = self.command(&["--mode", "json", "-p"]).args(args).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
    }

    /// Runs `osier sessions`, and returns its output.
    pub(super) fn sessions(&self, args: &[&str]) -> Result<String> {
        let ran = self.osier.command().current_dir(&self.project).arg("sessions").args(args).output()?;
        let stderr = String::from_utf8_lossy(&ran.stderr);
        ensure!(ran.status.success(), "osier sessions {}: {stderr}", args.join(" "));
        Ok(String::from_utf8(ran.stdout)?)
    }

    /// The most recent session.
    pub(super) fn latest(&self) -> Result<String> {
        let list: Value = serde_json::from_str(&self.sessions(&["list", "--json"])?)?;
        Ok(list[0]["id"].as_str().context("no session in the list")?.to_owned())
    }

    /// Prints the session, and verifies it.
    pub(super) fn show(&self) -> Result<()> {
        let id = self.latest()?;
        print_indented(&self.sessions(&["tree", &id])?);
        self.sessions(&["verify", &id]).map(drop)
    }
}

/// Prints a text with indentation.
pub(super) fn print_indented(text: &str) {
    text.lines().for_each(|line| println!("   {line}"));
}
