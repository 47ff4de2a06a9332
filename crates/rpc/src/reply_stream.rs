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
                self.block(*block).kind = BlockKind::Text;
                ReplyEvent::TextStart { content_index: *block }
            }
            ReplyDelta::ThinkingStart { block } => {
                self.block(*block).kind = BlockKind::Thinking;
                ReplyEvent::ThinkingStart { content_index: *block }
            }
            ReplyDelta::ToolCallStart { block, id, name } => {
                self.block(*block).kind = BlockKind::Call { id: id.clone(), name: name.clone() };
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
            ReplyDelta::TextEnd { block } => {
                ReplyEvent::TextEnd { content_index: *block, content: &self.block(*block).text }
            }
            ReplyDelta::ThinkingEnd { block } => {
                ReplyEvent::ThinkingEnd { content_index: *block, content: &self.block(*block).text }
            }
            ReplyDelta::ToolCallEnd { block } => {
                ReplyEvent::ToolCallEnd { content_index: *block, tool_call: self.block(*block).to_json() }
            }
        })
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
}
