//! What extensions show to the user. The names are those of pi's RPC protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that an extension shows. Nothing of it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "method", rename_all_fields = "camelCase")]
pub enum ExtensionEvent {
    #[serde(rename = "notify")]
    Notify {
        message: String,
        #[serde(default)]
        notify_type: NotifyType,
    },
    /// A short text in the status line, by its key. Without a text, it goes away.
    #[serde(rename = "setStatus")]
    SetStatus {
        status_key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status_text: Option<String>,
    },
    /// Lines beside the editor, by their key. Without lines, they go away.
    #[serde(rename = "setWidget")]
    SetWidget {
        widget_key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        widget_lines: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        widget_placement: Option<WidgetPlacement>,
    },
    /// The title of the terminal.
    #[serde(rename = "setTitle")]
    SetTitle { title: String },
    /// The lines of a component. Styles are escape sequences.
    #[serde(rename = "component")]
    Component { component: u64, lines: Vec<String> },
    /// Lines instead of the status line. Without lines, it comes back.
    #[serde(rename = "setFooter")]
    SetFooter {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<Vec<String>>,
    },
    /// Lines above everything else that is not part of the conversation.
    #[serde(rename = "setHeader")]
    SetHeader {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<Vec<String>>,
    },
    /// A key that runs a shortcut of an extension, such as `ctrl+shift+p`.
    #[serde(rename = "setShortcut")]
    SetShortcut {
        key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    #[serde(rename = "set_editor_text")]
    SetEditorText { text: String },
    /// An extension failed.
    #[serde(rename = "error")]
    Failed {
        extension_path: String,
        /// The event, `command` or `tool` in which it failed.
        event: String,
        error: String,
        /// `file:line:column` of the extension, innermost first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stack: Vec<String>,
    },
    /// A line that an extension printed.
    #[serde(rename = "log")]
    Log { extension_path: String, text: String },
}

impl ExtensionEvent {
    /// What this replaces on the screen, for events whose effect stays. A later event of the same slot is enough.
    pub fn slot(&self) -> Option<(&'static str, &str)> {
        match self {
            ExtensionEvent::SetStatus { status_key, .. } => Some(("status", status_key)),
            ExtensionEvent::SetWidget { widget_key, .. } => Some(("widget", widget_key)),
            ExtensionEvent::SetShortcut { key, .. } => Some(("shortcut", key)),
            ExtensionEvent::SetTitle { .. } => Some(("title", "")),
            ExtensionEvent::SetFooter { .. } => Some(("footer", "")),
            ExtensionEvent::SetHeader { .. } => Some(("header", "")),
            ExtensionEvent::Notify { .. }
            | ExtensionEvent::Component { .. }
            | ExtensionEvent::SetEditorText { .. }
            | ExtensionEvent::Failed { .. }
            | ExtensionEvent::Log { .. } => None,
        }
    }
}

/// What a client with a screen tells extensions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "input", rename_all = "camelCase")]
pub enum ExtensionInput {
    /// The size of the screen, in characters.
    Size { columns: usize, rows: usize },
    /// A key for a component, as a terminal sends it.
    Key { component: u64, data: String },
    /// A shortcut that an extension registered.
    Shortcut { key: String },
}

/// The importance of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NotifyType {
    #[default]
    Info,
    Warning,
    Error,
}

impl NotifyType {
    pub fn name(self) -> &'static str {
        match self {
            NotifyType::Info => "info",
            NotifyType::Warning => "warning",
            NotifyType::Error => "error",
        }
    }
}

/// Where a widget is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WidgetPlacement {
    #[default]
    AboveEditor,
    BelowEditor,
}
