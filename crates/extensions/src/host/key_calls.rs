//! Keys of providers. An extension gets one only if the user agrees: once for each version of its code and each provider.

use osier_agent::Worker;
use osier_protocol::{Dialog, DialogQuestion, UserAnswer, visible_line};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ExtensionMode;
use super::calls::ExtensionCall;
use crate::frame::Failure;
use crate::source::ExtensionOrigin;

#[derive(Debug, Deserialize)]
struct AccessParams {
    provider: String,
}

/// The key and the headers of a provider; `null` if the extension may not have them, or if there are none.
pub(super) async fn access(call: &ExtensionCall) -> Result<Value, Failure> {
    let AccessParams { provider } = call.params()?;
    let Some(worker) = call.session.worker() else { return Ok(Value::Null) };
    let lookup = worker.config().model_lookup.clone();
    if lookup.base_url(&provider).is_none() || !may_have_key(call, &worker, &provider).await {
        return Ok(Value::Null);
    }
    let Ok(access) = lookup.access(&provider).await else { return Ok(Value::Null) };
    let headers: Map<String, Value> =
        access.expose_headers().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    Ok(json!({ "apiKey": access.expose_key(), "headers": headers }))
}

/// `-e FILE` is consent. Others ask the user, if there is one.
async fn may_have_key(call: &ExtensionCall, worker: &Worker, provider: &str) -> bool {
    let (session, extension) = (&call.session, &call.extension);
    if extension.source.origin == ExtensionOrigin::CommandLine {
        return true;
    }
    // Calls at the same time ask once.
    let _asking = session.key_questions.lock().await;
    let (source, manifest) = (&extension.source, &extension.manifest);
    let catalog = &session.options.catalog;
    if let Some(allowed) = catalog.key_decision(source, manifest, provider) {
        return allowed;
    }
    let has_client = matches!(session.options.mode, ExtensionMode::Terminal | ExtensionMode::Rpc);
    if !has_client || !worker.config().has_user {
        return false;
    }
    let _open = extension.open_dialog();
    let answer = worker.ask_question(key_question(call, provider), &call.cancel).await;
    // Without an answer, the user is asked again.
    let Some(answer) = answer else { return false };
    let allowed = !matches!(answer, UserAnswer::No { .. });
    if let Err(reason) = catalog.store_key_decision(source, manifest, provider, allowed) {
        session.report(&extension.path.display().to_string(), "getApiKey", &Failure::new(reason));
    }
    allowed
}

fn key_question(call: &ExtensionCall, provider: &str) -> DialogQuestion {
    let path = call.extension.path.to_string_lossy();
    let (path, provider) = (visible_line(&path), visible_line(provider));
    DialogQuestion {
        title: format!("Give the API key of {provider} to the extension {path}?"),
        dialog: Dialog::Confirm {
            message: "It calls the provider itself. Its code can then do with the key what it wants."
                .to_owned(),
        },
        timeout: None,
        extension: None,
    }
}
