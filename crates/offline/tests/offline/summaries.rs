//! Summaries for compactions and branches.

use expect_test::expect;
use osier_model::{Message, Request};

use crate::{message, request};

const SYSTEM: &str = "You summarize conversations. Do not continue the conversation; write only the summary.";

const CONVERSATION: &str = r#"<conversation>
[User]: Fix the off-by-one error in src/parser.rs. You must keep the public API as it is, and never use unsafe code.

[Assistant thinking]: let me think

[Assistant]: I will read the parser first.

[Assistant tool calls]: read(path="src/parser.rs"); bash(command="cargo test parser")

[Tool result]: fn parse(input: &str) -> Vec<Token> { loop { /* … */ } }

[Tool result]: test parser::last_token ... FAILED
error: test failed, to rerun pass `--lib`
[exit code 101]

[Assistant]: The loop ends one token early. I decided to use an inclusive range instead of adding one, because the length can be zero.

[Assistant tool calls]: edit(path="src/parser.rs", edits=[{"oldText":"0..n","newText":"0..=n"}])

[Tool result]: edited src/parser.rs

[Assistant tool calls]: bash(command="cargo test parser")

[Tool result]: test result: ok. 12 passed
[exit code 0]

[Assistant]: Fixed: the last token is now returned. Next I would add a test for empty input.

[User]: 好的。请为空输入添加测试，不要修改其他文件。

[Assistant tool calls]: write(path="tests/empty.rs", content="…")

[Tool result]: permission denied: tests/empty.rs
</conversation>

Write a summary with exactly these headings."#;

async fn summary(text: &str) -> String {
    let request =
        Request { system: SYSTEM.to_owned(), tools: Vec::new(), ..request(vec![Message::user(text)]) };
    message(request).await.text() + "\n"
}

#[tokio::test]
async fn compaction_lists_goal_progress_decisions_and_blockers() {
    expect![[r#"
        ## Goal
        - Fix the off-by-one error in src/parser.rs. You must keep the public API as it is, and never use unsafe code.
        - 请为空输入添加测试，不要修改其他文件。

        ## Constraints & Preferences
        - You must keep the public API as it is, and never use unsafe code.
        - 请为空输入添加测试，不要修改其他文件。

        ## Progress

        ### Done
        - [x] changed `src/parser.rs`
        - [x] ran `cargo test parser`
        - [x] Fixed: the last token is now returned.

        ### In Progress
        - [ ] 请为空输入添加测试，不要修改其他文件。

        ### Blocked
        - `tests/empty.rs`: permission denied: tests/empty.rs

        ## Key Decisions
        - I decided to use an inclusive range instead of adding one, because the length can be zero.

        ## Next Steps
        1. Continue with: 请为空输入添加测试，不要修改其他文件。
        2. Next I would add a test for empty input.

        ## Critical Context
        - Files changed: `src/parser.rs`
        - The loop ends one token early.
    "#]].assert_eq(&summary(CONVERSATION).await);
}

#[tokio::test]
async fn goal_without_user_messages_comes_from_the_assistant() {
    let left = "<conversation>\n[Assistant]: I will search for the willow.\n\n[Assistant]: It stands by the river.\n</conversation>\n\nWrite a summary.";
    let summary = summary(left).await;
    assert!(summary.starts_with("## Goal\n- I will search for the willow.\n"), "{summary}");
}

#[tokio::test]
async fn refused_calls_are_not_listed_as_done() {
    let left = "<conversation>\n[User]: run touch x\n\n[Assistant tool calls]: bash(command=\"touch x\")\n\n[Tool result]: not allowed: not now\nNothing was run or changed. Go on without it.\n</conversation>\n\nWrite a summary.";
    let summary = summary(left).await;
    assert!(!summary.contains("ran `touch x`"), "{summary}");
}

#[tokio::test]
async fn previous_summary_is_carried_over() {
    let first = summary(CONVERSATION).await;
    let second = "<conversation>\n[User]: Now make the empty test pass and document parse().\n\n[Assistant]: Added docs to parse().\n</conversation>\n\n<previous-summary>\n".to_owned()
        + &first
        + "</previous-summary>\n\nUpdate the summary.";
    let second = summary(&second).await;
    for kept in [
        "Fix the off-by-one error in src/parser.rs.",
        "never use unsafe code",
        "- [x] changed `src/parser.rs`",
        "inclusive range",
        "Now make the empty test pass",
        "Added docs",
    ] {
        assert!(second.contains(kept), "{kept} in\n{second}");
    }
}

#[tokio::test]
async fn requested_headings_are_used() {
    let asked = CONVERSATION.to_owned()
        + "\n## Original Request\n(what the user asked)\n## Progress So Far\n## Context Needed to Continue\n";
    let summary = summary(&asked).await;
    let headings: Vec<&str> = summary.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(headings, ["## Original Request", "## Progress So Far", "## Context Needed to Continue"]);
}

#[tokio::test]
async fn plain_messages_can_be_summarized() {
    let messages = serde_json::from_value(serde_json::json!([
        { "role": "user", "content": "Rename the crate to osier." },
        { "role": "assistant", "content": [{ "type": "toolCall", "id": "1", "name": "edit", "arguments": { "path": "Cargo.toml" } }] },
        { "role": "toolResult", "toolCallId": "1", "toolName": "edit", "content": "ok" },
        { "role": "user", "content": "Summarize this conversation." },
    ]))
    .unwrap();
    let request = Request { system: SYSTEM.to_owned(), tools: Vec::new(), ..request(messages) };
    let text = message(request).await.text();
    assert!(
        text.contains("Rename the crate to osier.") && text.contains("- [x] changed `Cargo.toml`"),
        "{text}"
    );
}

#[tokio::test]
async fn title_is_the_start_of_the_request() {
    let request = Request {
        system: "Write a title for this session.".to_owned(),
        tools: Vec::new(),
        ..request(vec![Message::user(CONVERSATION)])
    };
    assert_eq!(message(request).await.text(), "Fix the off-by-one error in src/parser.rs. You");
}

#[tokio::test]
async fn huge_conversation_gets_a_short_summary() {
    let many: String = (0..2_000).map(|n| format!("[User]: Do task {n} in file src/file{n}.rs now.\n\n[Assistant]: Task {n} is done in module m{}.\n\n", n % 7)).collect();
    let summary = summary(&format!("<conversation>\n{many}</conversation>\nSummarize.")).await;
    assert!(summary.len() < 20_000, "{}", summary.len());
}
