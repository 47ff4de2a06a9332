//! Tests errors in every protocol: error responses, cut streams, invalid data, timeouts and cancellation.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use osier_model::{Api, CancellationToken, Delta, Model, ModelError, ModelRouter, StopReason};
use tokio::sync::Notify;

use crate::server::{ScriptedResponse, ScriptedServer};
use crate::support::{
    APIS, check_invariants, deltas, failure, fast_retry, hi_request, message, models, models_with, rendered,
};

/// A complete stream with text, thinking and calls.
fn full_stream(api: Api) -> &'static str {
    match api {
        Api::AnthropicMessages => include_str!("streams/anthropic.sse"),
        Api::OpenaiCompletions => include_str!("streams/openai-completions.sse"),
        Api::OpenaiResponses => include_str!("streams/openai-responses.sse"),
        _ => include_str!("streams/google.sse"),
    }
}

/// A text delta in the middle of a stream.
fn text_event(api: Api, text: &str) -> String {
    let text = serde_json::Value::from(text);
    match api {
        Api::AnthropicMessages => format!(
            "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}}}\n\n"
        ),
        Api::OpenaiCompletions => {
            format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}}}}]}}\n\n")
        }
        Api::OpenaiResponses => format!(
            "data: {{\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"delta\":{text}}}\n\n"
        ),
        _ => format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":{text}}}]}}}}]}}\n\n"),
    }
}

fn stream_start(api: Api) -> &'static str {
    match api {
        Api::AnthropicMessages => {
            "data: {\"type\":\"message_start\",\"message\":{\"id\":\"x\"}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
        }
        Api::OpenaiResponses => {
            "data: {\"type\":\"response.created\",\"response\":{\"id\":\"x\"}}\n\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\"}}\n\n"
        }
        _ => "",
    }
}

fn stream_end(api: Api) -> &'static str {
    match api {
        Api::AnthropicMessages => {
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
        }
        Api::OpenaiCompletions => {
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
        }
        Api::OpenaiResponses => {
            "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
        }
        _ => "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n",
    }
}

