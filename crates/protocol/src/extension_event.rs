//! What extensions show to the user. The names are those of pi's RPC protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The names of colors that extensions use. In the lines of components, `38;6;N` and `48;6;N` select the color with this index as
/// foreground or background, so that each client uses its own theme.
#[rustfmt::skip]
pub const THEME_TOKENS: &[&str] = &[
    "accent", "border", "borderAccent", "borderMuted", "success", "error", "warning", "muted", "dim", "text",
    "thinkingText", "selectedBg", "userMessageBg", "userMessageText", "customMessageBg", "customMessageText",
    "customMessageLabel", "toolPendingBg", "toolSuccessBg", "toolErrorBg", "toolTitle", "toolOutput", "mdHeading",
    "mdLink", "mdLinkUrl", "mdCode", "mdCodeBlock", "mdCodeBlockBorder", "mdQuote", "mdQuoteBorder", "mdHr",
    "mdListBullet", "toolDiffAdded", "toolDiffRemoved", "toolDiffContext", "syntaxComment", "syntaxKeyword",
    "syntaxFunction", "syntaxVariable", "syntaxString", "syntaxNumber", "syntaxType", "syntaxOperator",
    "syntaxPunctuation", "thinkingOff", "thinkingMinimal", "thinkingLow", "thinkingMedium", "thinkingHigh",
    "thinkingXhigh", "bashMode", "thinkingMax", "scrollbarTrack", "scrollbarThumb", "searchMatchBg", "searchMatchText",
];

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
    /// The lines of a component, and where they are if it floats. Styles are escape sequences.
    #[serde(rename = "component")]
    Component {
        component: u64,
        lines: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<FloatPlace>,
    },
    /// An extension draws messages, entries or calls of tools by this name. Clients ask for their lines with
    /// [`ExtensionInput::Render`](crate::ExtensionInput::Render).
    #[serde(rename = "setRenderer")]
    SetRenderer {
        target: RenderTarget,
        name: String,
        /// It also draws what usually surrounds a call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        own_shell: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removed: bool,
    },
    /// The lines that a renderer drew, for the id that a client asked about.
    #[serde(rename = "rendered")]
    Rendered { id: String, columns: usize, expanded: bool, lines: RenderedLines },
    /// An editor of an extension instead of the prompt editor. Without one, the prompt editor comes back.
    #[serde(rename = "setEditor")]
    SetEditor {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        editor: Option<EditorView>,
    },
    /// The editor of an extension leaves this key to the client that sent it.
    #[serde(rename = "editorKey")]
    EditorKey { client: u64, data: String },
    /// The editor of an extension submits a text, because of a key of this client.
    #[serde(rename = "editorSubmit")]
    EditorSubmit { client: u64, text: String },
    /// Asks for the text of the editor. The answer is [`ExtensionInput::EditorText`](crate::ExtensionInput::EditorText).
    #[serde(rename = "askEditorText")]
    AskEditorText { request: u64 },
    /// Text to insert at the cursor of the editor.
    #[serde(rename = "pasteToEditor")]
    PasteToEditor { text: String },
    /// An extension wants every key before anything else handles it.
    #[serde(rename = "setInputListener")]
    SetInputListener {
        listener: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removed: bool,
    },
    /// What listeners made of a key; without data, they handled it.
    #[serde(rename = "terminalInput")]
    TerminalInput {
        client: u64,
        number: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
    },
    /// An extension completes text in the editor.
    #[serde(rename = "setAutocomplete")]
    SetAutocomplete {
        source: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removed: bool,
    },
    /// Completions of extensions. If there are none, the client shows its own.
    #[serde(rename = "completions")]
    Completions { client: u64, number: u64, items: Vec<EditorCompletion> },
    /// How running work is shown. Fields without a value have their usual look.
    #[serde(rename = "setWorking")]
    SetWorking {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The steps of the animation; an empty list shows none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frames: Option<Vec<String>>,
        /// Milliseconds between two steps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<u64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hidden: bool,
    },
    /// The text that stands for folded thinking.
    #[serde(rename = "setHiddenThinkingLabel")]
    SetHiddenThinkingLabel {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    #[serde(rename = "setToolsExpanded")]
    SetToolsExpanded { expanded: bool },
    /// The name of a theme, until the client ends.
    #[serde(rename = "setTheme")]
    SetTheme { name: String },
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
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removed: bool,
    },
    #[serde(rename = "set_editor_text")]
    SetEditorText { text: String },
    /// Extensions have other commands now. The query `commands` has all of them.
    #[serde(rename = "commandsChanged")]
    CommandsChanged,
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
            ExtensionEvent::SetRenderer { target, name, .. } => Some((target.slot(), name)),
            ExtensionEvent::SetInputListener { listener, .. } => Some(("input", listener)),
            ExtensionEvent::SetAutocomplete { source, .. } => Some(("autocomplete", source)),
            ExtensionEvent::SetTitle { .. } => Some(("title", "")),
            ExtensionEvent::SetFooter { .. } => Some(("footer", "")),
            ExtensionEvent::SetHeader { .. } => Some(("header", "")),
            ExtensionEvent::SetEditor { .. } => Some(("editor", "")),
            ExtensionEvent::SetWorking { .. } => Some(("working", "")),
            ExtensionEvent::SetHiddenThinkingLabel { .. } => Some(("thinking", "")),
            _ => None,
        }
    }

    /// The event that takes this one back, for events whose effect stays.
    pub fn undo(&self) -> Option<ExtensionEvent> {
        let mut event = self.clone();
        match &mut event {
            ExtensionEvent::SetStatus { status_text, .. } => *status_text = None,
            ExtensionEvent::SetWidget { widget_lines, .. } => *widget_lines = None,
            ExtensionEvent::SetShortcut { removed, .. }
            | ExtensionEvent::SetRenderer { removed, .. }
            | ExtensionEvent::SetInputListener { removed, .. }
            | ExtensionEvent::SetAutocomplete { removed, .. } => *removed = true,
            // An empty title is none.
            ExtensionEvent::SetTitle { title } => title.clear(),
            ExtensionEvent::SetFooter { lines } | ExtensionEvent::SetHeader { lines } => *lines = None,
            ExtensionEvent::SetEditor { editor } => *editor = None,
            ExtensionEvent::SetWorking { message, frames, interval, hidden } => {
                (*message, *frames, *interval, *hidden) = (None, None, None, false);
            }
            ExtensionEvent::SetHiddenThinkingLabel { label } => *label = None,
            _ => return None,
        }
        Some(event)
    }
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

