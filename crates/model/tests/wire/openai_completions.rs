//! Streams of Chat Completions, from OpenAI and compatible servers.

use expect_test::expect;
use osier_model::Api::OpenaiCompletions;

use crate::server::{ScriptedResponse, ScriptedServer};
use crate::support::{deltas, hi_request, models, play, rendered};

const ALL: &str = include_str!("streams/openai-completions.sse");

fn stream(chunks: &[&str]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

#[tokio::test]
async fn openai_text_and_interleaved_calls() {
    expect![[r#"
        start chatcmpl-9 m-2026
        0 text
        0   Two |files 😀.
        0 end
        1 call read call_a
        1   {"pa
        2 call read call_b
        2   {"path"
        1   th":"a"}
        2   :"b"}
        usage in 200 out 50 read 800 write 0 thought 20 cost 0.0003800
        1 end
        2 end
        done ToolUse
    "#]]
    .assert_eq(&play(OpenaiCompletions, ALL).await);
}

#[tokio::test]
async fn llama_cpp_token_by_token() {
    let chunks = [
        r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"chatcmpl-x","model":"m","system_fingerprint":"b1","object":"chat.completion.chunk"}"#,
        r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"id":"V2cj","type":"function","function":{"name":"read_file","arguments":"{"}}]}}],"id":"chatcmpl-x","model":"m"}"#,
        r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"path\":\"a\""}}]}}],"id":"chatcmpl-x","model":"m"}"#,
        r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}],"id":"chatcmpl-x","model":"m"}"#,
        r#"{"choices":[{"finish_reason":"tool_calls","index":0,"delta":{}}],"id":"chatcmpl-x","model":"m"}"#,
        r#"{"choices":[],"id":"chatcmpl-x","model":"m","usage":{"completion_tokens":34,"prompt_tokens":318,"total_tokens":352,"prompt_tokens_details":{"cached_tokens":0}},"timings":{"prompt_n":318}}"#,
        "[DONE]",
    ];
    expect![[r#"
        start chatcmpl-x m
        0 call read_file V2cj
        0   {|"path":"a"|}
        usage in 318 out 34 read 0 write 0 thought 0 cost 0.0003860
        0 end
        done ToolUse
    "#]]
    .assert_eq(&play(OpenaiCompletions, &stream(&chunks)).await);
}

#[tokio::test]
async fn ollama_complete_calls_without_index_and_wrong_finish_reason() {
    let chunks = [
        r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Which file?"},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"","type":"function","function":{"name":"ls","arguments":{"path":"."}}}]},"finish_reason":null}]}"#,
        r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ];
    expect![[r#"
        start chatcmpl-1 m
        0 thinking
        0   Which file?
        0 end signed reasoning
        1 call read call_efa51ec8_1
        1   {"path":"a"}
        2 call ls call_efa51ec8_2
        2   {"path":"."}
        1 end
        2 end
        done ToolUse
    "#]]
    .assert_eq(&play(OpenaiCompletions, &stream(&chunks)).await);
}

#[tokio::test]
async fn vllm_reasoning_first_and_every_call_with_index_zero() {
    let chunks = [
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Hm, "}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"two."}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"Both:"}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"chatcmpl-tool-1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"chatcmpl-tool-2","type":"function","function":{"name":"read","arguments":"{\"path\":"}}]}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"b\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":6}}"#,
        "[DONE]",
    ];
    expect![[r#"
        start c m
        0 thinking
        0   Hm, |two.
        0 end signed reasoning_content
        1 text
        1   Both:
        1 end
        2 call read chatcmpl-tool-1
        2   {"path":"a"}
        3 call read chatcmpl-tool-2
        3   {"path":
        usage in 5 out 6 read 0 write 0 thought 0 cost 0.0000170
        3   "b"}
        2 end
        3 end
        done ToolUse
    "#]]
    .assert_eq(&play(OpenaiCompletions, &stream(&chunks)).await);
}

#[tokio::test]
async fn openrouter_comments_reasoning_and_encrypted_details() {
    let body = ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n".to_owned()
        + &stream(&[
            r#"{"id":"gen-1","provider":"X","model":"vendor/m","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm."}]},"finish_reason":null}]}"#,
            r#"{"id":"gen-1","model":"vendor/m","choices":[{"index":0,"delta":{"content":"","tool_calls":[{"index":0,"id":"tool_1","type":"function","function":{"name":"ls","arguments":""}}],"reasoning_details":[{"type":"reasoning.encrypted","id":"tool_1","data":"ENC"}]}}]}"#,
            r#"{"id":"gen-1","model":"vendor/m","choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls","native_finish_reason":"STOP"}]}"#,
            r#"{"id":"gen-1","model":"vendor/m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":{"prompt_tokens":100,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}"#,
            "[DONE]",
        ]);
    expect![[r#"
        start gen-1 vendor/m
        0 thinking
        0   Hm.
        0 end signed reasoning
        1 call ls tool_1
        usage in 10 out 4 read 60 write 30 thought 0 cost 0.0000615
        1 end signed {"type":"reasoning.encrypted","id":"tool_1","data":"ENC"}
        done ToolUse
    "#]]
    .assert_eq(&play(OpenaiCompletions, &body).await);
}

#[tokio::test]
async fn openrouter_error_in_the_middle_of_a_stream() {
    let chunks = [
        r#"{"id":"gen-1","model":"m","choices":[{"index":0,"delta":{"content":"Half"},"finish_reason":null}]}"#,
        r#"{"id":"gen-1","model":"m","error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
    ];
    expect![[r#"
        retrying after attempt 1: p failed with status 502. Provider disconnected
        start gen-1 m
        0 text
        0   Half
        failed Error: p failed with status 502. Provider disconnected
    "#]]
    .assert_eq(&play(OpenaiCompletions, &stream(&chunks)).await);
}

#[tokio::test]
async fn reads_a_non_streaming_response() {
    let whole = r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Whole.","tool_calls":[{"id":"t","type":"function","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#;
    let server = ScriptedServer::playing([
        ScriptedResponse::events(whole).header("content-type", "application/json; charset=utf-8")
    ])
    .await;
    let models = models(&server.url, OpenaiCompletions);
    expect![[r#"
        start c m
        usage in 9 out 3 read 0 write 0 thought 0 cost 0.0000150
        0 text
        0   Whole.
        0 end
        1 call ls t
        1   {}
        1 end
        done ToolUse
    "#]]
    .assert_eq(&rendered(&deltas(&models, hi_request(&models)).await));
}

#[tokio::test]
async fn call_cut_off_by_the_limit_is_kept_but_not_runnable() {
    let chunks = [
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"write","arguments":"{\"path\":\"a.rs\",\"text\":\"fn ma"}}]}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
        "[DONE]",
    ];
    let server = ScriptedServer::playing([ScriptedResponse::events(&stream(&chunks))]).await;
    let models = models(&server.url, OpenaiCompletions);
    let deltas = deltas(&models, hi_request(&models)).await;
    let message = crate::support::message(&deltas);
    assert_eq!(message.calls_to_run().count(), 0);
    let stored = serde_json::to_value(&message.content).unwrap();
    assert_eq!(stored[0]["arguments"], serde_json::json!({ "path": "a.rs", "text": "fn ma" }));
}

#[tokio::test]
async fn content_filter_empty_body_and_web_page_are_distinguished() {
    let filter =
        stream(&[r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#]);
    assert!(
        play(OpenaiCompletions, &filter)
            .await
            .ends_with("the model declined to answer. The provider's content filter stopped the reply.\n")
    );
    let empty = play(OpenaiCompletions, "").await;
    assert!(empty.ends_with("failed Error: the reply from p was cut off\n"), "{empty}");
    let server = ScriptedServer::playing([
        ScriptedResponse::events("<html>login</html>").header("content-type", "text/html")
    ])
    .await;
    let models = models(&server.url, OpenaiCompletions);
    let page = rendered(&deltas(&models, hi_request(&models)).await);
    assert_eq!(page, "failed Error: cannot use p: the server returned a web page; check `base_url`\n");
    assert_eq!(server.received().len(), 1, "a wrong URL is not retried");
}