/// An error body in the format of the protocol.
fn error_body(api: Api, kind: &str, text: &str) -> String {
    match api {
        Api::AnthropicMessages => format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{text}"}},"request_id":"req_1"}}"#
        ),
        Api::GoogleGenerativeAi => {
            format!(r#"{{"error":{{"message":"{text}","status":"{}"}}}}"#, kind.to_uppercase())
        }
        _ => format!(r#"{{"error":{{"message":"{text}","type":"{kind}","param":null,"code":null}}}}"#),
    }
}

async fn run(api: Api, replies: Vec<ScriptedResponse>) -> (Vec<Delta>, ScriptedServer) {
    let server = ScriptedServer::playing(replies).await;
    let models = models(&server.url, api);
    (deltas(&models, hi_request(&models)).await, server)
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    for api in APIS {
        for (status, kind, text, expected) in [
            (400, "invalid_request_error", "bad field", "bad_request"),
            (401, "authentication_error", "no", "unauthorized"),
            (403, "permission_error", "no", "unauthorized"),
            (404, "not_found_error", "model: m", "no_such_model"),
            (413, "request_too_large", "too large", "overflow"),
            (400, "invalid_request_error", "prompt is too long: 9000 tokens > 8192 maximum", "overflow"),
            (402, "billing_error", "pay", "quota"),
        ] {
            let (deltas, server) =
                run(api, vec![ScriptedResponse::error(status, &error_body(api, kind, text))]).await;
            assert_eq!(
                (failure(&deltas).code(), server.received().len()),
                (expected, 1),
                "{api:?} {status} {deltas:?}"
            );
            assert_eq!(message(&deltas).stop_reason, StopReason::Error);
            assert_eq!(message(&deltas).error_message, Some(failure(&deltas).message()));
        }
    }
}

#[tokio::test]
async fn transient_errors_are_retried_and_reported() {
    for api in APIS {
        for (status, kind) in
            [(429, "rate_limit_error"), (500, "api_error"), (503, "api_error"), (529, "overloaded_error")]
        {
            let (deltas, server) = run(
                api,
                vec![
                    ScriptedResponse::error(status, &error_body(api, kind, "later")),
                    ScriptedResponse::events(full_stream(api)),
                ],
            )
            .await;
            assert!(matches!(&deltas[0], Delta::Retrying { attempt: 1, .. }), "{api:?} {status} {deltas:?}");
            assert!(matches!(deltas.last(), Some(Delta::Done(_))), "{api:?} {status} {deltas:?}");
            let received = server.received();
            assert_eq!((received.len(), &received[0].body), (2, &received[1].body));
        }
    }
}

#[tokio::test]
async fn error_is_reported_after_the_last_attempt() {
    for api in APIS {
        let (deltas, server) =
            run(api, vec![ScriptedResponse::error(529, &error_body(api, "overloaded_error", "Overloaded"))])
                .await;
        assert_eq!(
            (failure(&deltas).code(), server.received().len(), deltas.len()),
            ("overloaded", 2, 2),
            "{deltas:?}"
        );
    }
}

#[tokio::test]
async fn retry_after_is_honored() {
    let busy =
        ScriptedResponse::error(429, &error_body(Api::AnthropicMessages, "rate_limit_error", "slow down"));
    let replies = vec![
        busy.clone().header("retry-after", "0.08"),
        ScriptedResponse::events(full_stream(Api::AnthropicMessages)),
    ];
    let server = ScriptedServer::playing(replies).await;
    let models_here = models(&server.url, Api::AnthropicMessages);
    let mut stream = models_here.stream(hi_request(&models_here), CancellationToken::new());
    let first = stream.next().await;
    let Some(Delta::Retrying { delay, error, .. }) = first else { panic!("{first:?}") };
    assert_eq!(error.retry_after(), Some(Duration::from_millis(80)));
    assert!(delay >= Duration::from_millis(80));
    // From here on, the test controls the clock.
    tokio::time::pause();
    let almost = delay - Duration::from_millis(2);
    assert!(stream.next().now_or_never().is_none());
    tokio::time::advance(almost).await;
    assert!(stream.next().now_or_never().is_none());
    assert_eq!(server.received().len(), 1, "no retry before the delay is over");
    tokio::time::advance(Duration::from_millis(4)).await;
    tokio::time::resume();
    let rest: Vec<Delta> = stream.collect().await;
    assert!(matches!(rest.last(), Some(Delta::Done(_))), "{rest:?}");
    assert_eq!(server.received().len(), 2);

    // The clock of these tests is at 2023-11-14 22:13:20.
    let replies = vec![
        busy.clone().header("retry-after", "Tue, 14 Nov 2023 22:13:21 GMT"),
        ScriptedResponse::events(full_stream(Api::AnthropicMessages)),
    ];
    let server = ScriptedServer::playing(replies).await;
    let models = models(&server.url, Api::AnthropicMessages);
    let mut stream = models.stream(hi_request(&models), CancellationToken::new());
    let first = stream.next().await.unwrap();
    assert!(
        matches!(&first, Delta::Retrying { error, .. } if error.retry_after() == Some(Duration::from_secs(1))),
        "{first:?}"
    );
    drop(stream);

    let (deltas, server) = run(Api::AnthropicMessages, vec![busy.header("retry-after", "3600")]).await;
    assert_eq!(
        (failure(&deltas).retry_after(), server.received().len()),
        (Some(Duration::from_secs(3600)), 1)
    );
}

#[tokio::test]
async fn cut_stream_keeps_the_text_and_never_a_partial_call() {
    for api in APIS {
        let whole = full_stream(api);
        let whole_message = message(&run(api, vec![ScriptedResponse::events(whole)]).await.0).clone();
        let events: Vec<usize> = whole.match_indices("\n\n").map(|(at, _)| at + 2).collect();
        // The last events carry no content.
        for cut in events.iter().take(events.len() - 2).flat_map(|at| [*at, at + 9, at + 60]) {
            let cut = (0..=cut.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap();
            let (deltas, _) = run(api, vec![ScriptedResponse::stream().send(&whole[..cut]).cut()]).await;
            let failure = failure(&deltas);
            let (text, all) = (message(&deltas).text(), whole_message.text());
            assert_eq!(failure.code(), "cut", "{api:?} at {cut}: {deltas:?}");
            assert!(all.starts_with(&text), "{api:?} at {cut}: {text}");
            assert_eq!(message(&deltas).calls_to_run().count(), 0);
            let stored = serde_json::to_value(message(&deltas)).unwrap();
            for block in stored["content"].as_array().unwrap() {
                assert!(block["type"] != "toolCall" || block["arguments"].is_object(), "{block}");
            }
        }
    }
}

#[tokio::test]
async fn stream_that_ends_early_is_retried() {
    for api in APIS {
        let (deltas, server) = run(
            api,
            vec![ScriptedResponse::events(&(stream_start(api).to_owned() + &text_event(api, "Half a sen")))],
        )
        .await;
        assert_eq!(
            (failure(&deltas).code(), message(&deltas).text().as_str()),
            ("cut", "Half a sen"),
            "{api:?}"
        );
        assert_eq!(server.received().len(), 2, "{api:?}: it is retried like an error response");
    }
}

#[tokio::test]
async fn retry_after_a_cut_discards_the_partial_reply() {
    for api in APIS {
        let whole_message =
            message(&run(api, vec![ScriptedResponse::events(full_stream(api))]).await.0).clone();
        let half =
            (0..=full_stream(api).len() / 2).rev().find(|at| full_stream(api).is_char_boundary(*at)).unwrap();
        for beginning in [": hello\n\n", &full_stream(api)[..half]] {
            let (deltas, server) = run(
                api,
                vec![
                    ScriptedResponse::stream().send(beginning).cut(),
                    ScriptedResponse::events(full_stream(api)),
                ],
            )
            .await;
            assert!(matches!(deltas.last(), Some(Delta::Done(_))), "{api:?} {deltas:?}");
            assert_eq!(message(&deltas), &whole_message, "{api:?}");
            assert_eq!(server.received().len(), 2);
        }
    }
}

/// A stream that calls `ls` with these raw arguments.
fn call_stream(api: Api, arguments: &str) -> String {
    let text = serde_json::Value::from(arguments);
    match api {
        Api::AnthropicMessages => format!(
            "data: {{\"type\":\"message_start\",\"message\":{{\"id\":\"x\"}}}}\n\n\
             data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"ls\",\"input\":{{}}}}}}\n\n\
             data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":{text}}}}}\n\n\
             data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"tool_use\"}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
        ),
        Api::OpenaiCompletions => format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"function\":{{\"name\":\"ls\",\"arguments\":{text}}}}}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
        ),
        Api::OpenaiResponses => format!(
            "data: {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{{\"id\":\"m\",\"call_id\":\"c\",\"type\":\"function_call\",\"name\":\"ls\",\"arguments\":{text}}}}}\n\n\
             data: {{\"type\":\"response.completed\",\"response\":{{\"status\":\"completed\"}}}}\n\n"
        ),
        _ => format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"name\":\"ls\",\"args\":{text}}}}}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
        ),
    }
}

