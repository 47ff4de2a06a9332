//! Asks a server for its list of models, for providers whose models are not in the built-in list.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use tokio::time::timeout;

use crate::api::{ErrorResponse, classify_error};
use crate::error::ModelError;
use crate::http_clients::{HttpTransport, error_chain};
use crate::provider::Provider;
use crate::registry::Registry;
use crate::request::{Api, ModelInfo};

const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Larger than any model list.
const MAX_LIST_BYTES: usize = 16 << 20;

/// The models of the server. Sizes come from the server if it sends them, everything else from the registry.
pub(crate) async fn discover_models(
    registry: &Registry,
    provider: &Provider,
    transport: &HttpTransport,
    key: Option<&SecretString>,
) -> Result<Vec<ModelInfo>, ModelError> {
    let network = |detail: String| ModelError::Network { provider: provider.id.clone(), detail };
    let path = if provider.api == Api::AnthropicMessages { "/v1/models" } else { "/models" };
    let client = transport.client(&provider.base_url).map_err(network)?;
    let headers = crate::remote::request_headers(provider, key, provider.api, &[])
        .map_err(|hint| ModelError::NotConfigured { provider: provider.id.clone(), hint })?;
    let exchange = async {
        let mut response = client.get(provider.url(path)).headers(headers).send().await?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while body.len() <= MAX_LIST_BYTES
            && let Some(bytes) = response.chunk().await?
        {
            body.extend_from_slice(&bytes);
        }
        Ok::<_, reqwest::Error>((status, body))
    };
    let (status, body) = match timeout(DISCOVERY_TIMEOUT, exchange).await {
        Err(_) => return Err(network(format!("no answer within {} s", DISCOVERY_TIMEOUT.as_secs()))),
        Ok(Err(error)) => return Err(network(error_chain(&error.without_url()))),
        Ok(Ok(answer)) => answer,
    };
    if status != 200 {
        return Err(classify_error(&ErrorResponse::from_http(&provider.id, "", status, &body)));
    }
    let malformed = |detail: String| ModelError::Malformed { provider: provider.id.clone(), detail };
    if body.len() > MAX_LIST_BYTES {
        return Err(malformed("the model list is larger than 16 MiB".to_owned()));
    }
    let list: Value = serde_json::from_slice(&body)
        .map_err(|error| malformed(format!("the model list is not JSON ({error})")))?;
    Ok(parse_model_list(&list, registry, provider))
}

fn parse_model_list(list: &Value, registry: &Registry, provider: &Provider) -> Vec<ModelInfo> {
    let models = [&list["data"], &list["models"]].into_iter().find_map(Value::as_array);
    let info = |model: &Value| {
        let name = model["id"].as_str().or_else(|| model["name"].as_str())?;
        let id = name.strip_prefix("models/").unwrap_or(name);
        let listed = registry.models().iter().find(|known| known.provider == provider.id && known.id == id);
        let mut info =
            listed.map_or_else(|| registry.assume_model(provider, id), |known| ModelInfo::clone(known));
        let first = |keys: [&Value; 4]| keys.into_iter().find_map(Value::as_u64);
        let meta = &model["meta"];
        let window =
            [&model["context_length"], &model["max_model_len"], &meta["n_ctx"], &model["inputTokenLimit"]];
        if let Some(window) = first(window).or_else(|| model["max_input_tokens"].as_u64()) {
            info.context_window = window;
        }
        if let Some(output) = model["outputTokenLimit"].as_u64().or_else(|| model["max_tokens"].as_u64()) {
            info.max_output = output;
        }
        info.max_output = info.max_output.min(info.context_window);
        Some(info)
    };
    models.into_iter().flatten().filter_map(info).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_model_sizes_from_each_kind_of_server() {
        let registry = Registry::built_in();
        let sizes = |provider: &str, list: Value| -> Vec<(String, u64, u64)> {
            let models = parse_model_list(&list, &registry, registry.provider(provider).unwrap());
            models.into_iter().map(|model| (model.id, model.context_window, model.max_output)).collect()
        };
        let one = |id: &str, window, output| vec![(id.to_owned(), window, output)];
        assert_eq!(
            sizes("llamacpp", json!({ "data": [{ "id": "a", "meta": { "n_ctx": 2048 } }] })),
            one("a", 2048, 2048)
        );
        assert_eq!(
            sizes("vllm", json!({ "data": [{ "id": "a", "max_model_len": 40_000 }] })),
            one("a", 40_000, 16_384)
        );
        assert_eq!(sizes("ollama", json!({ "data": [{ "id": "q:8b" }] })), one("q:8b", 32_768, 16_384));
        assert_eq!(
            sizes(
                "google",
                json!({ "models": [{ "name": "models/g", "inputTokenLimit": 9_000, "outputTokenLimit": 800 }] })
            ),
            one("g", 9_000, 800)
        );
        assert_eq!(
            sizes("anthropic", json!({ "data": [{ "id": "claude-opus-5-5" }] })),
            one("claude-opus-5-5", 1_000_000, 128_000)
        );
        assert!(sizes("ollama", json!({ "oops": 1 })).is_empty());
    }
}
