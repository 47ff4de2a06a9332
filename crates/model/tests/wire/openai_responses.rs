//! Streams of OpenAI's Responses API.

use expect_test::expect;
use osier_model::Api::OpenaiResponses;

use crate::server::{ScriptedResponse, ScriptedServer};
use crate::support::{deltas, hi_request, models, play, rendered};

const ALL: &str = include_str!("streams/openai-responses.sse");

#[tokio::test]
async fn thinking_text_and_interleaved_calls() {
    expect![[r#"
        start resp_1 m-2026
        0 thinking
        0   **Looking**|⏎⏎Deciding.
        0 end signed {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"**Looking**"},{"type":"summary_text","text":"Deciding."}],"encrypted_content":"gAAAAABo"}
        1 text
        1   I |läse.
        1 end signed {"v":1,"id":"msg_1","phase":"commentary"}
        2 call read call_a|fc_1
        3 call bash call_b|fc_2
        2   {"path":
        3   {"command":"ls"}
        2   "a"}
        2 end
        3 end
        usage in 400 out 70 read 600 write 0 thought 30 cost 0.0006000
        done ToolUse
    "#]].assert_eq(&play(OpenaiResponses, ALL).await);
}

#[tokio::test]
async fn complete_items_without_output_index() {
    let stream = r#"data: {"type":"response.created","response":{"id":"r","model":"m"}}

data: {"type":"response.output_item.added","item":{"id":"m1","type":"message"}}

data: {"type":"response.output_text.delta","item_id":"m1","delta":"Hello"}

data: {"type":"response.output_item.done","item":{"id":"m1","type":"message","content":[{"type":"output_text","text":"Hello"}]}}

data: {"type":"response.output_item.done","item":{"type":"function_call","call_id":"c1","name":"ls","arguments":"{\"path\":\".\"}"}}

data: {"type":"response.completed","response":{"id":"r","status":"completed","usage":{"input_tokens":7,"output_tokens":2}}}

"#;
    expect![[r#"
        start r m
        0 text
        0   Hello
        0 end signed {"v":1,"id":"m1"}
        1 call ls c1
        1   {"path":"."}
        1 end
        usage in 7 out 2 read 0 write 0 thought 0 cost 0.0000110
        done ToolUse
    "#]]
    .assert_eq(&play(OpenaiResponses, stream).await);
}

#[tokio::test]
async fn reads_a_non_streaming_response() {
    let whole = r#"{"id":"r","object":"response","status":"completed","model":"m","error":null,"output":[{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"Whole."},{"type":"refusal","refusal":" No."}]},{"type":"function_call","id":"fc_1","call_id":"c1","name":"ls","arguments":"{}"}],"usage":{"input_tokens":9,"output_tokens":3}}"#;
    let error = r#"{"error":{"message":"No such thing","type":"invalid_request_error"}}"#;
    let json = |body| ScriptedResponse::events(body).header("content-type", "application/json");
    let server = ScriptedServer::playing([json(whole), json(error)]).await;
    let models = models(&server.url, OpenaiResponses);
    expect![[r#"
        start r m
        0 thinking
        0   Hm.
        0 end
        1 text
        1   Whole. No.
        1 end signed {"v":1,"id":"m1"}
        2 call ls c1|fc_1
        2   {}
        2 end
        usage in 9 out 3 read 0 write 0 thought 0 cost 0.0000150
        done ToolUse
    "#]]
    .assert_eq(&rendered(&deltas(&models, hi_request(&models)).await));
    expect![[r#"
        failed Error: p rejected the request (status 400). No such thing
    "#]]
    .assert_eq(&rendered(&deltas(&models, hi_request(&models)).await));
}

#[tokio::test]
async fn incomplete_failed_and_error_events() {
    let limited = ALL.replace(
        "\"status\":\"completed\",\"model\"",
        "\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"model\"",
    );
    let output = play(OpenaiResponses, &limited).await;
    assert!(output.ends_with("done Length\n"), "{output}");
    let failed = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"Sorry.\"}}}\n\n";
    expect![[r#"
        retrying after attempt 1: p failed with status 500. Sorry.
        start r -
        failed Error: p failed with status 500. Sorry.
    "#]]
    .assert_eq(&play(OpenaiResponses, failed).await);
    let error = "event: error\ndata: {\"type\":\"error\",\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model.\"}\n\n";
    expect![[r#"
        failed Error: the conversation is too long for the model; compact it, or choose a model with a larger window. Your input exceeds the context window of this model.
    "#]].assert_eq(&play(OpenaiResponses, error).await);
}
