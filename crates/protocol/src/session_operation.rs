//! Operations on stored sessions, with the names of a NetaClaw session tree. They need no agent and no open session.

use osier_tree::{EntryId, JsonText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::command::present;

/// A session to create. What is absent has the value of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NewStoredSession {
    /// A new id if absent.
    pub id: Option<String>,
    pub store: Option<String>,
    pub cwd: Option<String>,
    pub agent_id: Option<String>,
    pub title: Option<String>,
}

/// See the module documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionOperation {
    /// The `session` of a snapshot.
    GetSession,
    /// Changes the given properties.
    UpdateSession(PropertyChanges),
    /// A page of entries in the order of the log.
    ListEntries {
        /// How many entries to skip.
        #[serde(default)]
        after: usize,
        /// At most this many; 100 by default, 1000 at most.
        #[serde(default)]
        limit: Option<usize>,
    },
    /// The entries from the root to the leaf.
    GetActivePath,
    /// A new session with the path to an entry, or to the leaf. The entries keep their ids.
    CreateBranchedSession {
        #[serde(default)]
        leaf_id: Option<EntryId>,
    },
    /// Any entry. A missing `id`, `parentId` and `timestamp` are filled in.
    AppendEntry { entry: JsonText },
    AppendMessage {
        message: JsonText,
        #[serde(flatten)]
        placement: Placement,
    },
    AppendThinkingLevelChange {
        thinking_level: String,
        #[serde(flatten)]
        placement: Placement,
    },
    AppendModelChange {
        provider: String,
        model_id: String,
        #[serde(flatten)]
        placement: Placement,
    },
    /// A compaction that another program made.
    AppendCompaction {
        summary: String,
        /// An entry on the path.
        first_kept_entry_id: String,
        tokens_before: u64,
        #[serde(default)]
        details: Option<Value>,
        #[serde(flatten)]
        placement: Placement,
    },
    /// A summary of a branch that another program wrote.
    AppendBranchSummary {
        /// The last entry of the branch.
        from_id: String,
        summary: String,
        #[serde(flatten)]
        placement: Placement,
    },
    /// Without a label, or with an empty one, removes the label of the entry.
    AppendLabelChange {
        target_id: EntryId,
        #[serde(default)]
        label: Option<String>,
    },
    /// Names the session. An empty name removes the name.
    AppendSessionInfo { name: String },
    /// Moves the leaf to exactly this entry.
    SwitchLeaf {
        leaf_id: EntryId,
        /// Fail unless this is the leaf; `null` is before the first entry.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<EntryId>")]
        expected_leaf_id: Option<Option<EntryId>>,
    },
    /// Moves the leaf before the first entry.
    ResetLeaf {
        /// As for `switch_leaf`.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<EntryId>")]
        expected_leaf_id: Option<Option<EntryId>>,
    },
    /// Ends a running batch of sub-agents. Other entries never change.
    UpdateEntry {
        entry_id: EntryId,
        /// `completed`, `failed` or `cancelled`.
        status: String,
        #[serde(default)]
        payload: Value,
    },
}

impl SessionOperation {
    /// The values of `type`.
    pub const NAMES: [&str; 16] = [
        "get_session",
        "update_session",
        "list_entries",
        "get_active_path",
        "create_branched_session",
        "append_entry",
        "append_message",
        "append_thinking_level_change",
        "append_model_change",
        "append_compaction",
        "append_branch_summary",
        "append_label_change",
        "append_session_info",
        "switch_leaf",
        "reset_leaf",
        "update_entry",
    ];
}

/// The properties of a session that can change. What is absent stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PropertyChanges {
    pub title: Option<String>,
    pub status: Option<String>,
    pub cwd: Option<String>,
    pub agent_id: Option<String>,
    pub metadata: Option<Map<String, Value>>,
}

/// Where a new entry goes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    /// The parent; the leaf if absent. `null` makes a new root.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<EntryId>")]
    pub parent_id: Option<Option<EntryId>>,
    /// The id of the new entry. With an id, the request can be repeated: the entry is written once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_parent_can_be_an_entry_or_none_or_the_leaf() {
        let parent = |fields: Value| {
            let mut operation = json!({ "type": "append_message", "message": { "role": "user" } });
            operation.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            match serde_json::from_value(operation).unwrap() {
                SessionOperation::AppendMessage { placement, .. } => placement.parent_id,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(parent(json!({})), None);
        assert_eq!(parent(json!({ "parentId": null })), Some(None));
        assert_eq!(parent(json!({ "parentId": "0000000a" })), Some(Some("0000000a".into())));
    }
}
