//! Generates the benchmark sessions: lines in pi's format, with the same bytes for the same shape on every
//! machine. Keeps only the end of the path in memory, because the peak of this process is a lower bound for
//! the peaks of its children.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

use super::content::{START, WordPool, entry_id, iso, session_id};
use crate::rng::Rng;

const BRANCH_EVERY: usize = 50;
const COMPACT_EVERY: usize = 2_000;
const KEPT: usize = 40;
/// Entries from the last compaction to the end, and some more. This part is the same for every size.
const TAIL: usize = 1_000;
const COMMON_ENTRIES: usize = 1_100;
/// Far more than a branch goes back or a compaction keeps.
const KEPT_PATH_IDS: usize = 512;

pub(super) struct SessionShape {
    pub(super) entries: usize,
    pub(super) compacted: bool,
    pub(super) seed: u64,
}

impl SessionShape {
    pub(super) fn id(&self) -> String {
        session_id(self.seed)
    }

    /// Writes the file unless it exists.
    pub(super) fn write(&self, file: &Path, cwd: &Path) -> Result<()> {
        if file.exists() {
            return Ok(());
        }
        let part = file.with_extension("part");
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&part)?);
        SessionGenerator::new(self).run(self, &mut out, cwd)?;
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(std::fs::rename(part, file)?)
    }
}

impl SessionShape {
    /// Writes a single path of short messages, unless the file exists.
    pub(super) fn write_short(&self, file: &Path, cwd: &Path) -> Result<()> {
        if file.exists() {
            return Ok(());
        }
        let part = file.with_extension("part");
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&part)?);
        let header = serde_json::json!({
            "type": "session", "version": 3, "id": self.id(), "timestamp": iso(START), "cwd": cwd,
        });
        writeln!(out, "{header}")?;
        let (mut rng, words, mut parent) = (Rng::new(self.seed), WordPool::new(), "null".to_owned());
        for n in 0..self.entries {
            let (id, time, role) = (entry_id(n), START + n as u64 * 1000, ["user", "assistant"][n % 2]);
            let text = words.text(&mut rng, 100);
            writeln!(
                out,
                r#"{{"type":"message","id":"{id:08x}","parentId":{parent},"timestamp":"{}","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}],"timestamp":{time}}}}}"#,
                iso(time),
            )?;
            parent = format!("\"{id:08x}\"");
        }
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(std::fs::rename(part, file)?)
    }

    /// The name that a store would give to the file.
    pub(super) fn file_name(&self) -> String {
        self.file_name_at(START)
    }

    fn file_name_at(&self, millis: u64) -> String {
        format!("{}_{}.jsonl", iso(millis).replace([':', '.'], "-"), session_id(self.seed))
    }
}

/// Many sessions of 200 entries in one folder.
pub(super) fn write_folder(dir: &Path, count: usize, cwd: &Path) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    for n in 0..count {
        let shape = SessionShape { entries: 200, compacted: false, seed: 1000 + n as u64 };
        shape.write(&dir.join(shape.file_name_at(START + n as u64 * 60_000)), cwd)?;
    }
    Ok(())
}

/// Many sessions of 20 entries in one folder.
pub(super) fn write_small_sessions(dir: &Path, count: usize, cwd: &Path) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    for n in 0..count {
        let shape = SessionShape { entries: 20, compacted: false, seed: 100_000 + n as u64 };
        shape.write(&dir.join(shape.file_name_at(START + n as u64 * 60_000)), cwd)?;
    }
    Ok(())
}

struct SessionGenerator {
    rng: Rng,
    words: WordPool,
    clock: u64,
    /// The last ids on the path, and how many come before them.
    path: Vec<u32>,
    dropped: usize,
    /// No branch goes back beyond this position on the path.
    floor: usize,
    line: Vec<u8>,
}

impl SessionGenerator {
    fn new(shape: &SessionShape) -> Self {
        Self {
            rng: Rng::new(shape.seed),
            words: WordPool::new(),
            clock: START,
            path: Vec::new(),
            dropped: 0,
            floor: 0,
            line: Vec::new(),
        }
    }

