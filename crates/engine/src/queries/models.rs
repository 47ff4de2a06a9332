//! The models of a session.

use osier_agent::Worker;
use osier_model::ModelInfo;
use osier_protocol::query::{ModelDescription, ModelDetails, ModelPrice};

use crate::error::EngineError;

/// The full names of the models that can be used now.
pub(super) fn names(worker: &Worker) -> Vec<String> {
    worker.config().model_lookup.usable_models().iter().map(|model| model.full_name()).collect()
}

pub(super) async fn details(worker: &Worker) -> Result<ModelDetails, EngineError> {
    let choice = worker.model_choice().await?;
    let usable = worker.config().model_lookup.usable_models();
    Ok(ModelDetails {
        current: description(worker, &choice.model),
        usable: usable.iter().map(|model| description(worker, model)).collect(),
        automatic_compaction: worker.config().compaction.automatic,
    })
}

fn description(worker: &Worker, model: &ModelInfo) -> ModelDescription {
    ModelDescription {
        provider: model.provider.clone(),
        id: model.id.clone(),
        name: model.name.clone(),
        api: model.api.name().to_owned(),
        base_url: worker.config().model_lookup.base_url(&model.provider).unwrap_or_default(),
        images: model.images,
        can_think: model.thinking.can_think(),
        thinking_levels: model.thinking.choices(),
        context_window: model.context_window,
        max_output: model.max_output,
        price: ModelPrice {
            input: model.price.input,
            output: model.price.output,
            cache_read: model.price.cache_read,
            cache_write: model.price.cache_write,
        },
    }
}
