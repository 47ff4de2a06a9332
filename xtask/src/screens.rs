//! Updates the terminal screens in the docs from the real program. A page marks a screen with a comment,
//! `<!-- screen: tree -->`; the code block after it is replaced.

mod web;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::args::Args;
use crate::osier::Osier;
use crate::pty::Pty;
use crate::workspace;

const PAGES: [&str; 3] = ["README.md", "README.zh.md", "docs/terminal.md"];
const MARK: &str = "<!-- screen: ";

/// The number of id digits on the screen, and the fixed ids that the pages show for the demo session and for
/// any other.
const ID_DIGITS: usize = 8;
const DEMO_ID: &str = "4f89da11";
const OTHER_ID: &str = "7c41d9e2";
const FIXED_TIME: &str = "2026-01-31 09:26";

/// Capture the screen after this time; animations may still be running.
const SETTLE_TIME: Duration = Duration::from_millis(800);

pub(crate) fn run(mut args: Args) -> Result<()> {
    let given = args.value("--osier")?;
    let is_web = args.flag("--web");
    args.finish()?;
    if is_web {
        return web::run(given.as_deref());
    }
    let folder = tempfile::tempdir()?;
    let demo_home = DemoHome::build(given.as_deref(), folder.path())?;
    for page in PAGES {
        let file = workspace::root()?.join(page);
        let text = std::fs::read_to_string(&file)?;
        std::fs::write(&file, update_page(&text, &mut |name| demo_home.capture(name)).context(page)?)?;
    }
    Ok(())
}

/// A home folder and a project that look the same every time.
struct DemoHome {
    osier: Osier,
    home: PathBuf,
    project: PathBuf,
    /// The first digits of the demo session's id.
    demo: String,
}

impl DemoHome {
    fn build(given: Option<&str>, folder: &Path) -> Result<Self> {
        let home = folder.canonicalize()?;
        let project = home.join("project");
        std::fs::create_dir_all(project.join(".git"))?;
        std::fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        std::fs::write(project.join("notes.txt"), "buy milk\ncall the bank\n")?;
        let osier = Osier::new(given, home.join(".osier"))?;
        let mut demo_home = Self { osier, home, project, demo: String::new() };
        let made = demo_home.command().args(["demo", "--quiet"]).output()?;
        demo_home.demo = String::from_utf8(made.stdout)?.trim().chars().take(ID_DIGITS).collect();
        Ok(demo_home)
    }

    fn command(&self) -> Command {
        let mut command = self.osier.command();
        command.env("HOME", &self.home).env_remove("TMUX").current_dir(&self.project);
        command
    }

    /// Starts the program, presses keys, and captures the screen.
    fn capture(&self, name: &str) -> Result<String> {
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
        while seen.elapsed() < SETTLE_TIME {
            pty.read(SETTLE_TIME.saturating_sub(seen.elapsed()))?;
        }
        Ok(self.with_fixed_ids(&trim_screen(&pty.text())))
    }

    /// Replaces ids with fixed ones. An id is a word of eight hexadecimal digits.
    fn with_fixed_ids(&self, screen: &str) -> String {
        let is_id = |word: &&str| word.len() == ID_DIGITS && word.chars().all(|ch| ch.is_ascii_hexdigit());
        let others: Vec<&str> = screen
            .split_whitespace()
            .filter(is_id)
            .filter(|word| *word != self.demo && !word.starts_with("0000"))
            .collect();
        let screen = others.iter().fold(screen.to_owned(), |screen, id| screen.replace(id, OTHER_ID));
        with_fixed_times(&screen.replace(&self.demo, DEMO_ID))
    }
}

/// Replaces every time stamp with the same one.
fn with_fixed_times(screen: &str) -> String {
    let is_moment = |text: &str| {
        text.chars().zip(FIXED_TIME.chars()).all(|(ch, like)| match like.is_ascii_digit() {
            true => ch.is_ascii_digit(),
            false => ch == like,
        })
    };
    let mut screen = screen.to_owned();
    for at in 0..screen.len().saturating_sub(FIXED_TIME.len()) {
        if screen.get(at..at + FIXED_TIME.len()).is_some_and(is_moment) {
            screen.replace_range(at..at + FIXED_TIME.len(), FIXED_TIME);
        }
    }
    screen
}

/// Removes trailing blanks, and empty lines at the top and bottom.
fn trim_screen(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let is_text = |line: &&str| !line.is_empty();
    let first = lines.iter().position(is_text).unwrap_or(0);
    let last = lines.iter().rposition(is_text).map_or(0, |at| at + 1);
    lines[first..last.max(first)].iter().map(|line| format!("{line}\n")).collect()
}

/// The page with the marked blocks replaced.
fn update_page(page: &str, draw: &mut dyn FnMut(&str) -> Result<String>) -> Result<String> {
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
        let drawn = update_page(page, &mut |name| Ok(format!("new {name}\n"))).unwrap();
        assert_eq!(drawn, "# A\n<!-- screen: tree -->\n```text\nnew tree\n```\nend\n```text\nkept\n```\n");
        assert!(update_page("<!-- screen: tree -->\ntext\n", &mut |_| Ok(String::new())).is_err());
    }

    #[test]
    fn time_stamps_are_replaced() {
        assert_eq!(with_fixed_times("─ 2025-12-24 18:00 a"), "─ 2026-01-31 09:26 a");
        assert_eq!(with_fixed_times("2025-12-24 at six"), "2025-12-24 at six");
    }

    #[test]
    fn empty_lines_around_a_screen_are_removed() {
        assert_eq!(trim_screen("\n\n  a  \n\nb\n\n"), "  a\n\nb\n");
    }
}