    fn run(mut self, shape: &SessionShape, out: &mut impl Write, cwd: &Path) -> Result<()> {
        let header = serde_json::json!({
            "type": "session", "version": 3, "id": session_id(shape.seed), "timestamp": iso(START), "cwd": cwd,
        });
        writeln!(out, "{header}")?;
        let mut step = 0;
        let mut due = false;
        for n in 0..shape.entries {
            let left = shape.entries - n;
            if shape.compacted && left == COMMON_ENTRIES {
                self.rng = Rng::new(0xface);
            }
            if n > 0 && left.is_multiple_of(BRANCH_EVERY) && self.go_back() {
                step = 0;
            }
            due |= shape.compacted && left % COMPACT_EVERY == TAIL;
            if due && step % 8 == 0 && self.path.len() >= KEPT {
                self.compaction(n)?;
                due = false;
            } else {
                self.message(n, step)?;
                step += 1;
            }
            out.write_all(&self.line)?;
        }
        Ok(())
    }

    /// Goes 8 to 32 entries back, to the end of a turn.
    fn go_back(&mut self) -> bool {
        let length = self.dropped + self.path.len();
        let back = 8 + 8 * self.rng.below(4);
        let Some(above) = length.checked_sub(back).and_then(|kept| kept.checked_sub(self.floor)) else {
            return false;
        };
        let keep = self.floor + above / 8 * 8;
        if keep <= self.dropped {
            return false;
        }
        self.path.truncate(keep - self.dropped);
        true
    }

