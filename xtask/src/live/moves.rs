//! Moves, backtracks and a compaction with a real model.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::live_run::{LiveRun, print_indented};

/// The standard summary format is too complex for such a small model.
const SUMMARY: &str = "Say in one short sentence what was read.";

impl LiveRun<'_> {
    pub(super) fn run_moves(&self) -> Result<()> {
        self.events(&["--tools", "read", "Use read with a.txt."])?;
        let id = self.latest()?;
        let stay = self.leaf(&id)?;
        self.events(&["-c", "--tools", "read", "Use read with a.txt."])?;
        let moved = self.sessions(&[
            "move",
            &id,
            &stay,
            "--summarize",
            "--instructions",
            SUMMARY,
            "--replace-instructions",
            "--model",
            "live/smollm2",
            "--json",
        ])?;
        let moved: Value = serde_json::from_str(&moved)?;
        ensure!(moved["summaryEntry"].is_string(), "no summary: {moved}");
        ensure!(moved["summaryEntry"] == moved["leafId"], "the leaf is not the summary: {moved}");
        self.show()?;
        let events = self.events(&["--tools", "backtrack", "Use backtrack with a.txt."])?;
        let is_backtrack = |event: &&Value| event["entry"]["type"] == "backtrack";
        let returned = events.iter().find(is_backtrack).context("the model did not backtrack")?;
        ensure!(returned["entry"]["note"].is_string(), "no note: {returned}");
        self.show()
    }

    pub(super) fn compact(&self) -> Result<()> {
        self.events(&["--no-tools", "The willow stands by the river. Where does it stand?"])?;
        self.events(&["-c", "--no-tools", "Say it again."])?;
        let id = self.latest()?;
        let made = self.sessions(&["compact", &id, "--model", "live/smollm2", "--json"])?;
        let made: Value = serde_json::from_str(&made)?;
        ensure!(made["entry"].is_string(), "no compaction: {made}");
        print_indented(&self.sessions(&["compaction", &id])?);
        self.sessions(&["verify", &id]).map(drop)
    }

    fn leaf(&self, session: &str) -> Result<String> {
        let path: Value = serde_json::from_str(&self.sessions(&["path", session, "--json"])?)?;
        let last = path.as_array().and_then(|entries| entries.last()).context("the path is empty")?;
        Ok(last["id"].as_str().context("the last entry has no id")?.to_owned())
    }
}
