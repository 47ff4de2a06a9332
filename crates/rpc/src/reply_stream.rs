//! A reply while the model writes it: typed deltas in, pi's `message_update` events out.

use osier_protocol::{ReplyDelta, TokenUsage};
use serde::Serialize;
use serde_json::{Value, json};

/// The usage of a reply, as pi reports it.
pub(crate) type ReplyUsage = TokenUsage;

/// The `assistantMessageEvent` of a `message_update`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum ReplyEvent<'a> {
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: &'a str,
    },
    TextEnd {
        content_index: usize,
        content: &'a str,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: &'a str,
    },
    ThinkingEnd {
        content_index: usize,
        content: &'a str,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
        id: &'a str,
        tool_name: &'a str,
    },
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: usize,
        delta: &'a str,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        tool_call: Value,
    },
}

/// The blocks of a reply so far.
#[derive(Debug, Default)]
pub(crate) struct ReplyStream {
    blocks: Vec<Block>,
    pub(crate) usage: ReplyUsage,
}

/// A block with its text, or the text of its arguments.
#[derive(Debug, Default)]
struct Block {
    kind: BlockKind,
    text: String,
    is_open: bool,
}

#[derive(Debug, Default)]
enum BlockKind {
    #[default]
    Text,
    Thinking,
    Call {
        id: String,
        name: String,
    },
}

impl ReplyStream {
    /// Applies a delta. `None` if pi has no event for it.
    pub(crate) fn apply<'a>(&'a mut self, delta: &'a ReplyDelta) -> Option<ReplyEvent<'a>> {
        Some(match delta {
            ReplyDelta::Start | ReplyDelta::Withdrawn => return None,
            ReplyDelta::Usage { usage } => {
                self.usage = *usage;
                return None;
            }
            ReplyDelta::TextStart { block } => {
                self.start_block(*block, BlockKind::Text);
                ReplyEvent::TextStart { content_index: *block }
            }
            ReplyDelta::ThinkingStart { block } => {
                self.start_block(*block, BlockKind::Thinking);
                ReplyEvent::ThinkingStart { content_index: *block }
            }
            ReplyDelta::ToolCallStart { block, id, name } => {
                self.start_block(*block, BlockKind::Call { id: id.clone(), name: name.clone() });
                ReplyEvent::ToolCallStart { content_index: *block, id, tool_name: name }
            }
            ReplyDelta::TextDelta { block, delta } => {
                self.block(*block).text.push_str(delta);
                ReplyEvent::TextDelta { content_index: *block, delta }
            }
            ReplyDelta::ThinkingDelta { block, delta } => {
                self.block(*block).text.push_str(delta);
                ReplyEvent::ThinkingDelta { content_index: *block, delta }
            }
            ReplyDelta::ToolCallDelta { block, delta } => {
                self.block(*block).text.push_str(delta);
                ReplyEvent::ToolCallDelta { content_index: *block, delta }
            }
            ReplyDelta::TextEnd { block }
            | ReplyDelta::ThinkingEnd { block }
            | ReplyDelta::ToolCallEnd { block } => {
                let ended = self.block(*block);
                ended.is_open = false;
                ended.end_event(*block)
            }
        })
    }

    /// The ends of blocks that have none because the reply broke off.
    pub(crate) fn end_open_blocks(&mut self) -> Vec<ReplyEvent<'_>> {
        let mut ends = Vec::new();
        for (index, block) in self.blocks.iter_mut().enumerate() {
            if std::mem::take(&mut block.is_open) {
                ends.push(block.end_event(index));
            }
        }
        ends
    }

    fn start_block(&mut self, index: usize, kind: BlockKind) {
        let block = self.block(index);
        (block.kind, block.is_open) = (kind, true);
    }

    /// The content as it would be stored.
    pub(crate) fn content(&self) -> Value {
        self.blocks.iter().map(Block::to_json).collect()
    }

    fn block(&mut self, index: usize) -> &mut Block {
        if self.blocks.len() <= index {
            self.blocks.resize_with(index + 1, Block::default);
        }
        &mut self.blocks[index]
    }
}

impl Block {
    fn end_event(&self, content_index: usize) -> ReplyEvent<'_> {
        match &self.kind {
            BlockKind::Text => ReplyEvent::TextEnd { content_index, content: &self.text },
            BlockKind::Thinking => ReplyEvent::ThinkingEnd { content_index, content: &self.text },
            BlockKind::Call { .. } => ReplyEvent::ToolCallEnd { content_index, tool_call: self.to_json() },
        }
    }

    fn to_json(&self) -> Value {
        match &self.kind {
            BlockKind::Text => json!({ "type": "text", "text": self.text }),
            BlockKind::Thinking => json!({ "type": "thinking", "thinking": self.text }),
            BlockKind::Call { id, name } => {
                let arguments: Value = serde_json::from_str(&self.text).unwrap_or_else(|_| json!({}));
                json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_several_blocks_end_with_their_whole_content() {
        let mut stream = ReplyStream::default();
        let deltas = [
            ReplyDelta::ThinkingStart { block: 0 },
            ReplyDelta::ThinkingDelta { block: 0, delta: "Hm".to_owned() },
            ReplyDelta::ToolCallStart { block: 1, id: "c".to_owned(), name: "read".to_owned() },
            ReplyDelta::ToolCallDelta { block: 1, delta: r#"{"path":"#.to_owned() },
            ReplyDelta::ThinkingDelta { block: 0, delta: "m.".to_owned() },
            ReplyDelta::ToolCallDelta { block: 1, delta: r#""a"}"#.to_owned() },
            ReplyDelta::ThinkingEnd { block: 0 },
        ];
        let mut last = Value::Null;
        for delta in &deltas {
            last = serde_json::to_value(stream.apply(delta)).unwrap();
        }
        assert_eq!(last, json!({ "type": "thinking_end", "contentIndex": 0, "content": "Hmm." }));
        let end = serde_json::to_value(stream.apply(&ReplyDelta::ToolCallEnd { block: 1 })).unwrap();
        let call = json!({ "type": "toolCall", "id": "c", "name": "read", "arguments": { "path": "a" } });
        assert_eq!(end, json!({ "type": "toolcall_end", "contentIndex": 1, "toolCall": call }));
        assert_eq!(stream.content()[0], json!({ "type": "thinking", "thinking": "Hmm." }));
    }

    #[test]
    fn a_block_that_breaks_off_ends_once() {
        let mut stream = ReplyStream::default();
        for delta in [
            ReplyDelta::ThinkingStart { block: 0 },
            ReplyDelta::ThinkingEnd { block: 0 },
            ReplyDelta::TextStart { block: 1 },
            ReplyDelta::TextDelta { block: 1, delta: "Hel".to_owned() },
        ] {
            stream.apply(&delta);
        }
        let ends: Vec<Value> =
            stream.end_open_blocks().into_iter().map(|event| serde_json::to_value(event).unwrap()).collect();
        assert_eq!(ends, [json!({ "type": "text_end", "contentIndex": 1, "content": "Hel" })]);
        assert_eq!(stream.end_open_blocks(), []);
    }
}
