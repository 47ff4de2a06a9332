//! One-line titles for special entries: backtracks, compactions and branch summaries.

use serde_json::Value;

use super::preview::{full_text, sanitize_line};
use super::usage::format_tokens;
use crate::entry::{Entry, EntryKind};

/// The title of an entry, if it has one, without control characters.
pub fn title(entry: &Entry<'_>) -> Option<String> {
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
    let left = details["discarded"].as_u64().unwrap_or(0);
    let left = if left > 0 {
        format!(", {left} {} left behind", if left == 1 { "message" } else { "messages" })
    } else {
        String::new()
    };
    format!("backtracked to checkpoint {number}{left}")
}
