//! What a client with a screen tells extensions.

use osier_tree::EntryId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// See the module documentation. `client` is a number that a client chooses for itself; events that answer it repeat it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "input", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExtensionInput {
    /// The screen of the client.
    Screen {
        columns: usize,
        rows: usize,
        /// Folded content is shown expanded.
        #[serde(default)]
        expanded: bool,
        /// The background is light.
        #[serde(default)]
        light: bool,
    },
    /// A key for a component, as a terminal sends it.
    Key {
        component: u64,
        data: String,
        #[serde(default)]
        client: u64,
    },
    /// A shortcut that an extension registered.
    Shortcut { key: String },
    /// Asks for the lines of something that an extension renders. The answer is
    /// [`ExtensionEvent::Rendered`](crate::ExtensionEvent::Rendered).
    Render(RenderRequest),
    /// The text of the editor, for the editor of an extension or because an extension asked.
    EditorText {
        #[serde(default)]
        component: Option<u64>,
        #[serde(default)]
        request: Option<u64>,
        text: String,
        /// In bytes.
        cursor: usize,
    },
    /// A key, before anything else handles it.
    TerminalInput { client: u64, number: u64, data: String },
    /// Asks for completions at the cursor.
    Complete {
        client: u64,
        number: u64,
        text: String,
        /// In bytes.
        cursor: usize,
    },
}

/// What to render, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderRequest {
    pub subject: RenderSubject,
    pub columns: usize,
    pub expanded: bool,
}

/// Something that an extension renders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "target", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RenderSubject {
    Message {
        entry: EntryId,
        custom_type: String,
    },
    Entry {
        entry: EntryId,
        custom_type: String,
    },
    Tool {
        call: String,
        name: String,
        #[serde(default)]
        arguments: Value,
        /// The entry of the result, if there is one.
        #[serde(default)]
        result: Option<EntryId>,
    },
}

impl RenderSubject {
    /// Identifies the lines: the entry, or the call.
    pub fn id(&self) -> &str {
        match self {
            RenderSubject::Message { entry, .. } | RenderSubject::Entry { entry, .. } => entry.as_str(),
            RenderSubject::Tool { call, .. } => call,
        }
    }
}
