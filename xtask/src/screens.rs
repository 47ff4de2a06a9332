//! Updates the terminal screens in the docs from the real program. A page marks a screen with a comment,
//! `<!-- screen: tree -->`; the code block after it is replaced.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::osier::Osier;
use crate::place;
use crate::pty::Pty;

const PAGES: [&str; 3] = ["README.md", "README.zh.md", "docs/terminal.md"];
const MARK: &str = "<!-- screen: ";

/// The number of id digits on the screen, and the fixed ids that the pages show for the demo session and for
/// any other.
const DIGITS: usize = 8;
const DEMO: &str = "4f89da11";
const OTHER: &str = "7c41d9e2";
const MOMENT: &str = "2026-01-31 09:26";

/// Capture the screen after this time; animations may still be running.
const COMPLETE: Duration = Duration::from_millis(800);

pub(crate) fn run(mut args: Args) -> Result<()> {
    let given = args.value("--osier")?;
    args.finish()?;
    let folder = tempfile::tempdir()?;
    let demo_home = Stage::build(given.as_deref(), folder.path())?;
    for page in PAGES {
        let file = place::root()?.join(page);
        let text = std::fs::read_to_string(&file)?;
        std::fs::write(&file, redrawn(&text, &mut |name| demo_home.screen(name)).context(page)?)?;
    }
    Ok(())
}

/// A home folder and a project that look the same every time.
struct Stage {
    osier: Osier,
    home: PathBuf,
    project: PathBuf,
    /// The first digits of the demo session's id.
    demo: String,
}

impl Stage {
    fn build(given: Option<&str>, folder: &Path) -> Result<Self> {
        let home = folder.canonicalize()?;
        let project = home.join("project");
        std::fs::create_dir_all(project.join(".git"))?;
        std::fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        std::fs::write(project.join("notes.txt"), "buy milk\ncall the bank\n")?;
        let osier = Osier::new(given, home.join(".osier"))?;
        let mut demo_home = Self { osier, home, project, demo: String::new() };
        let made = demo_home.command().args(["demo", "--quiet"]).output()?;
        demo_home.demo = String::from_utf8(made.stdout)?.trim().chars().take(DIGITS).collect();
        Ok(demo_home)
    }

    fn command(&self) -> Command {
        let mut command = self.osier.command();
        command.env("HOME", &self.home).env_remove("TMUX").current_dir(&self.project);
        command
    }

    /// Starts the program, presses keys, and captures the screen.
    fn screen(&self, name: &str) -> Result<String> {
        let (args, rows, steps): (&[&str], u16, &[(&str, &str)]) = match name {
            "welcome" => (&[], 10, &[("", "type a message")]),
            "conversation" => (&[], 24, &[("read notes.txt\r", "returned 2 lines"), ("", "#4")]),
            "approval" => (&[], 20, &[("write list.txt with \"buy bread\"\r", "Allow ")]),
            "tree" => (&["--resume", &self.demo], 38, &[("", "#7"), ("/tree\r", "← active")]),
            "summary" => (
                &["--resume", &self.demo],
                30,
                &[("", "#7"), ("/tree\r", "← active"), ("\x1b[A\x1b[A\x1b[A\r", "Summarize the branch")],
            ),
            "sessions" => (&["--resume"], 14, &[("", "A JSON flag")]),
            other => bail!("unknown screen {other}"),
        };
        let mut command = self.command();
        command.args(args);
        let mut pty = Pty::start(command, 90, rows)?;
        pty.wait_for("│ ")?;
        for (keys, seen) in steps {
            pty.press(keys)?;
            pty.wait_for(seen)?;
        }
        let seen = Instant::now();
        while seen.elapsed() < COMPLETE {
            pty.read(COMPLETE.saturating_sub(seen.elapsed()))?;
        }
        Ok(self.named(&tidied(&pty.text())))
    }

    /// Replaces ids with fixed ones. An id is a word of eight hexadecimal digits.
    fn named(&self, screen: &str) -> String {
        let is_id = |word: &&str| word.len() == DIGITS && word.chars().all(|ch| ch.is_ascii_hexdigit());
        let others: Vec<&str> = screen
            .split_whitespace()
            .filter(is_id)
            .filter(|word| *word != self.demo && !word.starts_with("0000"))
            .collect();
        let screen = others.iter().fold(screen.to_owned(), |screen, id| screen.replace(id, OTHER));
        on_one_day(&screen.replace(&self.demo, DEMO))
    }
}

/// Replaces every time stamp with the same one.
fn on_one_day(screen: &str) -> String {
    let is_moment = |text: &str| {
        text.chars().zip(MOMENT.chars()).all(|(ch, like)| match like.is_ascii_digit() {
            true => ch.is_ascii_digit(),
            false => ch == like,
        })
    };
    let mut screen = screen.to_owned();
    for at in 0..screen.len().saturating_sub(MOMENT.len()) {
        if screen.get(at..at + MOMENT.len()).is_some_and(is_moment) {
            screen.replace_range(at..at + MOMENT.len(), MOMENT);
        }
    }
    screen
}

/// Removes trailing blanks, and empty lines at the top and bottom.
fn tidied(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let is_text = |line: &&str| !line.is_empty();
    let first = lines.iter().position(is_text).unwrap_or(0);
    let last = lines.iter().rposition(is_text).map_or(0, |at| at + 1);
    lines[first..last.max(first)].iter().map(|line| format!("{line}\n")).collect()
}

/// The page with the marked blocks replaced.
fn redrawn(page: &str, draw: &mut dyn FnMut(&str) -> Result<String>) -> Result<String> {
    let mut drawn = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        drawn += &format!("{line}\n");
        let Some(name) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let opening = lines.next().filter(|line| *line == "```text");
        opening.with_context(|| format!("no ```text block after the mark of screen {name}"))?;
        drawn += &format!("```text\n{}```\n", draw(name)?);
        lines
            .find(|line| *line == "```")
            .with_context(|| format!("the block of screen {name} is not closed"))?;
    }
    Ok(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_after_a_mark_are_replaced() {
        let page = "# A\n<!-- screen: tree -->\n```text\nold\nlines\n```\nend\n```text\nkept\n```\n";
        let drawn = redrawn(page, &mut |name| Ok(format!("new {name}\n"))).unwrap();
        assert_eq!(drawn, "# A\n<!-- screen: tree -->\n```text\nnew tree\n```\nend\n```text\nkept\n```\n");
        assert!(redrawn("<!-- screen: tree -->\ntext\n", &mut |_| Ok(String::new())).is_err());
    }

    #[test]
    fn time_stamps_are_replaced() {
        assert_eq!(on_one_day("─ 2025-12-24 18:00 a"), "─ 2026-01-31 09:26 a");
        assert_eq!(on_one_day("2025-12-24 at six"), "2025-12-24 at six");
    }

    #[test]
    fn empty_lines_around_a_screen_are_removed() {
        assert_eq!(tidied("\n\n  a  \n\nb\n\n"), "  a\n\nb\n");
    }
}