    fn open_line(&mut self, n: usize, kind: &str) -> Result<()> {
        let id = entry_id(n);
        self.line.clear();
        write!(self.line, r#"{{"type":"{kind}","id":"{id:08x}","parentId":"#)?;
        match self.path.last() {
            Some(parent) => write!(self.line, r#""{parent:08x}""#)?,
            None => write!(self.line, "null")?,
        }
        write!(self.line, r#","timestamp":"{}","#, iso(self.clock))?;
        self.path.push(id);
        if self.path.len() > 2 * KEPT_PATH_IDS {
            self.path.drain(..KEPT_PATH_IDS);
            self.dropped += KEPT_PATH_IDS;
        }
        Ok(())
    }

    fn compaction(&mut self, n: usize) -> Result<()> {
        let kept = self.path[self.path.len() - KEPT];
        let summary = self.words.text(&mut self.rng, 2_000);
        self.open_line(n, "compaction")?;
        writeln!(
            self.line,
            r#""summary":"{summary}","firstKeptEntryId":"{kept:08x}","tokensBefore":150000}}"#
        )?;
        self.floor = self.dropped + self.path.len();
        Ok(())
    }

    fn message(&mut self, n: usize, step: usize) -> Result<()> {
        self.clock += [5_000, 900, 300, 900, 300, 900, 300, 900][step % 8];
        self.open_line(n, "message")?;
        match step % 8 {
            0 => self.user(),
            7 => self.answer(),
            k if k % 2 == 1 => self.call(n, k),
            k => self.result(n, k),
        }?;
        self.line.extend_from_slice(b"}\n");
        Ok(())
    }

    /// A text of 0.5 to 1.5 times the mean length.
    fn text(&mut self, mean: usize) -> &'static str {
        let length = mean / 2 + self.rng.below(mean);
        self.words.text(&mut self.rng, length)
    }

    fn user(&mut self) -> Result<()> {
        let text = self.text(120);
        write!(
            self.line,
            r#""message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":{}}}"#,
            self.clock
        )?;
        Ok(())
    }

    fn assistant(&mut self, more: &str, stop: &str) -> Result<()> {
        let text = self.text(600);
        write!(
            self.line,
            r#""message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}{more}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{USAGE},"stopReason":"{stop}","timestamp":{}}}"#,
            self.clock
        )?;
        Ok(())
    }

    fn answer(&mut self) -> Result<()> {
        self.assistant("", "stop")
    }

    fn call(&mut self, n: usize, k: usize) -> Result<()> {
        let words = self.words;
        let mut text = |length| words.text(&mut self.rng, length);
        let arguments = match k {
            1 => format!(r#"{{"path":"src/m{}.ts"}}"#, n % 90),
            3 => format!(r#"{{"command":"{}"}}"#, text(60)),
            _ => format!(
                r#"{{"path":"src/m{}.ts","oldText":"{}","newText":"{}"}}"#,
                n % 90,
                text(120),
                text(150)
            ),
        };
        let call =
            format!(r#",{{"type":"toolCall","id":"call_{n}","name":"{}","arguments":{arguments}}}"#, tool(k));
        self.assistant(&call, "toolUse")
    }

    fn result(&mut self, n: usize, k: usize) -> Result<()> {
        let text = self.text(2_000);
        write!(
            self.line,
            r#""message":{{"role":"toolResult","toolCallId":"call_{}","toolName":"{}","content":[{{"type":"text","text":"{text}"}}],"isError":false,"timestamp":{}}}"#,
            n - 1,
            tool(k - 1),
            self.clock
        )?;
        Ok(())
    }
}

const USAGE: &str = r#"{"input":1200,"output":220,"cacheRead":40000,"cacheWrite":900,"totalTokens":42320,"cost":{"input":0.0036,"output":0.0033,"cacheRead":0.012,"cacheWrite":0.003375,"total":0.022275}}"#;

fn tool(k: usize) -> &'static str {
    ["read", "bash", "edit"][k / 2]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::Value;

    use super::*;

    fn lines(entries: usize, compacted: bool) -> Vec<Value> {
        let mut out = Vec::new();
        let shape = SessionShape { entries, compacted, seed: 5 };
        SessionGenerator::new(&shape).run(&shape, &mut out, Path::new("/project")).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The bodies on the path from the first kept entry of the last compaction, without ids.
    fn context(lines: &[Value]) -> Vec<Value> {
        let by_id: HashMap<&str, &Value> =
            lines[1..].iter().map(|line| (line["id"].as_str().unwrap(), line)).collect();
        let mut at = lines.last();
        let mut bodies = Vec::new();
        let mut kept = None;
        while let Some(line) = at {
            if line["type"] == "compaction" {
                kept = kept.or(line["firstKeptEntryId"].as_str());
            }
            bodies.push(line["message"]["content"].clone());
            if line["id"].as_str() == kept {
                return bodies;
            }
            at = line["parentId"].as_str().map(|id| by_id[id]);
        }
        panic!("the kept entry is not on the path");
    }

    #[test]
    fn parents_come_first_and_ids_are_unique() {
        let lines = lines(3_000, false);
        let mut seen = std::collections::HashSet::new();
        let mut branches = 0;
        for (n, line) in lines[1..].iter().enumerate() {
            let parent = line["parentId"].as_str();
            assert!(parent.map_or(n == 0, |id| seen.contains(id)), "line {n}");
            branches += usize::from(n > 0 && parent != lines[n]["id"].as_str());
            assert!(seen.insert(line["id"].as_str().unwrap()));
        }
        assert!((50..=60).contains(&branches), "{branches}");
    }

    #[test]
    fn kept_part_is_the_same_at_every_size() {
        let strip = |bodies: Vec<Value>| -> Vec<String> {
            bodies.iter().map(|body| body[0]["text"].to_string()).collect()
        };
        let small = strip(context(&lines(6_800, true)));
        assert_eq!(small, strip(context(&lines(12_000, true))));
        assert!((500..=1_100).contains(&small.len()), "{}", small.len());
    }

    #[test]
    fn line_lengths_match_the_reference_session() {
        let lines = lines(8_000, false);
        let bytes: usize = lines[1..].iter().map(|line| line.to_string().len() + 1).sum();
        assert!((1_380..=1_580).contains(&(bytes / 8_000)), "{}", bytes / 8_000);
    }
}
