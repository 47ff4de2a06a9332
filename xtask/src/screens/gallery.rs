//! Every screen as a PNG in `target/screens`, in three sizes, both built-in themes, and with 256 and 16 colors. The pictures of
//! the README, in true color, go to `docs/images`.

use std::path::Path;

use anyhow::Result;

use super::demo_home::{DemoHome, TRUE_COLOR, TerminalKind};
use super::picture::{self, DARK, Fonts, LIGHT};
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
    Changes,
}

/// A screen: its name, its session, and the keys that lead to it, each with a text that appears then.
type ScreenSteps = (&'static str, ShownSession, &'static [(&'static str, &'static str)]);

const SCREENS: &[ScreenSteps] = &[
    ("welcome", ShownSession::New, &[("", "type a message")]),
    ("conversation", ShownSession::Showcase, &[]),
    ("diff", ShownSession::Changes, &[("", "+5")]),
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
    ("tree", ShownSession::Showcase, &[("/tree\r", "← active")]),
    ("tree-search", ShownSession::Showcase, &[("/tree\r", "← active"), ("word", "/ word")]),
    ("summary", ShownSession::Demo, &[("/tree\r", "← active"), ("\x1b[A\x1b[A\x1b[A\r", "Summarize")]),
    ("compare", ShownSession::Demo, &[("/compare 0000000a 0000000d\r", "compar")]),
    ("sessions", ShownSession::List, &[("", "A JSON flag")]),
    ("sessions-search", ShownSession::List, &[("", "A JSON flag"), ("cursor", "/ cursor")]),
    ("fork", ShownSession::Showcase, &[("/fork\r", "Fork before")]),
    ("settings", ShownSession::New, &[("/settings\r", "Settings")]),
    ("tour", ShownSession::New, &[("/tour\r", "1/5")]),
    ("help", ShownSession::New, &[("/help\r", "Help")]),
    ("model", ShownSession::New, &[("/model\r", "offline")]),
    ("history", ShownSession::Demo, &[("\x12", "/ ")]),
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

fn draw_screen(
    demo_home: &DemoHome,
    fonts: &Fonts,
    (name, session, steps): &ScreenSteps,
    size: (u16, u16),
    terminal: &TerminalKind,
    file: &Path,
) -> Result<()> {
    let args: Vec<&str> = match session {
        ShownSession::New => Vec::new(),
        ShownSession::List => vec!["--resume"],
        ShownSession::Demo => vec!["--resume", &demo_home.demo],
        ShownSession::Showcase => vec!["--session", &demo_home.showcase],
        ShownSession::Changes => vec!["--session", &demo_home.changes],
    };
    let pty = demo_home
        .capture(&args, size, terminal, steps)
        .map_err(|error| error.context(format!("screen {name}, {}x{}", size.0, size.1)))?;
    let palette = match terminal {
        TerminalKind::Colored { theme: "light", .. } => LIGHT,
        _ => DARK,
    };
    let fixed = FixedCells::new(demo_home, pty.screen());
    picture::write(&fonts.draw(pty.screen(), &palette, &|row, column| fixed.content(row, column)), file)
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