#[tokio::test]
async fn invalid_arguments_mark_the_call_without_failing_the_reply() {
    for api in APIS {
        for arguments in ["{\"path\": ", "not json", "[1]"] {
            let (deltas, server) =
                run(api, vec![ScriptedResponse::events(&call_stream(api, arguments))]).await;
            assert!(matches!(deltas.last(), Some(Delta::Done(_))), "{api:?} {deltas:?}");
            let message = message(&deltas);
            let call = message.calls_to_run().next().expect("the reply contains the call");
            let error = call.invalid_arguments.as_deref().unwrap_or_default();
            assert!(
                error.starts_with("not ") && error.contains("Received: "),
                "{api:?} {arguments}: {error}"
            );
            assert_eq!(server.received().len(), 1);
        }
        let (deltas, _) =
            run(api, vec![ScriptedResponse::events(&call_stream(api, "{\"path\": \".\"}"))]).await;
        let call = message(&deltas).calls_to_run().next().unwrap();
        assert_eq!(
            (call.invalid_arguments.as_deref(), &call.arguments["path"]),
            (None, &".".into()),
            "{api:?}"
        );
    }
}

#[tokio::test]
async fn invalid_json_in_the_stream_is_an_error_that_keeps_the_text() {
    for api in APIS {
        let body = stream_start(api).to_owned()
            + &text_event(api, "Well")
            + "data: {\"oops\": [}\n\n"
            + stream_end(api);
        let (deltas, _) = run(api, vec![ScriptedResponse::events(&body)]).await;
        assert_eq!(
            (failure(&deltas).code(), message(&deltas).text().as_str()),
            ("malformed", "Well"),
            "{api:?}"
        );
    }
}

#[tokio::test]
async fn chunking_does_not_change_the_deltas() {
    for api in APIS {
        let (at_once, _) = run(api, vec![ScriptedResponse::events(full_stream(api))]).await;
        for size in [1, 7] {
            let (in_pieces, _) =
                run(api, vec![ScriptedResponse::events(full_stream(api)).in_chunks_of(size)]).await;
            assert_eq!(rendered(&in_pieces), rendered(&at_once), "{api:?} in chunks of {size}");
        }
        let (crlf, _) =
            run(api, vec![ScriptedResponse::events(&full_stream(api).replace('\n', "\r\n"))]).await;
        assert_eq!(rendered(&crlf), rendered(&at_once), "{api:?}");
    }
}

