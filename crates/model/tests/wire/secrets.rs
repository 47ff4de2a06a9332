//! Tests that a key is sent in one header and appears nowhere else.

use osier_model::Api;
use osier_model::Model;

use crate::server::{ScriptedResponse, ScriptedServer};
use crate::support::{APIS, KEY, deltas, hi_request, models, models_with};

#[tokio::test]
async fn key_is_sent_in_the_header_of_each_protocol() {
    for api in APIS {
        let server = ScriptedServer::playing([ScriptedResponse::error(400, "")]).await;
        let models = models(&server.url, api);
        deltas(&models, hi_request(&models)).await;
        let received = &server.received()[0];
        let expected = match api {
            Api::AnthropicMessages => ("x-api-key", KEY.to_owned()),
            Api::GoogleGenerativeAi => ("x-goog-api-key", KEY.to_owned()),
            _ => ("authorization", format!("Bearer {KEY}")),
        };
        assert_eq!(received.header(expected.0), Some(expected.1.as_str()), "{api:?}");
        let others =
            received.headers.iter().filter(|(name, value)| name != expected.0 && value.contains(KEY)).count();
        assert_eq!(others, 0);
        assert!(!received.path.contains(KEY) && !received.body.to_string().contains(KEY));
    }
}

#[tokio::test]
async fn key_echoed_by_the_server_is_redacted() {
    let header = "headers = { \"x-proxy-token\" = \"token-98765\" }";
    for status in [400, 401, 500] {
        let body =
            format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY} and token-98765"}}}}"#);
        let in_stream = format!("data: {{\"error\":{{\"message\":\"bad {KEY} token-98765\"}}}}\n\n");
        for reply in [
            ScriptedResponse::error(status, &body),
            ScriptedResponse::events(&in_stream),
            ScriptedResponse::events(&format!("data: {KEY}\n\n")),
        ] {
            let server = ScriptedServer::playing([reply]).await;
            let models = models_with(&server.url, Api::OpenaiCompletions, header);
            let deltas = deltas(&models, hi_request(&models)).await;
            let everything = format!(
                "{deltas:?} {models:?} {}",
                serde_json::to_string(crate::support::message(&deltas)).unwrap()
            );
            assert!(everything.contains("[key]"), "{everything}");
            assert!(!everything.contains(KEY) && !everything.contains("token-98765"), "{everything}");
            assert_eq!(server.received()[0].header("x-proxy-token"), Some("token-98765"));
        }
    }
}

/// Texts that contain a key, at positions such that every length limit falls inside the key in one of them.
fn around_every_limit(secret: &str) -> Vec<String> {
    let lengths = (40..100).chain(560..630).chain(5_980..6_010).step_by(7);
    lengths.map(|length| format!("{} {secret} and more", "x".repeat(length))).collect()
}

#[tokio::test]
async fn truncation_leaves_no_partial_key() {
    let secret = "zq-token-98765-abcdef";
    let header = format!("silence_timeout = 5\nheaders = {{ \"x-proxy\" = \"Bearer {secret}\" }}");
    for api in APIS {
        for text in around_every_limit(KEY).into_iter().chain(around_every_limit(secret)) {
            let in_json = serde_json::json!({ "error": { "message": text } });
            let in_stream = serde_json::json!({ "type": "error", "error": { "message": text } });
            let replies = [
                ScriptedResponse::error(400, &in_json.to_string()),
                ScriptedResponse::error(400, &serde_json::json!({ "odd": { "field": text } }).to_string()),
                ScriptedResponse::error(400, &format!("<html><b>{text}</b></html>"))
                    .header("content-type", "text/html"),
                ScriptedResponse::events(&format!("event: error\ndata: {in_stream}\n\n")),
                ScriptedResponse::events(&format!("data: {text}\n\n")),
                ScriptedResponse::error(200, &text),
            ];
            let server = ScriptedServer::playing(replies.clone()).await;
            let models = models_with(&server.url, api, &header)
                .with_retry(osier_model::RetryPolicy { max_attempts: 1, ..crate::support::fast_retry() });
            for _ in &replies {
                let deltas = deltas(&models, hi_request(&models)).await;
                let stored = serde_json::to_string(crate::support::message(&deltas)).unwrap();
                let everything = format!("{deltas:?} {stored}");
                for part in ["sk-very", "zq-token"] {
                    assert!(!everything.contains(part), "{api:?}: {everything}");
                }
            }
        }
    }
}

#[tokio::test]
async fn partial_key_at_the_error_size_limit_is_redacted() {
    for api in APIS {
        let body = format!("{}{}", " ".repeat((256 << 10) - 10), KEY);
        let server = ScriptedServer::playing([ScriptedResponse::error(400, &body[..256 << 10]).hang()]).await;
        let models = models(&server.url, api);
        let deltas = deltas(&models, hi_request(&models)).await;
        assert!(!format!("{deltas:?}").contains("sk-very"), "{deltas:?}");
    }
}

