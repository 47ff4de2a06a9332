//! Streams of Google's Gemini API.

use expect_test::expect;
use osier_model::Api::GoogleGenerativeAi;

use crate::support::play;

const ALL: &str = include_str!("streams/google.sse");

#[tokio::test]
async fn thinking_text_and_two_calls() {
    expect![[r#"
        start r1 m-001
        0 thinking
        0   Thinking about 
        usage in 100 out 10 read 400 write 0 thought 10 cost 0.0001600
        0   it.
        usage in 100 out 12 read 400 write 0 thought 12 cost 0.0001640
        0 end
        1 text
        1   我来读 |both.
        1 end
        2 call read call_efa51ec8_1
        2   {"path":"a"}
        2 end signed CsgB
        3 call read given
        3   {"path":"b"}
        3 end
        usage in 100 out 32 read 400 write 0 thought 12 cost 0.0002040
        done ToolUse
    "#]]
    .assert_eq(&play(GoogleGenerativeAi, ALL).await);
}

#[tokio::test]
async fn signature_only_part_signs_the_previous_part() {
    let stream = r#"data: {"candidates":[{"content":{"parts":[{"text":"Yes."}]}}]}

data: {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"U0lH"}]},"finishReason":"STOP"}]}

"#;
    expect![[r#"
        start - -
        0 text
        0   Yes.
        0 end signed U0lH
        done Stop
    "#]]
    .assert_eq(&play(GoogleGenerativeAi, stream).await);
}

#[tokio::test]
async fn stop_reasons_and_blocked_prompts_are_reported() {
    let reply = |finish: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"Half\"}}]}},\"finishReason\":\"{finish}\"}}]}}\n\n"
        )
    };
    assert!(play(GoogleGenerativeAi, &reply("MAX_TOKENS")).await.ends_with("done Length\n"));
    assert!(
        play(GoogleGenerativeAi, &reply("SAFETY"))
            .await
            .ends_with("the model declined to answer. The reply was stopped: SAFETY.\n")
    );
    assert!(
        play(GoogleGenerativeAi, &reply("MALFORMED_FUNCTION_CALL"))
            .await
            .contains("unexpected response from p")
    );
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"usageMetadata\":{\"promptTokenCount\":8}}\n\n";
    expect![[r#"
        start - -
        failed Error: the model declined to answer. The prompt was blocked: PROHIBITED_CONTENT.
    "#]]
    .assert_eq(&play(GoogleGenerativeAi, blocked).await);
}
