//! Models: which ones there are, and calls that extensions make. The cost of a call is stored in the session.

use futures_util::StreamExt;
use osier_agent::{ModelLookup, Worker};
use osier_model::{
    Api, CacheRetention, Delta, Message, ModelInfo, ReplyDraft, Request, ThinkingLevel, TokenUsage, ToolSpec,
    display_url,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::ExtensionCall;
use super::extension::Extension;
use super::session::SessionExtensions;
use crate::frame::Failure;

/// A model as pi describes it.
pub(super) fn describe(model: &ModelInfo) -> Value {
    let (price, levels) = (&model.price, model.thinking.choices());
    json!({
        "id": model.id,
        "provider": model.provider,
        "name": model.name,
        "api": model.api.name(),
        "contextWindow": model.context_window,
        "maxTokens": model.max_output,
        "reasoning": model.thinking.can_think(),
        "thinkingLevels": levels.iter().map(|level| level.name()).collect::<Vec<_>>(),
        "input": if model.images { vec!["text", "image"] } else { vec!["text"] },
        "cost": { "input": price.input, "output": price.output, "cacheRead": price.cache_read, "cacheWrite": price.cache_write },
    })
}

fn worker(call: &ExtensionCall) -> Result<Worker, Failure> {
    call.session.worker().ok_or_else(|| Failure::new("no agent works in this session"))
}

/// A model with the place where its provider is reached, without what may be secret in it.
pub(super) fn describe_at(lookup: &dyn ModelLookup, model: &ModelInfo) -> Value {
    let mut described = describe(model);
    let url = lookup.base_url(&model.provider).filter(|_| model.api != Api::Extension);
    if let Some(url) = url {
        described["baseUrl"] = json!(display_url(&url));
    }
    described
}

/// A model by its full name.
pub(super) fn describe_named(session: &SessionExtensions, name: &str) -> Option<Value> {
    let worker = session.worker()?;
    let lookup = &*worker.config().model_lookup;
    let known = lookup.all_models().into_iter().find(|model| model.full_name() == name);
    let model = known.or_else(|| lookup.find(name).ok().filter(|model| model.full_name() == name))?;
    Some(describe_at(lookup, &model))
}

#[derive(Debug, Deserialize)]
struct FindParams {
    name: String,
}

/// A model by its full name, whether or not it can be used.
pub(super) fn find(call: &ExtensionCall) -> Result<Option<Value>, Failure> {
    let FindParams { name } = call.params()?;
    Ok(describe_named(&call.session, &name))
}

/// The models that can be used now, or all.
pub(super) fn list(call: &ExtensionCall, all: bool) -> Value {
    let Some(worker) = call.session.worker() else { return json!([]) };
    let lookup = &*worker.config().model_lookup;
    let models = if all { lookup.all_models() } else { lookup.usable_models() };
    models.iter().map(|model| describe_at(lookup, model)).collect()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompleteParams {
    model: String,
    system_prompt: Option<String>,
    messages: Vec<Value>,
    #[serde(default)]
    tools: Vec<ToolSpec>,
    max_tokens: Option<u64>,
    thinking: Option<String>,
    /// The extension gets the pieces of the reply under this number while they arrive.
    stream: Option<u64>,
    /// The reply of a virtual model for which this call is made. Its cost is that of the reply.
    reply_token: Option<u64>,
}

/// Calls a model. A failure is a message with the reason, as in pi.
pub(super) async fn complete(call: &ExtensionCall) -> Result<Value, Failure> {
    let params: CompleteParams = call.params()?;
    let worker = worker(call)?;
    let config = worker.config();
    let error_text = |error: &dyn std::error::Error| Failure::new(osier_engine::error_chain(error));
    // The lookup may not know a model that was chosen in another way.
    let current = worker.model_choice().await.map_err(|error| error_text(&error))?.model;
    let model = match current.full_name() == params.model {
        true => current,
        false => config.model_lookup.find(&params.model).map_err(|error| error_text(&error))?,
    };
    let mut messages = Vec::new();
    for message in params.messages {
        messages.push(Message::from_json(message).map_err(|error| Failure::new(error.to_string()))?);
    }
    let mut request = Request::new(model.clone(), messages);
    request.system = params.system_prompt.unwrap_or_default();
    (request.tools, request.max_tokens, request.cache) =
        (params.tools, params.max_tokens, CacheRetention::Off);
    request.thinking =
        params.thinking.and_then(|level| ThinkingLevel::parse(&level)).unwrap_or(ThinkingLevel::Off);
    let mut deltas = config.model.stream(request, call.cancel.clone());
    let mut reply = ReplyDraft::new(&model, now());
    let (mut usage, mut requests) = (TokenUsage::default(), 0);
    let message = loop {
        let delta = deltas.next().await;
        let delta = delta.unwrap_or_else(|| reply.end_without_final_delta(call.cancel.is_cancelled()));
        reply.apply(&delta);
        if let (Some(stream), Some(event)) = (params.stream, piece(&delta)) {
            call.extension.notice("models.events", &json!({ "stream": stream, "event": event }));
        }
        match delta {
            Delta::Retrying { usage: lost, .. } => {
                usage += lost;
                requests += u64::from(lost.total_tokens > 0);
            }
            Delta::Done(message) | Delta::Failed(_, message) => {
                usage += message.usage;
                requests += 1;
                break message;
            }
            _ => {}
        }
    };
    let is_reply = |token| call.session.count_as_reply(&call.extension, token, usage);
    if !params.reply_token.is_some_and(is_reply) {
        store_usage(&call.session, &call.extension, &model, usage, requests).await;
    }
    Ok(json!(Message::Assistant(*message)))
}

/// A piece of a reply in the words of pi's streams. The library adds the message so far.
fn piece(delta: &Delta) -> Option<Value> {
    let at = |kind: &str, block: usize| json!({ "type": kind, "contentIndex": block });
    let with =
        |kind: &str, block: usize, text: &str| json!({ "type": kind, "contentIndex": block, "delta": text });
    Some(match delta {
        Delta::Start { .. } => json!({ "type": "start" }),
        Delta::TextStart { block } => at("text_start", *block),
        Delta::Text { block, text } => with("text_delta", *block, text),
        Delta::TextEnd { block, .. } => at("text_end", *block),
        Delta::ThinkingStart { block } => at("thinking_start", *block),
        Delta::Thinking { block, text } => with("thinking_delta", *block, text),
        Delta::ThinkingEnd { block, .. } => at("thinking_end", *block),
        Delta::ToolCallStart { block, id, name } => {
            json!({ "type": "toolcall_start", "contentIndex": block, "id": id, "name": name })
        }
        Delta::ToolCallArguments { block, json } => with("toolcall_delta", *block, json),
        Delta::ToolCallEnd { block, .. } => at("toolcall_end", *block),
        Delta::Retrying { .. } | Delta::Usage(_) | Delta::Done(_) | Delta::Failed(..) => return None,
    })
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Stores what a tool of an extension says it used. It is counted as a call of the current model.
pub(super) async fn store_tool_usage(session: &SessionExtensions, extension: &Extension, usage: TokenUsage) {
    let Some(worker) = session.worker() else { return };
    if let Ok(choice) = worker.model_choice().await {
        store_usage(session, extension, &choice.model, usage, 1).await;
    }
}

async fn store_usage(
    session: &SessionExtensions,
    extension: &Extension,
    model: &ModelInfo,
    mut usage: TokenUsage,
    requests: u64,
) {
    if usage.total_tokens == 0 {
        return;
    }
    if usage.cost.total == 0.0 {
        usage.cost = model.price.cost(&usage);
    }
    let name = extension.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut entry = json!({
        "type": "usage",
        "kind": "extension",
        "note": name,
        "usage": usage,
        "provider": model.provider,
        "model": model.id,
    });
    if requests > 1 {
        entry["usage"]["requests"] = json!(requests);
    }
    if let Err(error) = session.session.append_entry(entry.to_string().as_bytes()).await {
        tracing::warn!(error = %osier_engine::error_chain(&error), "cannot store the cost of an extension's model call");
    }
}
