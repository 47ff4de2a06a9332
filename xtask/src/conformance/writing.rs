//! Osier and pi take turns writing and reading the same sessions. Moves and deleted branches are excluded
//! from the comparison, because pi has neither.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::log::Log;
use super::{Report, World, seen};
use crate::json::difference;
use crate::osier::{Below, Done, Osier};
use crate::rng::Rng;

const SCRIPTS: u64 = 40;
const ROUNDS: u64 = 3;
const ACTS: usize = 12;

pub(super) fn run(world: &World, report: &mut Report) -> Result<()> {
    let dir = world.dir.join("from-osier");
    std::fs::create_dir_all(&dir)?;
    let count = SCRIPTS.min(world.sessions.max(1));
    println!("== osier and pi take turns writing {count} sessions, {ROUNDS} rounds");
    let mut scripts: Vec<Script<'_>> = (0..count).map(|n| Script::new(world, &dir, n)).collect();
    for round in 0..ROUNDS {
        for script in &mut scripts {
            let result = script.play();
            report.holds(&script.file, "writing", result);
        }
        let jobs: Value = scripts.iter().map(|script| json!({ "file": script.file })).collect();
        compare(world, report, &scripts, "after osier's turn", &world.peer.ask("see", &jobs)?);

        let seed =
            |n: usize| world.seed.wrapping_mul(1000).wrapping_add(round * 100 + n as u64) & 0xffff_ffff;
        let job =
            |(n, script): (usize, &Script<'_>)| json!({ "file": script.file, "seed": seed(n), "count": 3 });
        let jobs: Value = scripts.iter().enumerate().map(job).collect();
        compare(world, report, &scripts, "after pi's turn", &world.peer.ask("continue", &jobs)?);
    }
    Ok(())
}

fn compare(world: &World, report: &mut Report, scripts: &[Script<'_>], when: &str, answers: &[Value]) {
    for (script, pi) in scripts.iter().zip(answers) {
        let file = &script.file;
        let sides = Log::read(file).and_then(|log| {
            let osier = seen::by_osier(&world.osier, file, &[])?;
            Ok((seen::in_common(pi, &log), seen::in_common(&osier, &log)))
        });
        match sides {
            Ok((pi, osier)) => report.same(file, when, &pi, &osier),
            Err(error) => report.differ(file, when, &format!("{error:#}")),
        }
        report.holds(file, "acknowledged entries", script.all_there());
        report.holds(file, "verify", world.osier.verify(file));
    }
}

/// One session, and the random commands that write it.
struct Script<'a> {
    osier: &'a Osier,
    file: PathBuf,
    rng: Rng,
    acknowledged: Vec<String>,
}

impl<'a> Script<'a> {
    fn new(world: &'a World, dir: &Path, n: u64) -> Self {
        let rng = Rng::new(world.seed.wrapping_mul(0x1_0001).wrapping_add(n));
        Self { osier: &world.osier, file: dir.join(format!("{n:04}.jsonl")), rng, acknowledged: Vec::new() }
    }

    fn play(&mut self) -> Result<()> {
        for _ in 0..ACTS {
            self.act()?;
        }
        Ok(())
    }

    fn act(&mut self) -> Result<()> {
        if !self.file.exists() {
            return self.say("user", Below::Leaf);
        }
        let Some(target) = self.target()? else { return self.say("user", Below::Root) };
        match self.rng.below(100) {
            0..20 => self.say("user", Below::Leaf),
            20..38 => self.say("assistant", Below::Leaf),
            38..44 => self.say("user", Below::Entry(&target)),
            44..45 => self.say("user", Below::Root),
            45..51 => self.label(&target),
            51..54 => self.osier.rename(&self.file, &format!("name {}", self.rng.below(100))),
            54..62 => self.go(&target),
            62..70 => self.go_exactly(&target),
            70..75 => self.back_or_forth(Osier::undo),
            75..78 => self.back_or_forth(Osier::redo),
            78..80 => self.delete(&target),
            80..81 => self.fork(&target),
            81..86 => self.entry(&json!({ "type": "compaction", "summary": "so far ü", "firstKeptEntryId": target, "tokensBefore": 1234 })),
            86..90 => self.entry(&json!({ "type": "branch_summary", "fromId": target, "summary": "left\u{2028}behind" })),
            90..95 => self.entry(&json!({ "type": "custom_message", "customType": "note", "content": "汉字 🧵", "display": true })),
            _ => self.edit_context(),
        }
    }

    fn target(&mut self) -> Result<Option<String>> {
        let log = Log::read(&self.file)?;
        Ok(self.rng.pick(&log.targets()).map(|id| (*id).to_owned()))
    }

    fn say(&mut self, role: &str, below: Below<'_>) -> Result<()> {
        let text =
            ["hello", "zwei\nZeilen", "\"quoted\" \\ 汉字", "sep\u{2028}arated 🧵", "-- not an option"];
        let text = text[self.rng.below(text.len())];
        let id = self.osier.say(&self.file, role, text, below)?;
        self.acknowledged.push(id);
        Ok(())
    }

    fn entry(&mut self, entry: &Value) -> Result<()> {
        let id = self.osier.append_entry(&self.file, entry)?;
        self.acknowledged.push(id);
        Ok(())
    }

    fn label(&mut self, target: &str) -> Result<()> {
        let text = if self.rng.chance(20) { String::new() } else { format!("mark {}", self.rng.below(50)) };
        self.osier.label(&self.file, target, &text)
    }

    fn go(&mut self, target: &str) -> Result<()> {
        let target = if self.rng.chance(10) { "root" } else { target };
        self.unless_refused(|osier, file| osier.go(file, target))
    }

    /// After an exact move, the context is that of the target.
    fn go_exactly(&mut self, target: &str) -> Result<()> {
        self.osier.go_exactly(&self.file, target)?;
        let (_, here) = seen::context_at(self.osier, &self.file, None)?;
        let (_, there) = seen::context_at(self.osier, &self.file, Some(target))?;
        match difference(&there, &here) {
            None => Ok(()),
            Some(found) => anyhow::bail!(
                "moved to {target}, but context{} is {}, not {}",
                found.place,
                found.right,
                found.left
            ),
        }
    }

    fn back_or_forth(&mut self, step: fn(&Osier, &Path) -> Result<Done>) -> Result<()> {
        self.unless_refused(step)
    }

    fn delete(&mut self, target: &str) -> Result<()> {
        self.unless_refused(|osier, file| osier.delete_branch(file, target))
    }

    /// Checks that a refused command wrote nothing.
    fn unless_refused(&mut self, command: impl Fn(&Osier, &Path) -> Result<Done>) -> Result<()> {
        let before = std::fs::read(&self.file)?;
        if command(self.osier, &self.file)? == Done::Refused {
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
        self.entry(&json!({ "type": "context_edit", "targetId": target, "replacement": replacement }))
    }

    fn all_there(&self) -> Result<()> {
        let log = Log::read(&self.file)?;
        for id in &self.acknowledged {
            log.entry(id).with_context(|| format!("entry {id} was acknowledged but is not in the file"))?;
        }
        Ok(())
    }
}
