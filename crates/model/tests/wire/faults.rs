//! What goes wrong on the way, the same for every protocol: refusals, cuts, nonsense, slowness, and being cancelled.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use osier_model::{Api, CancellationToken, Delta, Failure, Model, Models, StopReason};
use tokio::sync::Notify;

use crate::server::{Reply, Server};
use crate::support::{
    APIS, ask, check_the_rules, deltas, drawn, failure, message, models, models_with, quick,
};

/// A whole stream with text, thoughts and calls.
fn whole(api: Api) -> &'static str {
    match api {
        Api::AnthropicMessages => include_str!("streams/anthropic.sse"),
        Api::OpenaiCompletions => include_str!("streams/openai-completions.sse"),
        Api::OpenaiResponses => include_str!("streams/openai-responses.sse"),
        _ => include_str!("streams/google.sse"),
    }
}

/// An event that says this piece of text, in the midst of a stream, and what must come before it.
fn saying(api: Api, text: &str) -> String {
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

fn beginning(api: Api) -> &'static str {
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

fn ending(api: Api) -> &'static str {
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

/// An error as this protocol words it.
fn error(api: Api, kind: &str, said: &str) -> String {
    match api {
        Api::AnthropicMessages => format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{said}"}},"request_id":"req_1"}}"#
        ),
        Api::GoogleGenerativeAi => {
            format!(r#"{{"error":{{"message":"{said}","status":"{}"}}}}"#, kind.to_uppercase())
        }
        _ => format!(r#"{{"error":{{"message":"{said}","type":"{kind}","param":null,"code":null}}}}"#),
    }
}

async fn ask_for(api: Api, replies: Vec<Reply>) -> (Vec<Delta>, Server) {
    let server = Server::playing(replies).await;
    let models = models(&server.url, api);
    (deltas(&models, ask(&models)).await, server)
}

#[tokio::test]
async fn what_can_never_succeed_is_asked_once() {
    for api in APIS {
        for (status, kind, said, expected) in [
            (400, "invalid_request_error", "bad field", "bad_request"),
            (401, "authentication_error", "no", "unauthorized"),
            (403, "permission_error", "no", "unauthorized"),
            (404, "not_found_error", "model: m", "no_such_model"),
            (413, "request_too_large", "too large", "overflow"),
            (400, "invalid_request_error", "prompt is too long: 9000 tokens > 8192 maximum", "overflow"),
            (402, "billing_error", "pay", "quota"),
        ] {
            let (deltas, server) = ask_for(api, vec![Reply::error(status, &error(api, kind, said))]).await;
            assert_eq!(
                (failure(&deltas).kind(), server.received().len()),
                (expected, 1),
                "{api:?} {status} {deltas:?}"
            );
            assert_eq!(message(&deltas).stop_reason, StopReason::Error);
            assert_eq!(message(&deltas).error_message, Some(failure(&deltas).message()));
        }
    }
}

#[tokio::test]
async fn what_passes_is_asked_again_and_told() {
    for api in APIS {
        for (status, kind) in
            [(429, "rate_limit_error"), (500, "api_error"), (503, "api_error"), (529, "overloaded_error")]
        {
            let (deltas, server) = ask_for(
                api,
                vec![Reply::error(status, &error(api, kind, "later")), Reply::events(whole(api))],
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
async fn after_the_last_try_the_failure_is_told() {
    for api in APIS {
        let (deltas, server) =
            ask_for(api, vec![Reply::error(529, &error(api, "overloaded_error", "Overloaded"))]).await;
        assert_eq!(
            (failure(&deltas).kind(), server.received().len(), deltas.len()),
            ("overloaded", 2, 2),
            "{deltas:?}"
        );
    }
}

#[tokio::test]
async fn retry_after_is_kept_to() {
    let busy = Reply::error(429, &error(Api::AnthropicMessages, "rate_limit_error", "slow down"));
    let replies =
        vec![busy.clone().header("retry-after", "0.08"), Reply::events(whole(Api::AnthropicMessages))];
    let server = Server::playing(replies).await;
    let models_here = models(&server.url, Api::AnthropicMessages);
    let mut stream = models_here.stream(ask(&models_here), CancellationToken::new());
    let first = stream.next().await;
    let Some(Delta::Retrying { delay, why, .. }) = first else { panic!("{first:?}") };
    assert_eq!(why.retry_after(), Some(Duration::from_millis(80)));
    assert!(delay >= Duration::from_millis(80));
    // From here on only the test moves the clock.
    tokio::time::pause();
    let almost = delay - Duration::from_millis(2);
    assert!(stream.next().now_or_never().is_none());
    tokio::time::advance(almost).await;
    assert!(stream.next().now_or_never().is_none());
    assert_eq!(server.received().len(), 1, "it is not asked again before the time is over");
    tokio::time::advance(Duration::from_millis(4)).await;
    tokio::time::resume();
    let rest: Vec<Delta> = stream.collect().await;
    assert!(matches!(rest.last(), Some(Delta::Done(_))), "{rest:?}");
    assert_eq!(server.received().len(), 2);

    // The clock of these tests stands at 2023-11-14 22:13:20.
    let replies = vec![
        busy.clone().header("retry-after", "Tue, 14 Nov 2023 22:13:21 GMT"),
        Reply::events(whole(Api::AnthropicMessages)),
    ];
    let server = Server::playing(replies).await;
    let models = models(&server.url, Api::AnthropicMessages);
    let mut stream = models.stream(ask(&models), CancellationToken::new());
    let first = stream.next().await.unwrap();
    assert!(
        matches!(&first, Delta::Retrying { why, .. } if why.retry_after() == Some(Duration::from_secs(1))),
        "{first:?}"
    );
    drop(stream);

    let (deltas, server) = ask_for(Api::AnthropicMessages, vec![busy.header("retry-after", "3600")]).await;
    assert_eq!(
        (failure(&deltas).retry_after(), server.received().len()),
        (Some(Duration::from_secs(3600)), 1)
    );
}

#[tokio::test]
async fn a_stream_cut_anywhere_gives_what_came_and_never_half_a_call() {
    for api in APIS {
        let whole = whole(api);
        let whole_message = message(&ask_for(api, vec![Reply::events(whole)]).await.0).clone();
        let events: Vec<usize> = whole.match_indices("\n\n").map(|(at, _)| at + 2).collect();
        // The last event of each only says goodbye.
        for cut in events.iter().take(events.len() - 2).flat_map(|at| [*at, at + 9, at + 60]) {
            let cut = (0..=cut.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at)).unwrap();
            let (deltas, _) = ask_for(api, vec![Reply::stream().send(&whole[..cut]).cut()]).await;
            let failure = failure(&deltas);
            let (text, all) = (message(&deltas).text(), whole_message.text());
            assert_eq!(failure.kind(), "cut", "{api:?} at {cut}: {deltas:?}");
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
async fn a_stream_that_ends_politely_but_early_is_cut_and_retried() {
    for api in APIS {
        let (deltas, server) =
            ask_for(api, vec![Reply::events(&(beginning(api).to_owned() + &saying(api, "Half a sen")))])
                .await;
        assert_eq!(
            (failure(&deltas).kind(), message(&deltas).text().as_str()),
            ("cut", "Half a sen"),
            "{api:?}"
        );
        assert_eq!(server.received().len(), 2, "{api:?}: it is tried as often as a refused request");
    }
}

#[tokio::test]
async fn a_cut_is_retried_and_nothing_of_the_broken_reply_is_left() {
    for api in APIS {
        let whole_message = message(&ask_for(api, vec![Reply::events(whole(api))]).await.0).clone();
        let half = (0..=whole(api).len() / 2).rev().find(|at| whole(api).is_char_boundary(*at)).unwrap();
        for beginning in [": hello\n\n", &whole(api)[..half]] {
            let (deltas, server) =
                ask_for(api, vec![Reply::stream().send(beginning).cut(), Reply::events(whole(api))]).await;
            assert!(matches!(deltas.last(), Some(Delta::Done(_))), "{api:?} {deltas:?}");
            assert_eq!(message(&deltas), &whole_message, "{api:?}");
            assert_eq!(server.received().len(), 2);
        }
    }
}

/// A reply that calls `ls` with these arguments, as text.
fn calling(api: Api, arguments: &str) -> String {
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
async fn arguments_that_are_not_json_mark_the_call_and_do_not_fail_the_reply() {
    for api in APIS {
        for arguments in ["{\"path\": ", "not json", "[1]"] {
            let (deltas, server) = ask_for(api, vec![Reply::events(&calling(api, arguments))]).await;
            assert!(matches!(deltas.last(), Some(Delta::Done(_))), "{api:?} {deltas:?}");
            let message = message(&deltas);
            let call = message.calls_to_run().next().expect("the call is there to be answered");
            let error = call.invalid_arguments.as_deref().unwrap_or_default();
            assert!(
                error.starts_with("not ") && error.contains("Received: "),
                "{api:?} {arguments}: {error}"
            );
            assert_eq!(server.received().len(), 1);
        }
        let (deltas, _) = ask_for(api, vec![Reply::events(&calling(api, "{\"path\": \".\"}"))]).await;
        let call = message(&deltas).calls_to_run().next().unwrap();
        assert_eq!(
            (call.invalid_arguments.as_deref(), &call.arguments["path"]),
            (None, &".".into()),
            "{api:?}"
        );
    }
}

#[tokio::test]
async fn nonsense_in_the_stream_is_a_failure_with_what_came_before() {
    for api in APIS {
        let body = beginning(api).to_owned() + &saying(api, "Well") + "data: {\"oops\": [}\n\n" + ending(api);
        let (deltas, _) = ask_for(api, vec![Reply::events(&body)]).await;
        assert_eq!(
            (failure(&deltas).kind(), message(&deltas).text().as_str()),
            ("malformed", "Well"),
            "{api:?}"
        );
    }
}

#[tokio::test]
async fn bytes_may_come_one_by_one_also_inside_a_character() {
    for api in APIS {
        let (at_once, _) = ask_for(api, vec![Reply::events(whole(api))]).await;
        for size in [1, 7] {
            let (in_pieces, _) = ask_for(api, vec![Reply::events(whole(api)).in_chunks_of(size)]).await;
            assert_eq!(drawn(&in_pieces), drawn(&at_once), "{api:?} in chunks of {size}");
        }
        let (crlf, _) = ask_for(api, vec![Reply::events(&whole(api).replace('\n', "\r\n"))]).await;
        assert_eq!(drawn(&crlf), drawn(&at_once), "{api:?}");
    }
}

#[tokio::test]
async fn text_is_handed_out_before_the_rest_was_sent() {
    for api in APIS {
        let go_on = Arc::new(Notify::new());
        let reply = Reply::events(&(beginning(api).to_owned() + &saying(api, "a")))
            .in_chunks_of(40)
            .wait(&go_on)
            .send(saying(api, "b") + ending(api));
        let server = Server::playing([reply]).await;
        let models = models_with(&server.url, api, "silence_timeout = 60").with_retry(quick());
        let mut stream = models.stream(ask(&models), CancellationToken::new());
        let mut all = Vec::new();
        // The server sends the end only after this saw the beginning.
        while let Some(delta) = stream.next().await {
            if matches!(&delta, Delta::Text { text, .. } if text == "a") {
                go_on.notify_one();
            }
            all.push(delta);
        }
        assert_eq!(message(&all).text(), "ab", "{api:?}");
        assert_eq!(server.received().len(), 1, "{api:?}");
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let server = Server::playing([Reply::stream().send(saying(Api::OpenaiCompletions, "a")).hang()]).await;
    let models = models_with(&server.url, Api::OpenaiCompletions, "silence_timeout = 0").with_retry(quick());
    let deltas = deltas(&models, ask(&models)).await;
    assert_eq!(failure(&deltas).kind(), "cut", "{deltas:?}");
}

#[tokio::test]
async fn ten_thousand_tiny_deltas() {
    for api in APIS {
        let many: String = (0..10_000).map(|n| saying(api, &format!("{} ", n % 10))).collect();
        let body = beginning(api).to_owned() + &many + ending(api);
        let (deltas, _) = ask_for(api, vec![Reply::events(&body).in_chunks_of(1400)]).await;
        assert_eq!(
            deltas.iter().filter(|delta| matches!(delta, Delta::Text { .. })).count(),
            10_000,
            "{api:?}"
        );
        assert_eq!(message(&deltas).text().len(), 20_000, "{api:?}");
    }
}

#[tokio::test]
async fn cancelling_in_the_middle_keeps_exactly_what_was_handed_out() {
    for api in APIS {
        let server = Server::playing([Reply::stream()
            .send(beginning(api))
            .send(saying(api, "one "))
            .send(saying(api, "two "))
            .hang()])
        .await;
        let models = models(&server.url, api);
        let cancel = CancellationToken::new();
        let mut stream = models.stream(ask(&models), cancel.clone());
        let mut seen = Vec::new();
        while !matches!(seen.last(), Some(Delta::Text { text, .. }) if text == "two ") {
            seen.push(stream.next().await.unwrap());
        }
        cancel.cancel();
        seen.push(stream.next().await.unwrap());
        assert!(stream.next().await.is_none());
        check_the_rules(&seen, &ask(&models));
        assert_eq!(
            (failure(&seen), message(&seen).stop_reason),
            (&Failure::Cancelled, StopReason::Aborted),
            "{api:?}"
        );
        assert_eq!(message(&seen).text(), "one two ", "{api:?}");
        server.client_hung_up().await;
    }
}

#[tokio::test]
async fn cancelling_before_an_answer_ends_at_once() {
    let server = Server::playing([Reply::stream().hang()]).await;
    let models = models(&server.url, Api::AnthropicMessages);
    let cancel = CancellationToken::new();
    let asking = models.stream(ask(&models), cancel.clone()).collect::<Vec<Delta>>();
    let cancelling = async {
        server.was_asked().await;
        cancel.cancel();
    };
    let (deltas, ()) = tokio::join!(asking, cancelling);
    assert_eq!((failure(&deltas), deltas.len()), (&Failure::Cancelled, 1));
    server.client_hung_up().await;
    let again: Vec<Delta> = models.stream(ask(&models), cancel).collect().await;
    assert_eq!((failure(&again), server.received().len()), (&Failure::Cancelled, 1));
}

#[tokio::test]
async fn cancelling_while_waiting_to_try_again_ends_at_once() {
    let server = Server::playing([Reply::error(529, "").header("retry-after", "50")]).await;
    let models = models(&server.url, Api::AnthropicMessages);
    let cancel = CancellationToken::new();
    let mut stream = models.stream(ask(&models), cancel.clone());
    assert!(matches!(stream.next().await, Some(Delta::Retrying { .. })));
    assert!(stream.next().now_or_never().is_none(), "it waits");
    cancel.cancel();
    let last = stream.next().now_or_never().expect("it does not wait any longer");
    assert!(matches!(last, Some(Delta::Failed(Failure::Cancelled, _))), "{last:?}");
}

#[tokio::test]
async fn dropping_the_stream_hangs_up() {
    let server = Server::playing([Reply::stream().send(saying(Api::OpenaiCompletions, "a")).hang()]).await;
    let models = models(&server.url, Api::OpenaiCompletions);
    let mut stream = models.stream(ask(&models), CancellationToken::new());
    while !matches!(stream.next().await, Some(Delta::Text { .. })) {}
    drop(stream);
    server.client_hung_up().await;
}

#[tokio::test]
async fn overflow_is_recognised_with_the_sizes_of_llama_cpp() {
    let body = r#"{"error":{"code":400,"message":"request (4010 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4010,"n_ctx":2048}}"#;
    for api in APIS {
        let (deltas, _) = ask_for(api, vec![Reply::error(400, body)]).await;
        assert!(
            matches!(failure(&deltas), Failure::Overflow { needed: Some(4010), window: Some(2048), .. }),
            "{deltas:?}"
        );
    }
}

#[tokio::test]
async fn nobody_there_a_wrong_address_and_a_missing_key_say_what_to_do() {
    let unused = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let said = async |models: Models| failure(&deltas(&models, ask(&models)).await).message();
    let nobody = said(models(&unused, Api::OpenaiCompletions)).await;
    assert!(
        nobody.starts_with(&format!(
            "p cannot be used yet: nothing answers at {unused} (tcp connect error: Connection refused"
        )),
        "{nobody}"
    );
    let wrong = said(models("not an address", Api::OpenaiCompletions)).await;
    assert!(wrong.starts_with("p cannot be used yet: `base_url` is no address"), "{wrong}");
    let keyless = models_with(&unused, Api::OpenaiCompletions, "").with_retry(quick());
    let registry = keyless.registry().clone();
    let keyless = Models::new(registry, osier_model::Surroundings::none());
    assert_eq!(said(keyless).await, "p cannot be used yet: set P_KEY");
}

#[tokio::test]
async fn a_redirect_is_not_followed_since_it_would_carry_the_key_along() {
    let elsewhere = Server::playing([Reply::events(whole(Api::OpenaiCompletions))]).await;
    let moved = Reply::error(307, "").header("location", &format!("{}/chat/completions", elsewhere.url));
    let (deltas, _) = ask_for(Api::OpenaiCompletions, vec![moved]).await;
    assert!(failure(&deltas).message().contains("set `base_url`"), "{deltas:?}");
    assert!(elsewhere.received().is_empty());
}

/// A server may send without end; memory and time stay bounded, and the failure says what was too much.
#[tokio::test]
async fn replies_calls_and_arguments_without_end_are_refused() {
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
    let text = saying(Api::OpenaiCompletions, &piece);
    let endless = [
        ((0..100_000).map(call).collect::<String>(), "more than 500 blocks or calls"),
        (call(0) + &arguments(&piece).repeat(17), "more than 16 MiB of arguments"),
        (text.repeat(65), "a reply of more than 64 MiB"),
    ];
    for (body, what) in endless {
        let body = beginning(Api::OpenaiCompletions).to_owned() + &body;
        let replies = vec![Reply::events(&body), Reply::events(&body)];
        let (deltas, _) = ask_for(Api::OpenaiCompletions, replies).await;
        assert!(failure(&deltas).message().contains(what), "{}", failure(&deltas).message());
        assert!(message(&deltas).calls().count() <= 500, "{what}");
    }
}
