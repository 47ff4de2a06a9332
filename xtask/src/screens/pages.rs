//! Updates the text screens in the docs. A page marks a screen with a comment, `<!-- screen: tree -->`; the code block after it
//! is replaced.

use anyhow::{Context, Result, bail};

use super::demo_home::{DemoHome, TerminalKind};
use crate::workspace;

const PAGES: [&str; 3] = ["README.md", "README.zh.md", "docs/terminal.md"];
const MARK: &str = "<!-- screen: ";

pub(super) fn update_pages(demo_home: &DemoHome) -> Result<()> {
    for page in PAGES {
        let file = workspace::root()?.join(page);
        let text = std::fs::read_to_string(&file)?;
        std::fs::write(&file, update_page(&text, &mut |name| capture(demo_home, name)).context(page)?)?;
    }
    Ok(())
}

/// The text of a screen.
fn capture(demo_home: &DemoHome, name: &str) -> Result<String> {
    let demo = demo_home.demo.as_str();
    let (args, rows, steps): (&[&str], u16, &[(&str, &str)]) = match name {
        "welcome" => (&[], 10, &[("", "type a message")]),
        "conversation" => (&[], 24, &[("read notes.txt\r", "returned 2 lines"), ("", "#4")]),
        "approval" => (&[], 20, &[("write list.txt with \"buy bread\"\r", "Allow ")]),
        "tree" => (&["--resume", demo], 38, &[("", "#7"), ("/tree\r", "← active")]),
        "summary" => (
            &["--resume", demo],
            30,
            &[("", "#7"), ("/tree\r", "← active"), ("\x1b[A\x1b[A\x1b[A\r", "Summarize the branch")],
        ),
        "sessions" => (&["--resume"], 14, &[("", "A JSON flag")]),
        other => bail!("unknown screen {other}"),
    };
    let pty = demo_home.capture(args, (90, rows), &TerminalKind::Plain, steps)?;
    Ok(trim_screen(&demo_home.fixed_rows(pty.screen()).join("\n")))
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
    fn empty_lines_around_a_screen_are_removed() {
        assert_eq!(trim_screen("\n\n  a  \n\nb\n\n"), "  a\n\nb\n");
    }
}
