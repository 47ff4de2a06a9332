//! The pieces of a reply while a model writes it. They are shown and never stored; the entry that follows has everything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::token_usage::TokenUsage;

/// One piece of a reply. `block` is the index in the content of the message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyDelta {
    Start,
    TextStart {
        block: usize,
    },
    TextDelta {
        block: usize,
        delta: String,
    },
    TextEnd {
        block: usize,
    },
    ThinkingStart {
        block: usize,
    },
    ThinkingDelta {
        block: usize,
        delta: String,
    },
    ThinkingEnd {
        block: usize,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        block: usize,
        id: String,
        name: String,
    },
    /// A piece of the JSON of the arguments.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        block: usize,
        delta: String,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        block: usize,
    },
    /// The usage so far.
    Usage {
        usage: TokenUsage,
    },
    /// The reply broke off. The retry is another draft.
    Withdrawn,
}

impl ReplyDelta {
    /// The text that this piece adds to its block.
    pub fn text(&self) -> &str {
        match self {
            ReplyDelta::TextDelta { delta, .. }
            | ReplyDelta::ThinkingDelta { delta, .. }
            | ReplyDelta::ToolCallDelta { delta, .. } => delta,
            _ => "",
        }
    }
}
