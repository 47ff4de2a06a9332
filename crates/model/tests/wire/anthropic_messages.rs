//! Streams of Anthropic's Messages API.

use expect_test::expect;
use osier_model::Api::AnthropicMessages;

use crate::server::{ScriptedResponse, ScriptedServer};
use crate::support::{deltas, hi_request, message, models, play, rendered};

const ALL: &str = include_str!("streams/anthropic.sse");

#[tokio::test]
async fn all_content_types_keep_their_order() {
    expect![[r#"
        start msg_01XFD m
        usage in 12 out 1 read 2000 write 100 thought 0 cost 0.0003390
        0 thinking
        0   Let me |see…
        0 end signed EqQBCgIYAQ==
        1 thinking
        1 end signed EmwKAhgB redacted
        2 text
        2   I read| both 文件.
        2 end
        3 call read toolu_01
        3   {"path": "a|.rs"}
        3 end
        4 call ls toolu_02
        4 end
        usage in 12 out 89 read 2000 write 100 thought 0 cost 0.0005150
        done ToolUse
    "#]]
    .assert_eq(&play(AnthropicMessages, ALL).await);
}

#[tokio::test]
async fn message_is_stored_in_the_pi_format() {
    let server = ScriptedServer::playing([ScriptedResponse::events(ALL)]).await;
    let models = models(&server.url, AnthropicMessages);
    let deltas = deltas(&models, hi_request(&models)).await;
    expect![[r#"
        {
          "content": [
            {
              "type": "thinking",
              "thinking": "Let me see…",
              "thinkingSignature": "EqQBCgIYAQ=="
            },
            {
              "type": "thinking",
              "thinking": "",
              "thinkingSignature": "EmwKAhgB",
              "redacted": true
            },
            {
              "type": "text",
              "text": "I read both 文件."
            },
            {
              "type": "toolCall",
              "id": "toolu_01",
              "name": "read",
              "arguments": {
                "path": "a.rs"
              }
            },
            {
              "type": "toolCall",
              "id": "toolu_02",
              "name": "ls",
              "arguments": {}
            }
          ],
          "api": "anthropic-messages",
          "provider": "p",
          "model": "m",
          "usage": {
            "input": 12,
            "output": 89,
            "cacheRead": 2000,
            "cacheWrite": 100,
            "totalTokens": 2201,
            "cost": {
              "input": 0.000012,
              "output": 0.000178,
              "cacheRead": 0.0002,
              "cacheWrite": 0.000125,
              "total": 0.000515
            }
          },
          "stopReason": "toolUse",
          "timestamp": 1700000000000,
          "responseId": "msg_01XFD"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(message(&deltas)).unwrap());
}

#[tokio::test]
async fn accepts_arguments_in_block_start_and_a_missing_last_event() {
    let stream = r#"data: {"type":"message_start","message":{"id":"x","usage":{"input_tokens":3}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"","name":"ls","input":{"path":"."}}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}
"#;
    expect![[r#"
        start x -
        usage in 3 out 0 read 0 write 0 thought 0 cost 0.0000030
        0 call ls call_efa51ec8_1
        0   {"path":"."}
        0 end
        done ToolUse
    "#]]
    .assert_eq(&play(AnthropicMessages, stream).await);
}

#[tokio::test]
async fn refusal_and_overload_in_the_stream_are_errors() {
    let refusal = r#"data: {"type":"message_start","message":{}}

data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"Policy."}}}

"#;
    expect![[r#"
        start - -
        failed Error: the model declined to answer. Policy.
    "#]]
    .assert_eq(&play(AnthropicMessages, refusal).await);
    let overload = r#"data: {"type":"message_start","message":{}}

event: error
data: {"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}

"#;
    expect![[r#"
        retrying after attempt 1: p is overloaded; try again later or choose another model. Overloaded
        start - -
        failed Error: p is overloaded; try again later or choose another model. Overloaded
    "#]]
    .assert_eq(&play(AnthropicMessages, overload).await);
}

#[tokio::test]
async fn full_context_window_has_stop_reason_length() {
    let stream =
        ALL.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"model_context_window_exceeded\"");
    let output = play(AnthropicMessages, &stream).await;
    assert!(output.ends_with("done Length\n"), "{output}");
}

#[tokio::test]
async fn overload_in_the_middle_of_a_reply_is_retried() {
    let broken = ALL.split_once("event: message_delta").unwrap().0.to_owned()
        + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let server =
        ScriptedServer::playing([ScriptedResponse::events(&broken), ScriptedResponse::events(ALL)]).await;
    let models = models(&server.url, AnthropicMessages);
    let again = deltas(&models, hi_request(&models)).await;
    assert_eq!(server.received().len(), 2);
    let whole = deltas(&models, hi_request(&models)).await;
    assert_eq!(message(&again), message(&whole), "the partial reply is discarded");
}

#[tokio::test]
async fn reads_a_non_streaming_response() {
    let whole = r#"{"type":"message","id":"r","model":"m","role":"assistant","content":[{"type":"text","text":"Whole."},{"type":"tool_use","id":"t","name":"ls","input":{"path":"."}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":3}}"#;
    let json = ScriptedResponse::events(whole).header("content-type", "application/json");
    let server = ScriptedServer::playing([json]).await;
    let models = models(&server.url, AnthropicMessages);
    expect![[r#"
        start r m
        usage in 9 out 3 read 0 write 0 thought 0 cost 0.0000150
        0 text
        0   Whole.
        0 end
        1 call ls t
        1   {"path":"."}
        1 end
        usage in 9 out 3 read 0 write 0 thought 0 cost 0.0000150
        done ToolUse
    "#]]
    .assert_eq(&rendered(&deltas(&models, hi_request(&models)).await));
}
