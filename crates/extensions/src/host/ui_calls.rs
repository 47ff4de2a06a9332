//! What extensions show to the user and ask the user.

use std::sync::atomic::Ordering;
use std::time::Duration;

use osier_protocol::{Dialog, DialogQuestion, UserAnswer};
use serde_json::{Value, json};

use super::calls::ExtensionCall;
use crate::frame::Failure;

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
