//! Turns the deltas of a reply into JSON for clients and redacts known secrets. Text that may be the start of
//! a secret is held back until it is decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_model::Delta;
use osier_tools::{Redactor, Secrets};
use serde_json::{Value, json};

/// Redacts the deltas of one reply.
#[derive(Debug)]
pub(crate) struct ShownDeltas {
    keys: Arc<Secrets>,
    /// The redactor of each open block, with the text it holds back.
    blocks: BTreeMap<usize, Redactor>,
}

impl ShownDeltas {
    pub(crate) fn new(keys: &Arc<Secrets>) -> ShownDeltas {
        ShownDeltas { keys: keys.clone(), blocks: BTreeMap::new() }
    }

    /// The events to send for this delta.
    pub(crate) fn next(&mut self, delta: &Delta) -> Vec<Value> {
        match delta {
            Delta::TextStart { block } => vec![json!({ "type": "text_start", "block": block })],
            Delta::Text { block, text } => self.piece("text_delta", *block, text),
            Delta::TextEnd { block, .. } => self.end("text", *block),
            Delta::ThinkingStart { block } => vec![json!({ "type": "thinking_start", "block": block })],
            Delta::Thinking { block, text } => self.piece("thinking_delta", *block, text),
            Delta::ThinkingEnd { block, .. } => self.end("thinking", *block),
            Delta::ToolCallStart { block, id, name } => {
                vec![json!({ "type": "toolcall_start", "block": block, "id": id, "name": name })]
            }
            Delta::ToolCallArguments { block, json } => self.piece("toolcall_delta", *block, json),
            Delta::ToolCallEnd { block, .. } => self.end("toolcall", *block),
            Delta::Usage(usage) => vec![json!({ "type": "usage", "usage": usage })],
            Delta::Start { .. } | Delta::Retrying { .. } | Delta::Done(_) | Delta::Failed(..) => {
                vec![json!({ "type": "start" })]
            }
        }
    }

    fn piece(&mut self, kind: &str, block: usize, text: &str) -> Vec<Value> {
        let redactor = self.blocks.entry(block).or_insert_with(|| Redactor::new(&self.keys));
        shown(kind, block, redactor.push_text(text)).into_iter().collect()
    }

    fn end(&mut self, kind: &str, block: usize) -> Vec<Value> {
        let rest = self.blocks.remove(&block).map(|mut redactor| redactor.finish_text()).unwrap_or_default();
        let rest = shown(&format!("{kind}_delta"), block, rest);
        let end = json!({ "type": format!("{kind}_end"), "block": block });
        rest.into_iter().chain([end]).collect()
    }
}

fn shown(kind: &str, block: usize, text: String) -> Option<Value> {
    (!text.is_empty()).then(|| json!({ "type": kind, "block": block, "delta": text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    fn text(shown: &[Value]) -> String {
        shown.iter().filter_map(|piece| piece["delta"].as_str()).collect()
    }

    #[test]
    fn a_key_is_redacted_wherever_it_is_split() {
        let keys = Arc::new(Secrets::new([KEY.to_owned().into()]));
        let said = format!("é {KEY} ü sk-01");
        for at in (0..=said.len()).filter(|at| said.is_char_boundary(*at)) {
            let mut shown = ShownDeltas::new(&keys);
            let mut seen = Vec::new();
            for piece in [&said[..at], &said[at..]] {
                seen.extend(shown.next(&Delta::Text { block: 0, text: piece.to_owned() }));
                seen.extend(shown.next(&Delta::ToolCallArguments { block: 1, json: piece.to_owned() }));
                assert!(!text(&seen).contains("0123456789"), "{seen:?}");
            }
            seen.extend(shown.next(&Delta::TextEnd { block: 0, signature: None }));
            seen.extend(shown.next(&Delta::ToolCallEnd { block: 1, signature: None }));
            let of_block = |block: u64| -> Vec<Value> {
                seen.iter().filter(|piece| piece["block"] == block).cloned().collect()
            };
            for block in 0..2 {
                assert_eq!(text(&of_block(block)), "é [key] ü sk-01", "{at}");
            }
            assert_eq!(seen.last().unwrap(), &json!({ "type": "toolcall_end", "block": 1 }));
        }
    }

    #[test]
    fn without_keys_every_piece_is_shown_at_once() {
        let mut shown = ShownDeltas::new(&Arc::default());
        let seen = shown.next(&Delta::Thinking { block: 3, text: "hm".to_owned() });
        assert_eq!(seen, [json!({ "type": "thinking_delta", "block": 3, "delta": "hm" })]);
    }
}
