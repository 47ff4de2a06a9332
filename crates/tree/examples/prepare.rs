//! Shows what Osier would summarize in session files. Used by `cargo xtask conformance` and for debugging. Reads
//! `{files: [{file, cases}], limits}` as JSON from stdin, and writes the results to stdout.
#![allow(clippy::unwrap_used, reason = "a debugging example may panic on invalid input")]

use std::io::{Read, Write};

use osier_tree::compaction_cut::ContextLimits;
use osier_tree::entry::parse_entry;
use osier_tree::projection::Lines;
use osier_tree::scan::RawJson;
use osier_tree::serialize::serialize_message;
use osier_tree::tokens::estimate_tokens;
use osier_tree::walk::ContextItem;
use osier_tree::{Place, Seq, SessionTree};
use serde_json::{Value, json};

/// A folded log with its lines.
struct FoldedLog {
    tree: SessionTree,
    lines: Vec<Vec<u8>>,
}

fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).unwrap();
    let input: Value = serde_json::from_str(&input).unwrap();
    let files = input["files"].as_array().into_iter().flatten().map(|request| {
        let log = FoldedLog::read(request["file"].as_str().unwrap());
        request["cases"].as_array().unwrap().iter().map(|case| log.result(case)).collect::<Vec<_>>()
    });
    let files: Vec<_> = files.collect();
    let limits: Vec<bool> = input["limits"].as_array().into_iter().flatten().map(is_full).collect();
    let output = serde_json::to_vec(&json!({ "files": files, "limits": limits })).unwrap();
    std::io::stdout().write_all(&output).unwrap();
}

fn is_full(case: &Value) -> bool {
    let number = |key: &str| case[key].as_u64().unwrap();
    let limits =
        ContextLimits { reserve: Some(number("reserve")), ..ContextLimits::new(number("window"), None) };
    limits.should_compact(number("tokens"))
}

impl FoldedLog {
    fn read(file: &str) -> FoldedLog {
        let bytes = std::fs::read(file).unwrap();
        let lines: Vec<Vec<u8>> = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| parse_entry(line).is_ok())
            .map(<[u8]>::to_vec)
            .collect();
        let mut tree = SessionTree::default();
        tree.extend(lines.iter().map(|line| (parse_entry(line).unwrap(), 0, line.len() as u32)));
        FoldedLog { tree, lines }
    }

    fn result(&self, case: &Value) -> Value {
        match case["what"].as_str().unwrap() {
            "messages" => self.messages(self.position(&case["at"])),
            "leave" => self.leave(case),
            _ => self.cut(case),
        }
    }

    fn position(&self, id: &Value) -> Place {
        id.as_str().map(|id| self.tree.find(id).unwrap())
    }

    fn id(&self, seq: Seq) -> String {
        self.tree.id(seq).to_string()
    }

    /// The tokens and the text of each message of a context.
    fn messages(&self, at: Place) -> Value {
        let mut seen = Vec::new();
        for item in self.tree.context_entries(at).items {
            self.each_message(&item, |message| {
                let raw = RawJson::parse(message).unwrap();
                if !is_excluded(raw) {
                    seen.push(json!({ "tokens": estimate_tokens(raw), "text": serialize_message(message) }));
                }
            });
        }
        Value::Array(seen)
    }

    fn leave(&self, case: &Value) -> Value {
        let from = self.position(&case["from"]);
        let branch = self.tree.abandoned_branch(from, self.position(&case["to"]));
        let left = branch.collect_text(&self.tree, case["budget"].as_u64().unwrap(), &self.lines);
        let items = self.tree.context_entries(from).items;
        let included: Vec<ContextItem> =
            items.into_iter().filter(|item| left.entries.contains(&item.seq)).collect();
        json!({
            "ancestor": branch.ancestor.map(|seq| self.id(seq)),
            "entries": branch.entries.iter().map(|seq| self.id(*seq)).collect::<Vec<_>>(),
            "messages": self.sent_messages(&included),
            "tokens": left.tokens,
            "files": left.files.details(),
        })
    }

    fn cut(&self, case: &Value) -> Value {
        let cut =
            match self.tree.find_cut(self.position(&case["at"]), case["keep"].as_u64().unwrap(), &self.lines)
            {
                Ok(cut) => cut,
                Err(error) => return json!({ "nothing": format!("{error:?}") }),
            };
        let text = cut.collect_text(&self.tree, 0, &self.lines);
        let summarized: Vec<ContextItem> = cut.history.iter().chain(&cut.turn_prefix).copied().collect();
        json!({
            "firstKept": self.id(cut.first_kept),
            "messages": self.sent_messages(&summarized),
            "prefix": self.sent_messages(&cut.turn_prefix).len(),
            "isSplit": cut.is_split_turn(),
            "tokensBefore": cut.tokens_before,
            "previous": text.previous_summary,
            "files": text.files.details(),
        })
    }

    fn each_message(&self, item: &ContextItem, mut f: impl FnMut(&[u8])) {
        let edit = item.edit.and_then(|edit| self.lines.line(edit));
        item.emit_messages(self.lines.line(item.seq).unwrap(), edit, &mut f);
    }

    /// The messages of these entries as JSON text, because they may contain lone surrogates. Without system messages and
    /// commands excluded from the context.
    fn sent_messages(&self, items: &[ContextItem]) -> Vec<String> {
        let mut sent = Vec::new();
        for item in items {
            self.each_message(item, |message| {
                let raw = RawJson::parse(message).unwrap();
                let is_system = raw.get("role").and_then(RawJson::text).as_deref() == Some("system");
                if !is_system && !is_excluded(raw) {
                    sent.push(String::from_utf8_lossy(message).into_owned());
                }
            });
        }
        sent
    }
}

/// A command that the user excluded from the context.
fn is_excluded(message: RawJson<'_>) -> bool {
    message.get("excludeFromContext").is_some_and(RawJson::is_true)
}
