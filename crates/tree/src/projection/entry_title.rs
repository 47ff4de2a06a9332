//! One-line titles for special entries: backtracks, compactions and branch summaries.

use osier_tree::EntryKind;
use osier_tree::entry::Entry;
use osier_tree::projection::preview::full_text;
use osier_tree::projection::usage::format_tokens;
use serde_json::Value;

use crate::layout::{pluralize, sanitize_line};

/// The title of an entry, if it has one, without control characters.
pub(crate) fn title(entry: &Entry<'_>) -> Option<String> {
    let is_one =
        matches!(entry.kind, EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Backtrack);
    let value: Value = serde_json::from_slice(entry.line).ok().filter(|_| is_one)?;
    Some(match entry.kind {
        EntryKind::Backtrack => backtrack_title(&value["details"]),
        EntryKind::Compaction => {
            let kept = sanitize_line(value["firstKeptEntryId"].as_str().unwrap_or("nothing"));
            let tokens =
                value["tokensBefore"].as_u64().map(|tokens| format!(": {} tokens", format_tokens(tokens)));
            format!("compacted{}, kept from {kept}", tokens.unwrap_or_default())
        }
        _ => {
            let from = sanitize_line(value["fromId"].as_str().unwrap_or("?"));
            match full_text(entry).starts_with("Grafted from ") {
                true => format!("grafted from the branch that ends in {from}"),
                false => format!("summary of the branch left at {from}"),
            }
        }
    })
}

fn backtrack_title(details: &Value) -> String {
    let number = details["checkpointId"].as_u64().map_or_else(|| "?".to_owned(), |number| number.to_string());
    let left = details["discarded"].as_u64().unwrap_or(0) as usize;
    let left = if left > 0 {
        format!(", {} left behind", pluralize(left, "message", "messages"))
    } else {
        String::new()
    };
    format!("backtracked to checkpoint {number}{left}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_testkit::{Expect, ScriptedSession, expect};
    use osier_tree::entry::parse_entry;

    fn check(script: &str, expect: Expect) {
        let file = ScriptedSession::run(script).file();
        let last = file.trim_ascii_end().split(|byte| *byte == b'\n').next_back().unwrap();
        expect.assert_eq(&title(&parse_entry(last).unwrap()).unwrap_or_else(|| "none".to_owned()));
    }

    #[test]
    fn special_entries_have_a_title() {
        check(
            "say fix it; reply b; say c; reply d; return 0 the cause is elsewhere",
            expect!["backtracked to checkpoint 0, 3 messages left behind"],
        );
        check(
            "say a; reply b; say c; compact keep c \"so far\"",
            expect!["compacted: 12k tokens, kept from 00000003"],
        );
        check(
            "say a; reply b; move a; summarize it failed",
            expect!["summary of the branch left at 00000001"],
        );
        check("say a; reply b", expect!["none"]);
    }
}
