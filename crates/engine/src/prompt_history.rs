//! The prompt history of all sessions: `history.jsonl` in Osier's home folder, readable only by its owner.
//!
//! Each line is `{"text": …}`, the newest last. A lock file serializes writers. Readers need no lock: each line is one write,
//! and a shortened file replaces the old one atomically.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use osier_tools::read_regular;
use rustix::fs::OFlags;
use serde_json::{Value, json};

/// When the file is larger than this, it is shortened to at most `KEPT_LINES` lines.
const MAX_BYTES: u64 = 512 << 10;
const KEPT_LINES: usize = 1000;
/// A larger file was not written by Osier and is not read.
const MAX_READ: u64 = 4 * MAX_BYTES;
/// Longer prompts are not stored.
const MAX_TEXT: usize = 8 << 10;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct PromptHistory {
    path: PathBuf,
}

impl PromptHistory {
    /// `folder` is Osier's own folder.
    pub fn new(folder: &Path) -> PromptHistory {
        PromptHistory { path: folder.join("history.jsonl") }
    }

    /// The prompts, the newest last. Invalid lines are skipped.
    pub fn read(&self) -> Vec<String> {
        let bytes = read_regular(&self.path, MAX_READ).unwrap_or_default();
        let text = |line: &[u8]| match serde_json::from_slice::<Value>(line).ok()?.get_mut("text")?.take() {
            Value::String(text) => Some(text),
            _ => None,
        };
        bytes.split(|byte| *byte == b'\n').filter_map(text).collect()
    }

    /// Adds a prompt, unless it is too long.
    pub fn add(&self, text: &str) -> io::Result<()> {
        if text.len() > MAX_TEXT {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let lock = open_private(OpenOptions::new().write(true), &self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut file = open_private(OpenOptions::new().append(true), &self.path)?;
        file.write_all(format!("{}\n", json!({ "text": text })).as_bytes())?;
        if file.metadata()?.len() > MAX_BYTES { self.shorten() } else { Ok(()) }
    }

    fn shorten(&self) -> io::Result<()> {
        let texts = self.read();
        let kept = &texts[texts.len().saturating_sub(KEPT_LINES)..];
        let mut lines: Vec<String> =
            kept.iter().map(|text| format!("{}\n", json!({ "text": text }))).collect();
        let mut left = MAX_BYTES as usize / 2;
        let first = lines.iter().rposition(|line| {
            let is_over = line.len() > left;
            left = left.saturating_sub(line.len());
            is_over
        });
        lines.drain(..first.map_or(0, |at| at + 1));
        let shorter = self.path.with_extension("new");
        open_private(OpenOptions::new().write(true).truncate(true), &shorter)?
            .write_all(lines.concat().as_bytes())?;
        fs::rename(shorter, &self.path)
    }
}

fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a pipe that has no reader would block forever.
    options.create(true).mode(0o600).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn concurrent_writers_lose_nothing_and_the_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let history = PromptHistory::new(folder.path());
        assert_eq!(history.read(), Vec::<String>::new());
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let history = history.clone();
                scope.spawn(move || {
                    for number in 0..50 {
                        history.add(&format!("{writer} says\n{number}")).unwrap();
                    }
                });
            }
        });
        let read = history.read();
        assert_eq!(read.len(), 200);
        for writer in 0..4 {
            let own = read.iter().filter(|text| text.starts_with(&writer.to_string()));
            assert!(
                own.eq((0..50).map(|number| format!("{writer} says\n{number}")).collect::<Vec<_>>().iter())
            );
        }
        let mode = fs::metadata(&history.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_file_stays_small_and_keeps_the_newest_prompts() {
        let folder = tempfile::tempdir().unwrap();
        let history = PromptHistory::new(folder.path());
        let long = "x".repeat(4000);
        for number in 0..400 {
            history.add(&format!("{number} {long}")).unwrap();
            assert!(fs::metadata(&history.path).unwrap().len() <= MAX_BYTES);
        }
        assert!(history.read().last().unwrap().starts_with("399 "));
        assert!(history.read().len() > 50);
        history.add(&"y".repeat(MAX_TEXT + 1)).unwrap();
        assert!(history.read().last().unwrap().starts_with("399 "), "too long for the history");
        fs::write(&history.path, "{\"text\":\"a\"}\nnonsense\n{\"text\":1}\n{\"text\":\"b\"}\n{\"te")
            .unwrap();
        assert_eq!(history.read(), ["a", "b"]);
    }

    #[test]
    fn pipes_devices_and_huge_files_do_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let history = PromptHistory::new(folder.path());
        rustix::fs::mkfifoat(rustix::fs::CWD, &history.path, rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(history.read(), [""; 0]);
        assert!(history.add("a").is_err());
        fs::remove_file(&history.path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &history.path).unwrap();
        assert_eq!(history.read(), [""; 0]);
        fs::remove_file(&history.path).unwrap();
        File::create(&history.path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(history.read(), [""; 0]);
        history.add("lost").unwrap();
        history.add("b").unwrap();
        assert_eq!(history.read(), ["b"]);
    }
}
