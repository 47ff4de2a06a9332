//! What extensions show to the user and ask the user.

use std::sync::Arc;
use std::time::Duration;

use osier_protocol::{Dialog, DialogQuestion, ExtensionEvent, FloatPlace, UserAnswer};
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::{ExtensionCall, read_params};
use super::extension::Extension;
use super::session::SessionExtensions;
use crate::frame::Failure;

/// More components than an extension has.
const MAX_COMPONENTS: u64 = 1_000_000;
/// More extensions than a process has.
const MAX_EXTENSIONS: u64 = 1000;

/// The id of a component for clients.
pub(super) fn component_id(extension: &Extension, number: u64) -> Result<u64, Failure> {
    if number >= MAX_COMPONENTS {
        return Err(Failure::new("too many components"));
    }
    let process = u64::try_from(extension.process_number).unwrap_or_default();
    Ok((process * MAX_EXTENSIONS + u64::from(extension.number)) * MAX_COMPONENTS + number)
}

/// The extension of a component, and the component's number there.
pub(super) fn find_component(session: &SessionExtensions, component: u64) -> Option<(Arc<Extension>, u64)> {
    let (owner, number) = (component / MAX_COMPONENTS, component % MAX_COMPONENTS);
    let process = usize::try_from(owner / MAX_EXTENSIONS).ok()?;
    let extension = u32::try_from(owner % MAX_EXTENSIONS).ok()?;
    Some((session.find(process, extension)?, number))
}

#[derive(Debug, Deserialize)]
struct ComponentParams {
    component: u64,
    #[serde(default)]
    floating: bool,
    /// It gets the keys when it floats.
    #[serde(default)]
    focuses: bool,
    #[serde(default)]
    lines: Vec<String>,
    #[serde(default)]
    place: Option<FloatPlace>,
}

/// Shows a component until the extension or the user ends it. It gets the keys.
pub(super) async fn component(call: &ExtensionCall) -> Result<Value, Failure> {
    let ComponentParams { component, floating, focuses, .. } = call.params()?;
    let dialog = Dialog::Component { component: component_id(&call.extension, component)?, floating };
    let name = call.extension.path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let extension = Some(call.extension.shown_name());
    let question = DialogQuestion { title: name.unwrap_or_default(), dialog, timeout: None, extension };
    let Some(worker) = call.session.worker() else { return Ok(Value::Null) };
    // One that floats may stay for the whole session. It is a dialog only if it wants the keys.
    let _open = (!floating || focuses).then(|| call.extension.open_dialog());
    let closed = worker.ask_dialog(question, &call.cancel);
    match floating {
        true => drop(closed.await),
        false => drop(announced(call, json!({ "kind": "custom" }), closed).await),
    }
    Ok(Value::Null)
}

/// Observers learn that Osier waits for the user, and that it no longer does.
async fn announced<T>(call: &ExtensionCall, mut event: Value, asked: impl Future<Output = T>) -> T {
    event["reason"] = json!("ui_prompt");
    let named = |name: &str| {
        let mut event = event.clone();
        event["type"] = json!(name);
        event
    };
    let (start, end) = ("ui_prompt_start", "ui_prompt_end");
    let (answer, ()) = tokio::join!(asked, call.session.observe(start, || named(start)));
    call.session.observe(end, || named(end)).await;
    answer
}

/// Shows something that needs no id and no name, which an extension could forge.
pub(super) fn show(
    session: &SessionExtensions,
    extension: &Extension,
    event: ExtensionEvent,
) -> Result<(), Failure> {
    match event {
        ExtensionEvent::Notify { .. }
        | ExtensionEvent::SetStatus { .. }
        | ExtensionEvent::SetWidget { .. }
        | ExtensionEvent::SetTitle { .. }
        | ExtensionEvent::SetFooter { .. }
        | ExtensionEvent::SetHeader { .. }
        | ExtensionEvent::SetEditorText { .. }
        | ExtensionEvent::PasteToEditor { .. }
        | ExtensionEvent::SetWorking { .. }
        | ExtensionEvent::SetHiddenThinkingLabel { .. }
        | ExtensionEvent::SetToolsExpanded { .. }
        | ExtensionEvent::SetTheme { .. } => session.show_of(extension, event),
        _ => Err(Failure::new("ui.show cannot show this")),
    }
}

/// Shows the lines of a component.
pub(super) fn draw_component(
    session: &SessionExtensions,
    extension: &Extension,
    params: &serde_json::value::RawValue,
) -> Result<(), Failure> {
    let ComponentParams { component, lines, place, .. } = read_params(params)?;
    session.show(ExtensionEvent::Component { component: component_id(extension, component)?, lines, place });
    Ok(())
}

/// Asks the user. `null` without an answer.
pub(super) async fn dialog(call: &ExtensionCall) -> Result<Value, Failure> {
    let DialogRequest { mut question } = call.params()?;
    question.extension = Some(call.extension.shown_name());
    let Some(worker) = call.session.worker() else { return Ok(Value::Null) };
    let is_confirm = matches!(question.dialog, Dialog::Confirm { .. });
    let timeout = question.timeout;
    let event = json!({ "kind": kind_of(&question.dialog), "title": question.title });
    let _open = call.extension.open_dialog();
    let asked = worker.ask_dialog(question, &call.cancel);
    let in_time = async {
        match timeout {
            Some(time) => tokio::time::timeout(Duration::from_millis(time), asked).await.ok().flatten(),
            None => asked.await,
        }
    };
    let answer = announced(call, event, in_time).await;
    Ok(match answer {
        Some(UserAnswer::Text { text }) => json!(text),
        Some(_) if is_confirm => json!(true),
        _ => Value::Null,
    })
}

fn kind_of(dialog: &Dialog) -> &'static str {
    match dialog {
        Dialog::Select { .. } => "select",
        Dialog::Confirm { .. } => "confirm",
        Dialog::Input { .. } => "input",
        Dialog::Editor { .. } => "editor",
        Dialog::Component { .. } => "custom",
    }
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
            question: DialogQuestion {
                title: text("title").unwrap_or_default(),
                dialog,
                timeout,
                extension: None,
            },
        }
    }
}
