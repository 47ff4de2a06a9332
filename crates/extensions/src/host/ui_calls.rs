//! What extensions show to the user and ask the user.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use osier_protocol::{Dialog, DialogQuestion, ExtensionEvent, ExtensionInput, UserAnswer};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::calls::{ExtensionCall, read_params};
use super::extension::{Extension, TimeLimit};
use super::session::SessionExtensions;
use crate::frame::Failure;

/// More components than an extension has.
const MAX_COMPONENTS: u64 = 1_000_000;
/// More extensions than a process has.
const MAX_EXTENSIONS: u64 = 1000;

/// The id of a component for clients.
fn component_id(extension: &Extension, number: u64) -> Result<u64, Failure> {
    if number >= MAX_COMPONENTS {
        return Err(Failure::new("too many components"));
    }
    let process = u64::try_from(extension.process_number).unwrap_or_default();
    Ok((process * MAX_EXTENSIONS + u64::from(extension.number)) * MAX_COMPONENTS + number)
}

#[derive(Debug, Deserialize)]
struct ComponentParams {
    component: u64,
    #[serde(default)]
    lines: Vec<String>,
}

/// Shows a component until the extension or the user ends it. It gets the keys.
pub(super) async fn component(call: &ExtensionCall) -> Result<Value, Failure> {
    let ComponentParams { component, .. } = call.params()?;
    let dialog = Dialog::Component { component: component_id(&call.extension, component)? };
    let name = call.extension.path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let question = DialogQuestion { title: name.unwrap_or_default(), dialog, timeout: None };
    let Some(worker) = call.session.worker() else { return Ok(Value::Null) };
    call.extension.open_dialogs.fetch_add(1, Ordering::Relaxed);
    worker.ask_dialog(question, &call.cancel).await;
    call.extension.open_dialogs.fetch_sub(1, Ordering::Relaxed);
    Ok(Value::Null)
}

/// Shows something that needs no id and no name, which an extension could forge.
pub(super) fn show(session: &SessionExtensions, event: ExtensionEvent) -> Result<(), Failure> {
    match event {
        ExtensionEvent::Component { .. }
        | ExtensionEvent::SetShortcut { .. }
        | ExtensionEvent::Failed { .. }
        | ExtensionEvent::Log { .. } => Err(Failure::new("ui.show cannot show this")),
        event => {
            session.show(event);
            Ok(())
        }
    }
}

/// Shows the lines of a component.
pub(super) fn draw_component(
    session: &SessionExtensions,
    extension: &Extension,
    params: &serde_json::value::RawValue,
) -> Result<(), Failure> {
    let ComponentParams { component, lines } = read_params(params)?;
    session.show(ExtensionEvent::Component { component: component_id(extension, component)?, lines });
    Ok(())
}

impl SessionExtensions {
    /// Passes input of a client on to the extension that it is for.
    pub(super) fn receive_input(self: &Arc<SessionExtensions>, input: &ExtensionInput) {
        match input {
            ExtensionInput::Size { columns, rows } => {
                for extension in self.running() {
                    extension.notice("ui.size", &json!({ "columns": columns, "rows": rows }));
                }
            }
            ExtensionInput::Key { component, data } => {
                let (owner, number) = (component / MAX_COMPONENTS, component % MAX_COMPONENTS);
                let process = usize::try_from(owner / MAX_EXTENSIONS).unwrap_or(usize::MAX);
                let extension = u32::try_from(owner % MAX_EXTENSIONS).unwrap_or(u32::MAX);
                if let Some(extension) = self.find(process, extension) {
                    extension.notice("component.input", &json!({ "component": number, "data": data }));
                }
            }
            ExtensionInput::Shortcut { key } => self.run_shortcut(key),
        }
    }

    /// Among extensions, the last one that registered a key has it.
    fn run_shortcut(self: &Arc<SessionExtensions>, key: &str) {
        let has = |extension: &&Arc<Extension>| {
            extension.registrations().shortcuts.iter().any(|known| known == key)
        };
        let Some(extension) = self.all().iter().rev().find(has).cloned() else { return };
        let (session, params) = (self.clone(), json!({ "key": key }));
        tokio::spawn(async move {
            let done =
                extension.request("shortcut", &params, TimeLimit::None, &CancellationToken::new()).await;
            if let Err(failure) = done {
                session.report(&extension.path.display().to_string(), "shortcut", &failure);
            }
        });
    }
}

/// Asks the user. `null` without an answer.
pub(super) async fn dialog(call: &ExtensionCall) -> Result<Value, Failure> {
    let DialogRequest { question } = call.params()?;
    let Some(worker) = call.session.worker() else { return Ok(Value::Null) };
    let is_confirm = matches!(question.dialog, Dialog::Confirm { .. });
    let timeout = question.timeout;
    call.extension.open_dialogs.fetch_add(1, Ordering::Relaxed);
    let asked = worker.ask_dialog(question, &call.cancel);
    let answer = match timeout {
        Some(time) => tokio::time::timeout(Duration::from_millis(time), asked).await.ok().flatten(),
        None => asked.await,
    };
    call.extension.open_dialogs.fetch_sub(1, Ordering::Relaxed);
    Ok(match answer {
        Some(UserAnswer::Text { text }) => json!(text),
        Some(_) if is_confirm => json!(true),
        _ => Value::Null,
    })
}

/// The parameters of a dialog. `method` is the kind.
#[derive(Debug, serde::Deserialize)]
#[serde(from = "Value")]
struct DialogRequest {
    question: DialogQuestion,
}

impl From<Value> for DialogRequest {
    fn from(params: Value) -> DialogRequest {
        let text = |key: &str| params[key].as_str().map(str::to_owned);
        let dialog = match params["method"].as_str() {
            Some("select") => {
                let options = params["options"].as_array().into_iter().flatten();
                Dialog::Select {
                    options: options.filter_map(|text| Some(text.as_str()?.to_owned())).collect(),
                }
            }
            Some("confirm") => Dialog::Confirm { message: text("message").unwrap_or_default() },
            Some("editor") => Dialog::Editor { prefill: text("prefill") },
            _ => Dialog::Input { placeholder: text("placeholder") },
        };
        let timeout = params["timeout"].as_f64().filter(|time| *time > 0.0).map(|time| time as u64);
        DialogRequest {
            question: DialogQuestion { title: text("title").unwrap_or_default(), dialog, timeout },
        }
    }
}
