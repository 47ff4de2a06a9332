//! A home folder and a project that look the same every time, and the program in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::scenes::{self, Scene};
use crate::osier::Osier;
use crate::pty::Pty;

/// The number of id digits on the screen, and the fixed ids that the pages show for the demo session and for
/// any other.
const ID_DIGITS: usize = 8;
const DEMO_ID: &str = "4f89da11";
const OTHER_ID: &str = "7c41d9e2";
const FIXED_TIME: &str = "2026-01-31 09:26";
/// The frames of the spinner; the screens show the first one.
const SPINNER: &str = "⣾⣽⣻⢿⡿⣟⣯⣷";

/// Capture the screen after this time; animations may still be running.
const SETTLE_TIME: Duration = Duration::from_millis(1000);
const MAX_SETTLE_TIME: Duration = Duration::from_secs(4);

/// A session with many kinds of content: headings, code, tables, diffs, CJK, emoji and several generations of branches.
const SHOWCASE: &str = include_str!("showcase.jsonl");

/// More colors than anyone counts.
pub(super) const TRUE_COLOR: u16 = u16::MAX;

/// The terminal that the program runs in.
pub(super) enum TerminalKind {
    /// Without colors.
    Plain,
    /// With a theme and this many colors.
    Colored { theme: &'static str, colors: u16 },
}

/// See the module.
pub(super) struct DemoHome {
    osier: Osier,
    home: PathBuf,
    project: PathBuf,
    /// The first line of a session's file.
    header: String,
    /// The first digits of the demo session's id.
    pub(super) demo: String,
    /// The file of the showcase session.
    pub(super) showcase: String,
}

impl DemoHome {
    pub(super) fn build(given: Option<&str>, folder: &Path) -> Result<Self> {
        let home = folder.canonicalize()?;
        let project = home.join("project");
        std::fs::create_dir_all(project.join(".git"))?;
        std::fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        std::fs::write(project.join("notes.txt"), "buy milk\ncall the bank\n")?;
        let header = format!(
            r#"{{"type":"session","version":3,"id":"7c41d9e2-0000-4000-8000-000000000000","timestamp":"2026-01-31T09:20:00.000Z","cwd":"{}"}}"#,
            project.display()
        );
        let showcase = home.join("showcase.jsonl");
        std::fs::write(&showcase, format!("{header}\n{SHOWCASE}"))?;
        let osier = Osier::new(given, home.join(".osier"))?;
        let showcase = showcase.display().to_string();
        let mut demo_home = Self { osier, home, project, header, demo: String::new(), showcase };
        let made = demo_home.command().args(["demo", "--quiet"]).output()?;
        demo_home.demo = String::from_utf8(made.stdout)?.trim().chars().take(ID_DIGITS).collect();
        Ok(demo_home)
    }

    /// Writes the file of a scene, as it is at the beginning. Returns its path.
    pub(super) fn scene_file(&self, scene: Scene) -> Result<String> {
        let file = self.home.join("scene.jsonl");
        std::fs::write(&file, format!("{}\n{}", self.header, scenes::lines(scene)))?;
        Ok(file.display().to_string())
    }

    fn command(&self) -> Command {
        let mut command = self.osier.command();
        command.env("HOME", &self.home).env_remove("TMUX").current_dir(&self.project);
        for name in ["COLORTERM", "COLORFGBG", "TZ"] {
            command.env_remove(name);
        }
        command
    }

    /// Starts the program, presses keys, and waits until the screen is complete.
    pub(super) fn capture(
        &self,
        args: &[&str],
        size: (u16, u16),
        terminal: &TerminalKind,
        steps: &[(&str, &str)],
    ) -> Result<Pty> {
        let mut pty = self.run_steps(args, size, terminal, steps)?;
        // Nothing new for a while, but a spinner never stops.
        let seen = Instant::now();
        while seen.elapsed() < MAX_SETTLE_TIME && pty.read(SETTLE_TIME)? {}
        Ok(pty)
    }

    /// Starts the program and presses keys, each after the text of the one before has appeared.
    pub(super) fn run_steps(
        &self,
        args: &[&str],
        (columns, rows): (u16, u16),
        terminal: &TerminalKind,
        steps: &[(&str, &str)],
    ) -> Result<Pty> {
        let mut command = self.command();
        command.args(args);
        let mut term = "xterm-256color";
        if let TerminalKind::Colored { theme, colors } = terminal {
            command.env_remove("NO_COLOR");
            std::fs::write(self.home.join(".osier/config.toml"), format!("theme = \"{theme}\"\n"))?;
            term = if *colors == 16 { "xterm" } else { term };
            if *colors == TRUE_COLOR {
                command.env("COLORTERM", "truecolor");
            }
        }
        let mut pty = Pty::start_as(command, term, columns, rows)?;
        pty.wait_for("offline")?;
        for (keys, seen) in steps {
            pty.press(keys)?;
            pty.wait_for(seen)?;
        }
        Ok(pty)
    }

    /// The rows of a screen with fixed ids, times and animations. Their cells stay where they are.
    pub(super) fn fixed_rows(&self, screen: &vt100::Screen) -> Vec<String> {
        let (_, columns) = screen.size();
        screen.rows(0, columns).map(|row| self.fixed_row(&row)).collect()
    }

    /// An id is a word of eight hexadecimal digits.
    fn fixed_row(&self, row: &str) -> String {
        let is_id = |word: &&str| word.len() == ID_DIGITS && word.chars().all(|ch| ch.is_ascii_hexdigit());
        let words = || row.split(|ch: char| !ch.is_alphanumeric()).filter(is_id);
        let others: Vec<&str> =
            words().filter(|word| *word != self.demo && !word.starts_with("0000")).collect();
        let row = others.iter().fold(row.to_owned(), |row, id| row.replace(id, OTHER_ID));
        let row = with_fixed_times(&row.replace(&self.demo, DEMO_ID));
        let first = SPINNER.chars().next().unwrap_or_default();
        match row.contains(|ch| SPINNER.contains(ch)) {
            true => with_fixed_seconds(&row.replace(|ch| SPINNER.contains(ch), &first.to_string())),
            false => row,
        }
    }
}

/// Replaces the seconds that work has taken, as in ` · 3 s`.
fn with_fixed_seconds(row: &str) -> String {
    let digit = |at: usize| row[..at].ends_with(|ch: char| ch.is_ascii_digit());
    match row.find(" s ·").filter(|at| digit(*at)) {
        Some(at) => format!("{}0{}", &row[..at - 1], &row[at..]),
        None => row.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_are_replaced() {
        assert_eq!(with_fixed_times("─ 2025-12-24 18:00 a"), "─ 2026-01-31 09:26 a");
        assert_eq!(with_fixed_times("2025-12-24 at six"), "2025-12-24 at six");
    }

    #[test]
    fn seconds_are_replaced() {
        assert_eq!(with_fixed_seconds("⣾ waiting · 3 s · esc"), "⣾ waiting · 0 s · esc");
        assert_eq!(with_fixed_seconds("no time"), "no time");
    }
}
