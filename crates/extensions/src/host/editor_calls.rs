//! The prompt editor of clients: an extension may replace it, read its text, and write into it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use osier_protocol::{EditorView, ExtensionEvent};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::ExtensionMode;
use super::calls::{ExtensionCall, read_params};
use super::extension::Extension;
use super::session::SessionExtensions;
use super::ui_calls::{component_id, find_component};
use crate::frame::Failure;

/// An editor as its extension draws it.
#[derive(Debug, Deserialize)]
struct DrawParams {
    component: u64,
    /// The first lines of a new editor.
    #[serde(default)]
    opens: bool,
    lines: Vec<String>,
    text: String,
    cursor: usize,
}

#[derive(Debug, Deserialize)]
struct KeyParams {
    client: u64,
    data: String,
}

#[derive(Debug, Deserialize)]
struct SubmitParams {
    client: u64,
    text: String,
}

/// Handles a notice about the editor of an extension. Only the one that is shown is heard.
pub(super) fn handle(
    session: &SessionExtensions,
    extension: &Extension,
    method: &str,
    params: &RawValue,
) -> Result<(), Failure> {
    let is_shown = || session.screen.lock().editor == Some(extension.place());
    match method {
        "editor.draw" => {
            let DrawParams { component, opens, lines, text, cursor } = read_params(params)?;
            let component = component_id(extension, component)?;
            if opens {
                session.screen.lock().editor = Some(extension.place());
            }
            if is_shown() {
                let editor = Some(EditorView { component, lines, text, cursor });
                session.show_of(extension, ExtensionEvent::SetEditor { editor })?;
            }
        }
        _ if !is_shown() => {}
        "editor.close" => {
            session.screen.lock().editor = None;
            session.show_of(extension, ExtensionEvent::SetEditor { editor: None })?;
        }
        "editor.key" => {
            let KeyParams { client, data } = read_params(params)?;
            session.show(ExtensionEvent::EditorKey { client, data });
        }
        _ => {
            let SubmitParams { client, text } = read_params(params)?;
            session.show(ExtensionEvent::EditorSubmit { client, text });
        }
    }
    Ok(())
}

/// The text of the editor. Empty if no terminal answers.
pub(super) async fn text(call: &ExtensionCall) -> String {
    let session = &call.session;
    if session.options.mode != ExtensionMode::Terminal {
        return String::new();
    }
    let request = session.screen.last_request.fetch_add(1, Ordering::Relaxed);
    let (answer, text) = oneshot::channel();
    session.screen.lock().editor_requests.insert(request, answer);
    session.show(ExtensionEvent::AskEditorText { request });
    let text = tokio::time::timeout(call.extension.times().editor_text, text).await;
    session.screen.lock().editor_requests.remove(&request);
    text.ok().and_then(Result::ok).unwrap_or_default()
}

impl SessionExtensions {
    /// Passes the text of a client's editor on: to the extension that asked, or to the editor that replaces it.
    pub(super) fn receive_editor_text(
        self: &Arc<SessionExtensions>,
        component: Option<u64>,
        request: Option<u64>,
        text: &str,
        cursor: usize,
    ) {
        let waiting = request.and_then(|request| self.screen.lock().editor_requests.remove(&request));
        if let Some(waiting) = waiting {
            // The extension may have stopped waiting.
            let _ = waiting.send(text.to_owned());
        }
        if let Some((extension, number)) = component.and_then(|component| find_component(self, component)) {
            extension.notice("editor.text", &json!({ "component": number, "text": text, "cursor": cursor }));
        }
    }
}