/// Where a component floats over the screen, in rows and columns from the top left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FloatPlace {
    pub row: usize,
    pub column: usize,
    pub width: usize,
    /// Those with higher numbers cover the others.
    pub order: u64,
    pub hidden: bool,
    /// It gets the keys.
    pub focused: bool,
}

/// What a renderer draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RenderTarget {
    /// Messages of extensions, by their `customType`.
    Message,
    /// Other entries of extensions, by their `customType`.
    Entry,
    /// Calls of a tool, by its name.
    Tool,
}

impl RenderTarget {
    fn slot(self) -> &'static str {
        match self {
            RenderTarget::Message => "message renderer",
            RenderTarget::Entry => "entry renderer",
            RenderTarget::Tool => "tool renderer",
        }
    }
}

/// The lines of a renderer. What it does not draw has its usual look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderedLines {
    /// The call of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Vec<String>>,
    /// The result of a tool, a message or an entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Vec<String>>,
}

/// An editor of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EditorView {
    pub component: u64,
    pub lines: Vec<String>,
    pub text: String,
    /// The place of the cursor in the text, in bytes.
    pub cursor: usize,
}

/// A completion: the text of the editor after it is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EditorCompletion {
    pub label: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub text: String,
    /// In bytes.
    pub cursor: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_on_the_screen_can_be_taken_back() {
        for json in [
            r#"{"method":"setStatus","statusKey":"a","statusText":"b"}"#,
            r#"{"method":"setRenderer","target":"tool","name":"todo"}"#,
            r#"{"method":"setEditor","editor":{"component":1}}"#,
            r#"{"method":"setWorking","message":"thinking"}"#,
            r#"{"method":"setTitle","title":"x"}"#,
        ] {
            let event: ExtensionEvent = serde_json::from_str(json).unwrap();
            let undo = event.undo().unwrap();
            assert_ne!(undo, event, "{json}");
            assert_eq!(undo.slot(), event.slot(), "{json}");
        }
        assert_eq!(ExtensionEvent::PasteToEditor { text: String::new() }.undo(), None);
    }
}
