//! Commands: everything that a client can ask a session to do.

use osier_model::ThinkingLevel;
use osier_tools::approvals::ApprovalMode;
use osier_tools::user_bash::UserCommand;
use osier_tree::EntryId;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::explore::ExploreCommand;
use crate::extension_input::ExtensionInput;
use crate::prompt::{Prompt, PromptTiming};
use crate::question::UserAnswer;

/// A command from a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ClientCommand {
    /// Sends a prompt. Replies when the prompt is stored, not when the turn ends.
    Prompt {
        #[serde(flatten)]
        prompt: Prompt,
        #[serde(default)]
        when: PromptTiming,
        /// Fail unless this is the current leaf; `null` means before the first entry. A prompt that is queued goes wherever
        /// the turn is then, so it expects nothing.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<EntryId>")]
        expected_leaf_id: Option<Option<EntryId>>,
    },
    /// Continues an unfinished path after a crash, a failure or a move. A failed reply stays on its own
    /// branch, and the model is called again next to it.
    Resume,
    /// Stops the running turn and the running shell command. Replies when both have ended, with the queued
    /// prompts, which are not sent.
    Cancel,
    /// Stops what runs, as `Cancel` does. Queued prompts stay queued; they follow the next prompt.
    Stop,
    /// Input for extensions. Without extensions, nothing happens.
    ExtensionInput(ExtensionInput),
    /// Cancels a task that a sub-agent does, or all of them. The turn goes on with their results.
    CancelTasks {
        #[serde(default)]
        task: Option<String>,
    },
    /// Sends a message to the sub-agent that does a task, or to those of all tasks that run, before their next model call.
    SteerTask {
        #[serde(default)]
        task: Option<String>,
        text: String,
    },
    /// Tries a prompt several times at once, and handles the tries.
    Explore(ExploreCommand),
    /// Stops the running shell command. A turn goes on.
    StopShell,
    /// Empties the queue and returns the queued prompts.
    ClearQueue,
    Answer {
        question: u64,
        answer: UserAnswer,
    },
    /// A model name as the user writes it.
    SetModel {
        model: String,
    },
    SetThinking {
        level: ThinkingLevel,
    },
    /// Applies to this session from now on.
    SetApproval {
        mode: ApprovalMode,
    },
    /// Moves to another position in the tree.
    Move(MoveCommand),
    /// Undoes or redoes a move.
    Undo,
    Redo,
    /// Replaces the older part of the path with a summary in the context. Stops a running turn first.
    Compact {
        #[serde(default)]
        focus: Option<String>,
    },
    /// Moves to the position before a compaction; without an entry, the last one on the path.
    UndoCompaction {
        #[serde(default)]
        entry: Option<EntryId>,
    },
    /// Adds the conclusion of the branch that ends in `tip` to the current position. With `summarize`, a
    /// model writes the conclusion.
    Graft {
        tip: EntryId,
        #[serde(default)]
        summarize: bool,
        #[serde(default)]
        instructions: Option<String>,
    },
    /// `!command` and `!!command`. Replies when the command has ended.
    RunShell(UserCommand),
    /// Labels an entry; without an entry, the one at the current position. Without a label, removes it.
    Label {
        #[serde(default)]
        entry: Option<EntryId>,
        #[serde(default)]
        label: Option<String>,
    },
    Rename {
        name: String,
    },
    /// Changes settings of the session.
    SetConfig {
        #[serde(default)]
        set: Map<String, Value>,
        #[serde(default)]
        unset: Vec<String>,
    },
    /// Hides an entry and everything below it.
    DeleteBranch {
        entry: EntryId,
    },
    RestoreBranch {
        entry: EntryId,
    },
}

impl ClientCommand {
    /// A prompt to send now, with the files that it mentions.
    pub fn prompt(text: impl Into<String>) -> ClientCommand {
        ClientCommand::timed_prompt(Prompt::typed(text), PromptTiming::Now)
    }

    /// A prompt that expects no leaf.
    pub fn timed_prompt(prompt: Prompt, when: PromptTiming) -> ClientCommand {
        ClientCommand::Prompt { prompt, when, expected_leaf_id: None }
    }
}

/// Where to move, and how. A misspelled field must not change where a move leads, so unknown ones are refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoveCommand {
    /// The chosen entry; `null` means before the first entry.
    #[serde(deserialize_with = "Option::deserialize")]
    pub target_id: Option<EntryId>,
    /// Move the leaf to exactly this entry, even if it is a user message.
    #[serde(default)]
    pub exact: bool,
    /// Summarize the branch that is left.
    #[serde(default)]
    pub summarize: bool,
    #[serde(default)]
    pub custom_instructions: Option<String>,
    /// Use `custom_instructions` instead of the default summary prompt, not in addition to it.
    #[serde(default)]
    pub replace_instructions: bool,
    #[serde(default)]
    pub label: Option<String>,
    /// Fail unless this is the current leaf; `null` means before the first entry.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<EntryId>")]
    pub expected_leaf_id: Option<Option<EntryId>>,
    /// Stop a running turn first. If false, a running turn is an error.
    #[serde(default)]
    pub stop_turn: bool,
}

/// Distinguishes `null` from a missing field.
pub(crate) fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<EntryId>>, D::Error> {
    Option::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_can_expect_an_entry_or_the_beginning_or_nothing() {
        let expected = |json: &str| serde_json::from_str::<MoveCommand>(json).unwrap().expected_leaf_id;
        assert_eq!(expected(r#"{"targetId":null}"#), None);
        assert_eq!(expected(r#"{"targetId":null,"expectedLeafId":null}"#), Some(None));
        let entry = r#"{"targetId":null,"expectedLeafId":"0000000a"}"#;
        assert_eq!(expected(entry), Some(Some("0000000a".into())));
    }

    /// Otherwise it would lead to before the first entry.
    #[test]
    fn a_move_without_a_target_is_refused() {
        for json in ["{}", r#"{"targetID":"0000000a"}"#, r#"{"targetId":null,"expectedLeaf":"0000000a"}"#] {
            assert!(serde_json::from_str::<MoveCommand>(json).is_err(), "{json}");
        }
    }
}
