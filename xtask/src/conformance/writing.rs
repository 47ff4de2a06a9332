//! Osier and pi take turns writing and reading the same sessions. Moves and deleted branches are excluded
//! from the comparison, because pi has neither.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::log::SessionLog;
use super::{ConformanceContext, ConformanceReport, view};
use crate::json::difference;
use crate::osier::{AppendParent, CommandOutcome, Osier};
use crate::rng::Rng;

const SCRIPTS: u64 = 40;
const ROUNDS: u64 = 3;
const COMMANDS_PER_ROUND: usize = 12;

pub(super) fn run(context: &ConformanceContext, report: &mut ConformanceReport) -> Result<()> {
    let dir = context.dir.join("from-osier");
    std::fs::create_dir_all(&dir)?;
    let count = SCRIPTS.min(context.sessions.max(1));
    println!("== osier and pi take turns writing {count} sessions, {ROUNDS} rounds");
    let mut scripts: Vec<RandomWriter<'_>> =
        (0..count).map(|n| RandomWriter::new(context, &dir, n)).collect();
    for round in 0..ROUNDS {
        for script in &mut scripts {
            let result = script.run_round();
            report.check(&script.file, "writing", result);
        }
        let jobs: Value = scripts.iter().map(|script| json!({ "file": script.file })).collect();
        compare(context, report, &scripts, "after osier's turn", &context.peer.run_jobs("see", &jobs)?);

        let seed =
            |n: usize| context.seed.wrapping_mul(1000).wrapping_add(round * 100 + n as u64) & 0xffff_ffff;
        let job = |(n, script): (usize, &RandomWriter<'_>)| json!({ "file": script.file, "seed": seed(n), "count": 3 });
        let jobs: Value = scripts.iter().enumerate().map(job).collect();
        compare(context, report, &scripts, "after pi's turn", &context.peer.run_jobs("continue", &jobs)?);
    }
    Ok(())
}

fn compare(
    context: &ConformanceContext,
    report: &mut ConformanceReport,
    scripts: &[RandomWriter<'_>],
    when: &str,
    answers: &[Value],
) {
    for (script, pi) in scripts.iter().zip(answers) {
        let file = &script.file;
        let sides = SessionLog::read(file).and_then(|log| {
            let osier = view::osier_view(&context.osier, file, &[])?;
            Ok((view::without_osier_entries(pi, &log), view::without_osier_entries(&osier, &log)))
        });
        match sides {
            Ok((pi, osier)) => report.compare(file, when, &pi, &osier),
            Err(error) => report.add_difference(file, when, &format!("{error:#}")),
        }
        report.check(file, "acknowledged entries", script.check_all_present());
        report.check(file, "verify", context.osier.verify(file));
    }
}

/// One session, and the random commands that write it.
struct RandomWriter<'a> {
    osier: &'a Osier,
    file: PathBuf,
    rng: Rng,
    acknowledged: Vec<String>,
}

impl<'a> RandomWriter<'a> {
    fn new(context: &'a ConformanceContext, dir: &Path, n: u64) -> Self {
        let rng = Rng::new(context.seed.wrapping_mul(0x1_0001).wrapping_add(n));
        Self { osier: &context.osier, file: dir.join(format!("{n:04}.jsonl")), rng, acknowledged: Vec::new() }
    }

    fn run_round(&mut self) -> Result<()> {
        for _ in 0..COMMANDS_PER_ROUND {
            self.run_random_command()?;
        }
        Ok(())
    }

    fn run_random_command(&mut self) -> Result<()> {
        if !self.file.exists() {
            return self.append_message("user", AppendParent::Leaf);
        }
        let Some(target) = self.target()? else { return self.append_message("user", AppendParent::Root) };
        match self.rng.below(100) {
            0..20 => self.append_message("user", AppendParent::Leaf),
            20..38 => self.append_message("assistant", AppendParent::Leaf),
            38..44 => self.append_message("user", AppendParent::Entry(&target)),
            44..45 => self.append_message("user", AppendParent::Root),
            45..51 => self.label(&target),
            51..54 => self.osier.rename(&self.file, &format!("name {}", self.rng.below(100))),
            54..62 => self.move_to(&target),
            62..70 => self.move_exactly(&target),
            70..75 => self.undo_or_redo(Osier::undo),
            75..78 => self.undo_or_redo(Osier::redo),
            78..80 => self.delete(&target),
            80..81 => self.fork(&target),
            81..86 => self.append_entry(&json!({ "type": "compaction", "summary": "so far ü", "firstKeptEntryId": target, "tokensBefore": 1234 })),
            86..90 => self.append_entry(&json!({ "type": "branch_summary", "fromId": target, "summary": "left\u{2028}behind" })),
            90..95 => self.append_entry(&json!({ "type": "custom_message", "customType": "note", "content": "汉字 🧵", "display": true })),
            _ => self.edit_context(),
        }
    }

    fn target(&mut self) -> Result<Option<String>> {
        let log = SessionLog::read(&self.file)?;
        Ok(self.rng.pick(&log.targets()).map(|id| (*id).to_owned()))
    }

    fn append_message(&mut self, role: &str, below: AppendParent<'_>) -> Result<()> {
        let text =
            ["hello", "zwei\nZeilen", "\"quoted\" \\ 汉字", "sep\u{2028}arated 🧵", "-- not an option"];
        let text = text[self.rng.below(text.len())];
        let id = self.osier.append_message(&self.file, role, text, below)?;
        self.acknowledged.push(id);
        Ok(())
    }

    fn append_entry(&mut self, entry: &Value) -> Result<()> {
        let id = self.osier.append_entry(&self.file, entry)?;
        self.acknowledged.push(id);
        Ok(())
    }

    fn label(&mut self, target: &str) -> Result<()> {
        let text = if self.rng.chance(20) { String::new() } else { format!("mark {}", self.rng.below(50)) };
        self.osier.label(&self.file, target, &text)
    }

    fn move_to(&mut self, target: &str) -> Result<()> {
        let target = if self.rng.chance(10) { "root" } else { target };
        self.check_refusal_writes_nothing(|osier, file| osier.move_to(file, target))
    }

    /// After an exact move, the context is that of the target.
    fn move_exactly(&mut self, target: &str) -> Result<()> {
        self.osier.move_exactly(&self.file, target)?;
        let (_, here) = view::context_at(self.osier, &self.file, None)?;
        let (_, there) = view::context_at(self.osier, &self.file, Some(target))?;
        match difference(&there, &here) {
            None => Ok(()),
            Some(found) => anyhow::bail!(
                "moved to {target}, but context{} is {}, not {}",
                found.path,
                found.right,
                found.left
            ),
        }
    }

    fn undo_or_redo(&mut self, step: fn(&Osier, &Path) -> Result<CommandOutcome>) -> Result<()> {
        self.check_refusal_writes_nothing(step)
    }

    fn delete(&mut self, target: &str) -> Result<()> {
        self.check_refusal_writes_nothing(|osier, file| osier.delete_branch(file, target))
    }

    /// Checks that a refused command wrote nothing.
    fn check_refusal_writes_nothing(
        &mut self,
        command: impl Fn(&Osier, &Path) -> Result<CommandOutcome>,
    ) -> Result<()> {
        let before = std::fs::read(&self.file)?;
        if command(self.osier, &self.file)? == CommandOutcome::Refused {
            ensure!(before == std::fs::read(&self.file)?, "a refused command changed the file");
        }
        Ok(())
    }

    fn fork(&mut self, target: &str) -> Result<()> {
        let before = std::fs::read(&self.file)?;
        let made = self.osier.fork(&self.file, target)?;
        ensure!(made.is_file(), "fork printed {}, which is not a file", made.display());
        ensure!(before == std::fs::read(&self.file)?, "fork changed its source");
        Ok(())
    }

    /// pi only allows edits of messages on the path, so nothing else is tried.
    fn edit_context(&mut self) -> Result<()> {
        let path = self.osier.path(&self.file, None)?;
        let editable = |entry: &&Value| {
            entry["type"] == "custom_message"
                || matches!(entry["message"]["role"].as_str(), Some("user" | "assistant" | "toolResult"))
        };
        let ids: Vec<&Value> =
            path.as_array().into_iter().flatten().filter(editable).map(|entry| &entry["id"]).collect();
        let Some(target) = self.rng.pick(&ids).map(|id| (*id).clone()) else { return Ok(()) };
        let content = json!({ "content": [{ "type": "text", "text": "edited" }] });
        let replacement = if self.rng.chance(40) { Value::Null } else { content };
        self.append_entry(&json!({ "type": "context_edit", "targetId": target, "replacement": replacement }))
    }

    fn check_all_present(&self) -> Result<()> {
        let log = SessionLog::read(&self.file)?;
        for id in &self.acknowledged {
            log.entry(id).with_context(|| format!("entry {id} was acknowledged but is not in the file"))?;
        }
        Ok(())
    }
}
