//! Prompts, and the queue of prompts that wait for a running turn.

use osier_model::Image;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ready_message::{CustomMessage, ReadyMessage};

/// A prompt: the text that the user typed, with images and attached files; or a ready message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    #[serde(default)]
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Attached files, by the names used in the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// A message of role `user` or `custom` that is stored as it is. `text` then only describes it to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<ReadyMessage>>,
}

impl Prompt {
    pub fn text(text: impl Into<String>) -> Prompt {
        Prompt { text: text.into(), ..Prompt::default() }
    }

    /// A text that the user typed, with the files that it mentions.
    pub fn typed(text: impl Into<String>) -> Prompt {
        let text = text.into();
        Prompt { files: mentioned_files(&text), text, ..Prompt::default() }
    }

    /// A message of an extension.
    pub fn custom(message: CustomMessage) -> Prompt {
        Prompt { message: Some(Box::new(ReadyMessage::Custom(message))), ..Prompt::default() }
    }

    pub fn is_empty(&self) -> bool {
        match &self.message {
            Some(message) => message.content().is_empty(),
            None => self.text.trim().is_empty() && self.images.is_empty(),
        }
    }

    /// Whether it is a message of an extension.
    pub fn is_custom(&self) -> bool {
        matches!(self.message.as_deref(), Some(ReadyMessage::Custom(_)))
    }
}

/// The file names that a prompt mentions: the words that start with `@`. Pass only text that the user typed. Piped or
/// pasted text could name any file.
pub fn mentioned_files(typed: &str) -> Vec<String> {
    let words = typed.split_whitespace().map(|word| word.trim_start_matches(['(', '[', '{', '\'', '"']));
    let names = words.filter_map(|word| word.strip_prefix('@')).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// When to send a prompt that arrives during a turn. Without a running turn, every prompt is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptTiming {
    /// Refuse the prompt during a turn. A message of an extension is queued instead, as with `Steer`.
    #[default]
    Now,
    /// Before the next model call.
    Steer,
    /// When the turn would otherwise end.
    FollowUp,
    /// Before the next model call; without a running turn, only store it: no turn starts.
    NoTurn,
    /// As `Steer`; without a running turn, the prompt waits and follows the next one.
    SteerLater,
    /// As `FollowUp`; without a running turn, the prompt waits for the end of the next one.
    FollowUpLater,
}

/// The queued prompts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptQueue {
    pub steering: Vec<Prompt>,
    pub follow_up: Vec<Prompt>,
}

impl PromptQueue {
    pub fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_start_with_an_at_sign_are_mentions() {
        assert_eq!(
            mentioned_files("see @a.txt, (@src/b.rs) and me@example.com @ \"@c\""),
            ["a.txt,", "src/b.rs)", "c\""]
        );
    }
}
