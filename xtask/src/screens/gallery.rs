//! Every screen as a PNG in `target/screens`, in three sizes, both built-in themes, and with 256 and 16 colors. The pictures of
//! the README, in true color, go to `docs/images`.

use std::path::Path;

use anyhow::{Result, ensure};

use super::demo_home::{DemoHome, TRUE_COLOR, TerminalKind};
use super::picture::{self, DARK, Fonts, LIGHT};
use super::scenes::{self, Scene};
use crate::pty::Pty;
use crate::workspace;

const SIZES: [(u16, u16); 3] = [(120, 40), (80, 24), (40, 12)];
const COLORS: [u16; 2] = [256, 16];

/// The session that a screen shows.
#[derive(Clone, Copy)]
enum ShownSession {
    New,
    List,
    Demo,
    Showcase,
    Scene(Scene),
}

/// A screen: its name, its session, and the keys that lead to it, each with a text that appears then.
type ScreenSteps = (&'static str, ShownSession, &'static [(&'static str, &'static str)]);

const SCREENS: &[ScreenSteps] = &[
    ("welcome", ShownSession::New, &[("", "type a message")]),
    ("conversation", ShownSession::Scene(scenes::CONVERSATION), &[("", "unicode_words")]),
    ("markdown", ShownSession::Showcase, &[]),
    ("diff", ShownSession::Scene(scenes::DIFF), &[("", "Done:")]),
    ("thinking", ShownSession::Scene(scenes::THINKING), &[("", "no spaces to split")]),
    ("error", ShownSession::Scene(scenes::ERROR), &[("", "overloaded")]),
    ("todo", ShownSession::Scene(scenes::TODO), &[("", "1/3 done")]),
    ("compaction", ShownSession::Scene(scenes::COMPACTION), &[("", "compaction of 152k")]),
    ("backtrack", ShownSession::Scene(scenes::BACKTRACK), &[("", "Note from future")]),
    ("running", ShownSession::New, &[("/approval yolo\r", "yolo"), ("run `sleep 20`\r", "esc to stop")]),
    ("command", ShownSession::New, &[("!ls -a\r", "exit 0")]),
    ("approval-edit", ShownSession::New, &[("replace \"milk\" with \"bread\" in notes.txt\r", "Allow ")]),
    ("approval", ShownSession::New, &[("write list.txt with \"buy bread\"\r", "Allow ")]),
    ("approval-command", ShownSession::New, &[("run `cargo test --workspace`\r", "Allow ")]),
    (
        "tasks",
        ShownSession::New,
        &[
            ("/approval yolo\r", "yolo"),
            ("delegate list .; find *.md; run `sleep 20`; search for willow\r", "3 of 4 tasks done"),
        ],
    ),
    ("tasks-done", ShownSession::New, &[("delegate list .; find *.md\r", "answers.)")]),
    (
        "task-picker",
        ShownSession::New,
        // The card may scroll away; the answer ends with this word.
        &[("delegate list .; find *.md\r", "answers.)"), ("\x1ba", "Open a task")],
    ),
    (
        "explore",
        ShownSession::New,
        &[("/approval yolo\r", "yolo"), ("/explore 2 list .\r", "/explore keep 1")],
    ),
    ("completion", ShownSession::Demo, &[("/co", "/compact")]),
    ("files", ShownSession::New, &[("read @no", "notes.txt")]),
    ("tree", ShownSession::Showcase, &[("/tree\r", "← active")]),
    ("tree-search", ShownSession::Showcase, &[("/tree\r", "← active"), ("word", "/ word")]),
    ("label", ShownSession::Showcase, &[("/tree\r", "← active"), ("L", "save label")]),
    ("pager", ShownSession::Showcase, &[("/tree\r", "← active"), ("\x1bv", "esc close")]),
    ("summary", ShownSession::Demo, &[("/tree\r", "← active"), ("\x1b[A\x1b[A\x1b[A\r", "Summarize")]),
    ("compare", ShownSession::Demo, &[("/compare 0000000a 0000000d\r", "compar")]),
    ("sessions", ShownSession::List, &[("", "A JSON flag")]),
    ("sessions-search", ShownSession::List, &[("", "A JSON flag"), ("cursor", "/ cursor")]),
    ("rename", ShownSession::List, &[("", "A JSON flag"), ("\x12", "Session name")]),
    ("delete", ShownSession::List, &[("", "A JSON flag"), ("\x04", "permanently?")]),
    ("fork", ShownSession::Showcase, &[("/fork\r", "Fork before")]),
    ("settings", ShownSession::New, &[("/settings\r", "Settings")]),
    ("tour", ShownSession::New, &[("/tour\r", "1/5")]),
    ("help", ShownSession::New, &[("/help\r", "Help")]),
    ("model", ShownSession::New, &[("/model\r", "offline")]),
    ("history", ShownSession::Demo, &[("\x12", "/ ")]),
    ("agents", ShownSession::New, &[("/agents\r", "Agents")]),
    ("session", ShownSession::Showcase, &[("/session\r", "current path")]),
    ("cost", ShownSession::Showcase, &[("/cost\r", "(current)")]),
];

/// The pictures of the README: a screen, a size and a theme.
const README: [(&str, (u16, u16), &str); 3] =
    [("conversation", (100, 34), "dark"), ("diff", (120, 30), "dark"), ("tree", (100, 30), "dark")];

