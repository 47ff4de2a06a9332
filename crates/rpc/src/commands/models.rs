//! The model and the thinking level.

use osier_protocol::query::{ModelDescription, ModelDetails};
use osier_protocol::{ClientCommand, ClientError, EngineRequest, ErrorCode, ThinkingLevel};
use serde_json::{Value, json};

use crate::response::{CommandResult, null_data, response_data};
use crate::server::RpcServer;
use crate::session::RpcSession;

/// A model as pi describes it.
pub(crate) fn model_json(model: &ModelDescription) -> Value {
    let input: &[&str] = if model.images { &["text", "image"] } else { &["text"] };
    json!({
        "id": model.id,
        "name": model.name,
        "api": model.api,
        "provider": model.provider,
        "baseUrl": model.base_url,
        "reasoning": model.can_think,
        "input": input,
        "cost": model.price,
        "contextWindow": model.context_window,
        "maxTokens": model.max_output,
    })
}

/// The level that a model uses instead of `wanted`: the next lower one that it supports, or the lowest.
pub(crate) fn supported_level(model: &ModelDescription, wanted: ThinkingLevel) -> ThinkingLevel {
    let levels = &model.thinking_levels;
    let lower = levels.iter().rev().find(|level| **level <= wanted);
    *lower.or(levels.first()).unwrap_or(&wanted)
}

impl RpcSession {
    pub(crate) async fn set_model(&self, provider: &str, id: &str) -> CommandResult {
        let details = self.client.model_details().await?;
        let wanted = |model: &&ModelDescription| model.provider == provider && model.id == id;
        let Some(model) = details.usable.iter().find(wanted) else {
            let error = format!("Model not found: {provider}/{id}");
            return Err(ClientError::new(ErrorCode::ModelNotFound, error));
        };
        self.use_model(model).await?;
        response_data(&model_json(model))
    }

    async fn use_model(&self, model: &ModelDescription) -> Result<(), ClientError> {
        let name = format!("{}/{}", model.provider, model.id);
        self.client.send(ClientCommand::SetModel { model: name }).await?;
        self.emit(|translator| translator.set_model(&model.provider, &model.id)).await;
        self.settle().await
    }

    pub(crate) async fn cycle_model(&self) -> CommandResult {
        let ModelDetails { current, usable, .. } = self.client.model_details().await?;
        let is_current =
            |model: &ModelDescription| model.provider == current.provider && model.id == current.id;
        let next = usable.iter().position(is_current).map_or(0, |index| (index + 1) % usable.len().max(1));
        let Some(model) = usable.get(next).filter(|model| !is_current(model)) else { return null_data() };
        self.use_model(model).await?;
        let level = supported_level(model, self.client.status().await?.thinking);
        response_data(&json!({ "model": model_json(model), "thinkingLevel": level, "isScoped": false }))
    }

    pub(crate) async fn available_models(&self) -> CommandResult {
        let details = self.client.model_details().await?;
        let models: Vec<Value> = details.usable.iter().map(model_json).collect();
        response_data(&json!({ "models": models }))
    }

    /// A level that the model does not support is replaced by the next lower one, or the lowest.
    pub(crate) async fn set_thinking_level(&self, level: &str) -> CommandResult {
        let Some(wanted) = ThinkingLevel::parse(level) else {
            let names = ThinkingLevel::ALL.map(ThinkingLevel::name).join(", ");
            let error = format!("no thinking level {level}; the levels are {names}");
            return Err(ClientError::new(ErrorCode::Usage, error));
        };
        let model = self.client.model_details().await?.current;
        self.use_level(supported_level(&model, wanted)).await?;
        Ok(None)
    }

    async fn use_level(&self, level: ThinkingLevel) -> Result<(), ClientError> {
        self.client.send(ClientCommand::SetThinking { level }).await?;
        self.emit(|translator| translator.set_thinking_level(level.name())).await;
        self.settle().await
    }

    pub(crate) async fn cycle_thinking_level(&self) -> CommandResult {
        let model = self.client.model_details().await?.current;
        let levels = &model.thinking_levels;
        if levels.len() < 2 {
            return null_data();
        }
        let current = supported_level(&model, self.client.status().await?.thinking);
        let next =
            levels.iter().position(|level| *level == current).map_or(0, |index| (index + 1) % levels.len());
        self.use_level(levels[next]).await?;
        response_data(&json!({ "level": levels[next] }))
    }

    pub(crate) async fn available_thinking_levels(&self) -> CommandResult {
        response_data(&json!({ "levels": self.client.model_details().await?.current.thinking_levels }))
    }
}

impl RpcServer {
    /// As in pi, the setting is stored and applies to later sessions too.
    pub(crate) async fn set_auto_compaction(&self, enabled: bool) -> CommandResult {
        let (key, value) = ("compaction.enabled".to_owned(), enabled.to_string());
        self.engine.call(EngineRequest::SetSetting { key, value }).await?;
        Ok(None)
    }

    pub(crate) fn set_auto_retry(&self, enabled: bool) -> CommandResult {
        match enabled {
            true => Ok(None),
            false => Err(ClientError::new(
                ErrorCode::Usage,
                "failed requests are always retried; abort_retry stops a retry",
            )),
        }
    }
}