#[tokio::test]
async fn discovery_errors_contain_no_part_of_a_key() {
    let header = "headers = { \"x-proxy\" = \"Bearer zq-token-98765-abcdef\" }";
    for text in around_every_limit(KEY).into_iter().chain(around_every_limit("zq-token-98765-abcdef")) {
        let server = ScriptedServer::playing([
            ScriptedResponse::error(401, &text),
            ScriptedResponse::error(200, &text),
        ])
        .await;
        let models = models_with(&server.url, Api::OpenaiCompletions, header);
        for _ in 0..2 {
            let failure = models.discover("p").await.unwrap_err();
            let shown = format!("{failure:?}");
            assert!(!shown.contains("sk-very") && !shown.contains("zq-token"), "{shown}");
        }
    }
}

#[tokio::test]
async fn secrets_in_the_url_are_redacted() {
    let body = r#"{"error":{"message":"no route /v1?key=query-secret-1 for hunter2"}}"#;
    let server = ScriptedServer::playing([ScriptedResponse::error(404, body)]).await;
    let host = server.url.strip_prefix("http://").unwrap();
    let models = models(&format!("http://me:hunter2@{host}/v1?key=query-secret-1"), Api::OpenaiCompletions);
    let shown = format!("{:?}", deltas(&models, hi_request(&models)).await);
    assert!(
        shown.contains("no route") && !shown.contains("query-secret") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[tokio::test]
async fn oversized_model_list_is_refused() {
    let piece = vec![b' '; 1 << 20];
    let endless = (0..40).fold(ScriptedResponse::error(200, "["), |reply, _| reply.send(&piece));
    let server = ScriptedServer::playing([endless.hang()]).await;
    let failure = models(&server.url, Api::OpenaiCompletions).discover("p").await.unwrap_err();
    assert_eq!(failure.message(), "unexpected response from p: the model list is larger than 16 MiB");
}

#[tokio::test]
async fn key_from_a_command_is_cached_until_the_server_rejects_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let command = format!("echo x >> {}; echo key-$(wc -l < {} | tr -d ' ')", log.display(), log.display());
    let server = ScriptedServer::playing([
        ScriptedResponse::error(400, ""),
        ScriptedResponse::error(401, ""),
        ScriptedResponse::error(400, ""),
    ])
    .await;
    let spec: std::collections::BTreeMap<String, osier_model::ProviderSpec> =
        toml::from_str(&format!("[p]\napi = \"openai-completions\"\nbase_url = \"{}\"\napi_key_command = \"{command}\"\nmodels = [{{ id = \"m\" }}]", server.url)).unwrap();
    let registry = std::sync::Arc::new(osier_model::Registry::new(spec));
    let models = osier_model::ModelRouter::new(registry, osier_model::Environment::empty());
    for _ in 0..3 {
        let stream = models.stream(hi_request(&models), osier_model::CancellationToken::new());
        futures_util::StreamExt::collect::<Vec<_>>(stream).await;
    }
    let used: Vec<String> =
        server.received().iter().map(|request| request.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(used, ["Bearer key-1", "Bearer key-1", "Bearer key-2"]);
}

#[tokio::test]
async fn discovery_sends_the_key_and_redacts_it_in_errors() {
    for api in APIS {
        let list = r#"{"data":[{"id":"m"},{"id":"new","context_length":4096}]}"#;
        let refusal = format!(r#"{{"error":{{"message":"no such key: {KEY}"}}}}"#);
        let server = ScriptedServer::playing([
            ScriptedResponse::error(200, list),
            ScriptedResponse::error(401, &refusal),
        ])
        .await;
        let models = models(&server.url, api);
        let found: Vec<(String, u64)> = models
            .discover("p")
            .await
            .unwrap()
            .into_iter()
            .map(|model| (model.id, model.context_window))
            .collect();
        assert_eq!(found, [("m".to_owned(), 8192), ("new".to_owned(), 4096)], "{api:?}");
        let failure = models.discover("p").await.unwrap_err();
        assert!(failure.code() == "unauthorized" && !failure.message().contains(KEY), "{failure:?}");
        assert!(server.received()[0].headers.iter().any(|(_, value)| value.contains(KEY)));
    }
}

#[tokio::test]
async fn concurrent_rejections_all_redact_the_key() {
    let body = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
    let server = ScriptedServer::playing([ScriptedResponse::error(401, &body)]).await;
    let models = models(&server.url, Api::AnthropicMessages);
    let four = [(); 4].map(|()| deltas(&models, hi_request(&models)));
    for deltas in futures_util::future::join_all(four).await {
        assert!(!format!("{deltas:?}").contains(KEY) && format!("{deltas:?}").contains("[key]"));
    }
}