#[tokio::test]
async fn text_is_delivered_before_the_reply_ends() {
    for api in APIS {
        let resume = Arc::new(Notify::new());
        let reply = ScriptedResponse::events(&(stream_start(api).to_owned() + &text_event(api, "a")))
            .in_chunks_of(40)
            .wait(&resume)
            .send(text_event(api, "b") + stream_end(api));
        let server = ScriptedServer::playing([reply]).await;
        let models = models_with(&server.url, api, "silence_timeout = 60").with_retry(fast_retry());
        let mut stream = models.stream(hi_request(&models), CancellationToken::new());
        let mut all = Vec::new();
        // The server sends the rest only after the test received the start.
        while let Some(delta) = stream.next().await {
            if matches!(&delta, Delta::Text { text, .. } if text == "a") {
                resume.notify_one();
            }
            all.push(delta);
        }
        assert_eq!(message(&all).text(), "ab", "{api:?}");
        assert_eq!(server.received().len(), 1, "{api:?}");
    }
}

#[tokio::test]
async fn silent_server_times_out() {
    let server = ScriptedServer::playing([ScriptedResponse::stream()
        .send(text_event(Api::OpenaiCompletions, "a"))
        .hang()])
    .await;
    let models =
        models_with(&server.url, Api::OpenaiCompletions, "silence_timeout = 0").with_retry(fast_retry());
    let deltas = deltas(&models, hi_request(&models)).await;
    assert_eq!(failure(&deltas).code(), "cut", "{deltas:?}");
}

#[tokio::test]
async fn ten_thousand_tiny_deltas() {
    for api in APIS {
        let many: String = (0..10_000).map(|n| text_event(api, &format!("{} ", n % 10))).collect();
        let body = stream_start(api).to_owned() + &many + stream_end(api);
        let (deltas, _) = run(api, vec![ScriptedResponse::events(&body).in_chunks_of(1400)]).await;
        assert_eq!(
            deltas.iter().filter(|delta| matches!(delta, Delta::Text { .. })).count(),
            10_000,
            "{api:?}"
        );
        assert_eq!(message(&deltas).text().len(), 20_000, "{api:?}");
    }
}

#[tokio::test]
async fn cancel_keeps_exactly_what_was_delivered() {
    for api in APIS {
        let server = ScriptedServer::playing([ScriptedResponse::stream()
            .send(stream_start(api))
            .send(text_event(api, "one "))
            .send(text_event(api, "two "))
            .hang()])
        .await;
        let models = models(&server.url, api);
        let cancel = CancellationToken::new();
        let mut stream = models.stream(hi_request(&models), cancel.clone());
        let mut seen = Vec::new();
        while !matches!(seen.last(), Some(Delta::Text { text, .. }) if text == "two ") {
            seen.push(stream.next().await.unwrap());
        }
        cancel.cancel();
        seen.push(stream.next().await.unwrap());
        assert!(stream.next().await.is_none());
        check_invariants(&seen, &hi_request(&models));
        assert_eq!(
            (failure(&seen), message(&seen).stop_reason),
            (&ModelError::Cancelled, StopReason::Aborted),
            "{api:?}"
        );
        assert_eq!(message(&seen).text(), "one two ", "{api:?}");
        server.client_disconnected().await;
    }
}

#[tokio::test]
async fn cancel_before_a_response_ends_at_once() {
    let server = ScriptedServer::playing([ScriptedResponse::stream().hang()]).await;
    let models = models(&server.url, Api::AnthropicMessages);
    let cancel = CancellationToken::new();
    let collecting = models.stream(hi_request(&models), cancel.clone()).collect::<Vec<Delta>>();
    let cancelling = async {
        server.request_received().await;
        cancel.cancel();
    };
    let (deltas, ()) = tokio::join!(collecting, cancelling);
    assert_eq!((failure(&deltas), deltas.len()), (&ModelError::Cancelled, 1));
    server.client_disconnected().await;
    let again: Vec<Delta> = models.stream(hi_request(&models), cancel).collect().await;
    assert_eq!((failure(&again), server.received().len()), (&ModelError::Cancelled, 1));
}