pub(super) fn draw(demo_home: &DemoHome, only: Option<&str>) -> Result<()> {
    let fonts = Fonts::load()?;
    let root = workspace::root()?;
    let folder = root.join("target/screens");
    std::fs::create_dir_all(&folder)?;
    for screen in SCREENS.iter().filter(|(name, ..)| only.is_none_or(|only| only == *name)) {
        for size in SIZES {
            for theme in ["dark", "light"] {
                for colors in COLORS {
                    let file =
                        folder.join(format!("{}-{}x{}-{theme}-{colors}.png", screen.0, size.0, size.1));
                    let terminal = TerminalKind::Colored { theme, colors };
                    draw_screen(demo_home, &fonts, screen, size, &terminal, &file)?;
                }
            }
        }
    }
    for (name, size, theme) in README.iter().filter(|(name, ..)| only.is_none_or(|only| only == *name)) {
        let Some(screen) = SCREENS.iter().find(|(known, ..)| known == name) else { continue };
        let file = root.join(format!("docs/images/terminal-{name}.png"));
        draw_screen(
            demo_home,
            &fonts,
            screen,
            *size,
            &TerminalKind::Colored { theme, colors: TRUE_COLOR },
            &file,
        )?;
    }
    println!("the pictures are in {}", folder.display());
    Ok(())
}

/// Runs the steps of every screen without drawing it, so that a step that no longer works is noticed.
pub(super) fn check(demo_home: &DemoHome, only: Option<&str>) -> Result<()> {
    let mut problems = Vec::new();
    for screen in SCREENS.iter().filter(|(name, ..)| only.is_none_or(|only| only == *name)) {
        if let Err(error) = run_screen(demo_home, screen, (80, 24), &TerminalKind::Plain, DemoHome::run_steps)
        {
            problems.push(format!("{error:#}"));
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n\n"));
    Ok(())
}

fn draw_screen(
    demo_home: &DemoHome,
    fonts: &Fonts,
    screen: &ScreenSteps,
    size: (u16, u16),
    terminal: &TerminalKind,
    file: &Path,
) -> Result<()> {
    let pty = run_screen(demo_home, screen, size, terminal, DemoHome::capture)?;
    let palette = match terminal {
        TerminalKind::Colored { theme: "light", .. } => LIGHT,
        _ => DARK,
    };
    let fixed = FixedCells::new(demo_home, pty.screen());
    picture::write(&fonts.draw(pty.screen(), &palette, &|row, column| fixed.content(row, column)), file)
}

/// How the steps of a screen are run.
type RunSteps = fn(&DemoHome, &[&str], (u16, u16), &TerminalKind, &[(&str, &str)]) -> Result<Pty>;

fn run_screen(
    demo_home: &DemoHome,
    (name, session, steps): &ScreenSteps,
    size: (u16, u16),
    terminal: &TerminalKind,
    run_steps: RunSteps,
) -> Result<Pty> {
    let scene = match session {
        ShownSession::Scene(scene) => demo_home.scene_file(scene)?,
        _ => String::new(),
    };
    let args: Vec<&str> = match session {
        ShownSession::New => Vec::new(),
        ShownSession::List => vec!["--resume"],
        ShownSession::Demo => vec!["--resume", &demo_home.demo],
        ShownSession::Showcase => vec!["--session", &demo_home.showcase],
        ShownSession::Scene(_) => vec!["--session", &scene],
    };
    run_steps(demo_home, &args, size, terminal, steps)
        .map_err(|error| error.context(format!("screen {name}, {}x{}", size.0, size.1)))
}

/// The characters of a screen whose ids and times are replaced, by row and column.
struct FixedCells {
    rows: Vec<Vec<String>>,
}

impl FixedCells {
    fn new(demo_home: &DemoHome, screen: &vt100::Screen) -> FixedCells {
        let (rows, columns) = screen.size();
        let fixed = demo_home.fixed_rows(screen);
        let rows = (0..rows).zip(fixed).map(|(row, text)| {
            let cell = |column: u16| screen.cell(row, column).map(|cell| cell.contents().to_owned());
            let cells: Vec<String> = (0..columns).map(|column| cell(column).unwrap_or_default()).collect();
            let was: String = screen.rows(0, columns).nth(row.into()).unwrap_or_default();
            // Only rows of narrow characters contain ids and times.
            match was == text || was.chars().count() != text.chars().count() {
                true => cells,
                false => replace_changed(cells, &was, &text),
            }
        });
        FixedCells { rows: rows.collect() }
    }

    fn content(&self, row: u16, column: u16) -> Option<String> {
        self.rows.get(usize::from(row))?.get(usize::from(column)).cloned()
    }
}

/// Replaces the characters that differ between two texts of a row.
fn replace_changed(mut cells: Vec<String>, was: &str, text: &str) -> Vec<String> {
    let mut column = 0;
    for (old, new) in was.chars().zip(text.chars()) {
        // Combined characters share a cell; a cell of a wide character is followed by an empty one.
        while cells.get(column).is_some_and(|cell| !cell.contains(old) && old != ' ') {
            column += 1;
        }
        if let Some(cell) = cells.get_mut(column) {
            if old != new {
                *cell = new.to_string();
            }
            column += 1;
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::osier::built_for_tests;

    #[test]
    fn the_steps_of_every_screen_lead_to_it() {
        let binary = built_for_tests().unwrap().display().to_string();
        let folder = tempfile::tempdir().unwrap();
        let demo_home = DemoHome::build(Some(&binary), folder.path()).unwrap();
        check(&demo_home, None).unwrap();
    }
}
