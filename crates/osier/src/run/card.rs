//! What stands out in a conversation: a return of the model, a compaction, the summary of another branch. A title, and a few
//! lines that tell the most.

use osier_tree::Kind;
use osier_tree::entry::Entry;
use osier_tree::projection::preview::{full_text, one_line};
use osier_tree::projection::usage::format_tokens;
use osier_tree::summary::without_files;
use serde_json::Value;

use crate::layout::{count, plain};

/// How many lines of a summary are shown, and how much of each.
const LINES: usize = 4;
const LINE: usize = 160;

/// How much is shown of what the user had said, and of the model's note.
const RETURNED_TO: usize = 200;
const NOTE: usize = 300;

/// See the module. All of it is inert.
#[derive(Debug, PartialEq)]
pub(crate) struct Card {
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
}

impl Card {
    /// As text, a line each.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().fold(format!("══ {} ══", self.title), |text, line| text + "\n   " + line)
    }
}

/// The card of an entry, if it has one.
pub(crate) fn of(entry: &Entry<'_>) -> Option<Card> {
    let is_one = matches!(entry.kind, Kind::Compaction | Kind::BranchSummary | Kind::Backtrack);
    let value: Value = serde_json::from_slice(entry.line).ok().filter(|_| is_one)?;
    Some(match entry.kind {
        Kind::Backtrack => returned(&value["details"]),
        Kind::Compaction => {
            let kept = plain(value["firstKeptEntryId"].as_str().unwrap_or("nothing"));
            let tokens =
                value["tokensBefore"].as_u64().map(|tokens| format!(": {} tokens", format_tokens(tokens)));
            let title = format!("compacted{}, kept from {kept}", tokens.unwrap_or_default());
            Card { title, lines: summed(&full_text(entry)) }
        }
        _ => {
            let (from, text) = (plain(value["fromId"].as_str().unwrap_or("?")), full_text(entry));
            let title = match text.starts_with("Grafted from ") {
                true => format!("grafted from the branch that ends in {from}"),
                false => format!("summary of the branch left at {from}"),
            };
            Card { title, lines: summed(&text) }
        }
    })
}

fn returned(details: &Value) -> Card {
    let number = details["checkpointId"].as_u64().map_or_else(|| "?".to_owned(), |number| number.to_string());
    let left = details["discarded"].as_u64().unwrap_or(0) as usize;
    let left = if left > 0 {
        format!(", {} left behind", count(left, "message", "messages"))
    } else {
        String::new()
    };
    let line = |title: &str, key: &str, most: usize| {
        let text = one_line(details[key].as_str().unwrap_or_default(), most);
        (!text.is_empty()).then(|| format!("{title} {text}"))
    };
    let lines = [line("returned to:", "originalUserMessage", RETURNED_TO), line("note:", "note", NOTE)];
    Card {
        title: format!("backtracked to checkpoint {number}{left}"),
        lines: lines.into_iter().flatten().collect(),
    }
}

/// The first lines of a summary. A first paragraph that ends in a colon only announces the rest.
fn summed(text: &str) -> Vec<String> {
    let text = without_files(text);
    let announced = text.split_once("\n\n").filter(|(first, _)| first.trim_end().ends_with(':'));
    let text = announced.map_or(text, |(_, rest)| rest);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut shown: Vec<String> = lines.iter().take(LINES).map(|line| one_line(line, LINE)).collect();
    if lines.len() > LINES {
        shown.push("…".to_owned());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_testkit::{Expect, Script, expect};
    use osier_tree::entry::read_entry;

    fn check(script: &str, expect: Expect) {
        let file = Script::run(script).file();
        let last = file.trim_ascii_end().split(|byte| *byte == b'\n').next_back().unwrap();
        let card = of(&read_entry(last).unwrap());
        expect.assert_eq(&card.map_or_else(|| "none".to_owned(), |card| card.text()));
    }

    #[test]
    fn a_return_shows_where_to_and_the_note() {
        check(
            "say fix it; reply b; say c; reply d; return 0 the cause is elsewhere",
            expect![[r#"
            ══ backtracked to checkpoint 0, 3 messages left behind ══
               returned to: fix it
               note: the cause is elsewhere"#]],
        );
    }

    #[test]
    fn a_summary_shows_its_first_lines() {
        check(
            "say a; reply b; say c; compact keep c \"so far\"",
            expect![[r#"
            ══ compacted: 12k tokens, kept from 00000003 ══
               so far"#]],
        );
        check(
            "say a; reply b; move a; summarize it failed",
            expect![[r#"
            ══ summary of the branch left at 00000001 ══
               it failed"#]],
        );
        check("say a; reply b", expect!["none"]);
    }

    #[test]
    fn what_only_announces_the_rest_is_left_out() {
        let text = "The user left.\nSummary:\n\n## Goal\none\n\n## Next\n1. two\n3\n4\n\n<read-files>\na\n</read-files>";
        assert_eq!(summed(text), ["## Goal", "one", "## Next", "1. two", "…"]);
        assert_eq!(summed("\u{1b}[2Jx"), ["\u{fffd}[2Jx"]);
    }
}