#[tokio::test]
async fn cancel_during_the_retry_delay_ends_at_once() {
    let server =
        ScriptedServer::playing([ScriptedResponse::error(529, "").header("retry-after", "50")]).await;
    let models = models(&server.url, Api::AnthropicMessages);
    let cancel = CancellationToken::new();
    let mut stream = models.stream(hi_request(&models), cancel.clone());
    assert!(matches!(stream.next().await, Some(Delta::Retrying { .. })));
    assert!(stream.next().now_or_never().is_none(), "waiting for the retry delay");
    cancel.cancel();
    let last = stream.next().now_or_never().expect("the wait ends");
    assert!(matches!(last, Some(Delta::Failed(ModelError::Cancelled, _))), "{last:?}");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = ScriptedServer::playing([ScriptedResponse::stream()
        .send(text_event(Api::OpenaiCompletions, "a"))
        .hang()])
    .await;
    let models = models(&server.url, Api::OpenaiCompletions);
    let mut stream = models.stream(hi_request(&models), CancellationToken::new());
    while !matches!(stream.next().await, Some(Delta::Text { .. })) {}
    drop(stream);
    server.client_disconnected().await;
}

#[tokio::test]
async fn overflow_with_the_token_counts_of_llama_cpp() {
    let body = r#"{"error":{"code":400,"message":"request (4010 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4010,"n_ctx":2048}}"#;
    for api in APIS {
        let (deltas, _) = run(api, vec![ScriptedResponse::error(400, body)]).await;
        assert!(
            matches!(
                failure(&deltas),
                ModelError::ContextOverflow { needed: Some(4010), window: Some(2048), .. }
            ),
            "{deltas:?}"
        );
    }
}

#[tokio::test]
async fn connection_url_and_key_errors_say_what_to_do() {
    let unused = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let error_of = async |models: ModelRouter| failure(&deltas(&models, hi_request(&models)).await).message();
    let no_server = error_of(models(&unused, Api::OpenaiCompletions)).await;
    assert!(
        no_server.starts_with(&format!(
            "cannot use p: no server answers at {unused} (tcp connect error: Connection refused"
        )),
        "{no_server}"
    );
    let wrong = error_of(models("not an address", Api::OpenaiCompletions)).await;
    assert!(wrong.starts_with("cannot use p: `base_url` is not a valid URL"), "{wrong}");
    let keyless = models_with(&unused, Api::OpenaiCompletions, "").with_retry(fast_retry());
    let registry = keyless.registry().clone();
    let keyless = ModelRouter::new(registry, osier_model::Environment::empty());
    assert_eq!(error_of(keyless).await, "cannot use p: set P_KEY");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere =
        ScriptedServer::playing([ScriptedResponse::events(full_stream(Api::OpenaiCompletions))]).await;
    let moved =
        ScriptedResponse::error(307, "").header("location", &format!("{}/chat/completions", elsewhere.url));
    let (deltas, _) = run(Api::OpenaiCompletions, vec![moved]).await;
    assert!(failure(&deltas).message().contains("set `base_url`"), "{deltas:?}");
    assert!(elsewhere.received().is_empty());
}

/// A server may send endless data. Memory and time stay bounded, and the error names the limit.
#[tokio::test]
async fn endless_replies_calls_and_arguments_are_refused() {
    let call = |id: usize| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":{id},\"id\":\"c{id}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{}}\"}}}}]}}}}]}}\n\n"
        )
    };
    let arguments = |text: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{text}\"}}}}]}}}}]}}\n\n"
        )
    };
    let piece = "x".repeat(1 << 20);
    let text = text_event(Api::OpenaiCompletions, &piece);
    let long_name = call(0).replace("read", &piece);
    let long_id = call(0).replace("\"c0\"", &format!("\"{piece}\""));
    // Frames with little content.
    let frames = format!(": {piece}\n\n").repeat(65);
    let endless = [
        ((0..100_000).map(call).collect::<String>(), "more than 500 blocks or calls"),
        (call(0) + &arguments(&piece).repeat(17), "more than 16 MiB of content"),
        (text.repeat(17), "more than 16 MiB of content"),
        (long_name, "a call with a name of more than 64 KiB"),
        (long_id, "a call with a name of more than 64 KiB"),
        (frames, "more than 64 MiB"),
    ];
    for (body, what) in endless {
        let body = stream_start(Api::OpenaiCompletions).to_owned() + &body;
        let (deltas, server) = run(Api::OpenaiCompletions, vec![ScriptedResponse::events(&body)]).await;
        assert_eq!(failure(&deltas).code(), "too_large", "{}", failure(&deltas).message());
        assert!(failure(&deltas).message().contains(what), "{}", failure(&deltas).message());
        assert_eq!(server.received().len(), 1, "{what}: it is not requested again");
        assert!(message(&deltas).calls().count() <= 500, "{what}");
    }
}
