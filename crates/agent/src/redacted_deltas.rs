//! A reply as clients see it while it arrives, with known secrets redacted. Text that may be the start of a secret is
//! held back until it is decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_model::Delta;
use osier_tools::{Redactor, Secrets};
use osier_tree::ReplyDelta;

/// Redacts the deltas of one reply.
#[derive(Debug)]
pub(crate) struct RedactedDeltas {
    keys: Arc<Secrets>,
    /// The redactor of each open block, with the text it holds back.
    blocks: BTreeMap<usize, Redactor>,
}

impl RedactedDeltas {
    pub(crate) fn new(keys: &Arc<Secrets>) -> RedactedDeltas {
        RedactedDeltas { keys: keys.clone(), blocks: BTreeMap::new() }
    }

    /// The deltas to send for this one.
    pub(crate) fn next(&mut self, delta: &Delta) -> Vec<ReplyDelta> {
        let text = |block, delta| ReplyDelta::TextDelta { block, delta };
        let thinking = |block, delta| ReplyDelta::ThinkingDelta { block, delta };
        let arguments = |block, delta| ReplyDelta::ToolCallDelta { block, delta };
        match delta {
            Delta::TextStart { block } => vec![ReplyDelta::TextStart { block: *block }],
            Delta::Text { block, text: piece } => self.piece(text, *block, piece),
            Delta::TextEnd { block, .. } => self.end(text, ReplyDelta::TextEnd { block: *block }, *block),
            Delta::ThinkingStart { block } => vec![ReplyDelta::ThinkingStart { block: *block }],
            Delta::Thinking { block, text: piece } => self.piece(thinking, *block, piece),
            Delta::ThinkingEnd { block, .. } => {
                self.end(thinking, ReplyDelta::ThinkingEnd { block: *block }, *block)
            }
            Delta::ToolCallStart { block, id, name } => {
                vec![ReplyDelta::ToolCallStart { block: *block, id: id.clone(), name: name.clone() }]
            }
            Delta::ToolCallArguments { block, json } => self.piece(arguments, *block, json),
            Delta::ToolCallEnd { block, .. } => {
                self.end(arguments, ReplyDelta::ToolCallEnd { block: *block }, *block)
            }
            Delta::Usage(usage) => vec![ReplyDelta::Usage { usage: *usage }],
            Delta::Start { .. } | Delta::Retrying { .. } | Delta::Done(_) | Delta::Failed(..) => {
                vec![ReplyDelta::Start]
            }
        }
    }

    fn piece(
        &mut self,
        make: impl Fn(usize, String) -> ReplyDelta,
        block: usize,
        text: &str,
    ) -> Vec<ReplyDelta> {
        let redactor = self.blocks.entry(block).or_insert_with(|| Redactor::new(&self.keys));
        shown(make, block, redactor.push_text(text)).into_iter().collect()
    }

    fn end(
        &mut self,
        make: impl Fn(usize, String) -> ReplyDelta,
        end: ReplyDelta,
        block: usize,
    ) -> Vec<ReplyDelta> {
        let rest = self.blocks.remove(&block).map(|mut redactor| redactor.finish_text()).unwrap_or_default();
        shown(make, block, rest).into_iter().chain([end]).collect()
    }
}

fn shown(make: impl Fn(usize, String) -> ReplyDelta, block: usize, text: String) -> Option<ReplyDelta> {
    (!text.is_empty()).then(|| make(block, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    fn text(shown: &[ReplyDelta]) -> String {
        shown.iter().map(ReplyDelta::text).collect()
    }

    #[test]
    fn a_key_is_redacted_wherever_it_is_split() {
        let keys = Arc::new(Secrets::new([KEY.to_owned().into()]));
        let said = format!("é {KEY} ü sk-01");
        for at in (0..=said.len()).filter(|at| said.is_char_boundary(*at)) {
            let mut shown = RedactedDeltas::new(&keys);
            let (mut texts, mut arguments) = (Vec::new(), Vec::new());
            for piece in [&said[..at], &said[at..]] {
                texts.extend(shown.next(&Delta::Text { block: 0, text: piece.to_owned() }));
                arguments.extend(shown.next(&Delta::ToolCallArguments { block: 1, json: piece.to_owned() }));
                assert!(!(text(&texts) + &text(&arguments)).contains("0123456789"), "{texts:?}");
            }
            texts.extend(shown.next(&Delta::TextEnd { block: 0, signature: None }));
            arguments.extend(shown.next(&Delta::ToolCallEnd { block: 1, signature: None }));
            assert_eq!([text(&texts), text(&arguments)], ["é [key] ü sk-01", "é [key] ü sk-01"], "{at}");
            assert_eq!(arguments.last(), Some(&ReplyDelta::ToolCallEnd { block: 1 }));
        }
    }

    #[test]
    fn without_keys_every_piece_is_shown_at_once() {
        let mut shown = RedactedDeltas::new(&Arc::default());
        let seen = shown.next(&Delta::Thinking { block: 3, text: "hm".to_owned() });
        assert_eq!(seen, [ReplyDelta::ThinkingDelta { block: 3, delta: "hm".to_owned() }]);
    }
}
