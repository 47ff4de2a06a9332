//! Counting the tokens of a context.

use expect_test::expect;
use osier_testkit::ScriptedSession;
use osier_tree::line_consumer::{LineConsumer, feed_all};
use osier_tree::scan::RawJson;
use osier_tree::tokens::estimate_tokens;

fn estimated(message: &str) -> u64 {
    estimate_tokens(RawJson::parse(message.as_bytes()).expect("test messages are valid JSON"))
}

#[test]
fn a_message_is_estimated_by_its_characters() {
    let messages = [
        r#"{"role":"user","content":"12345"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"12"},{"type":"text","text":"345"}]}"#,
        r#"{"role":"user","content":[{"type":"image","data":"aaaa"},{"type":"text","text":"1"}]}"#,
        r#"{"role":"user","content":"🧵🧵🧵"}"#,
        r#"{"role":"user","content":"cut \ud83d"}"#,
        r#"{"role":"user","content":null}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"1234"},{"type":"thinking","thinking":"12345678"},{"type":"toolCall","id":"i","name":"read","arguments":{ "path" : "ab c", "n":1}}]}"#,
        r#"{"role":"toolResult","content":[{"type":"text","text":"12345"}],"details":{"much":"more"}}"#,
        r#"{"role":"tool","content":"12345"}"#,
        r#"{"role":"bashExecution","command":"1234","output":"12345"}"#,
        r#"{"role":"custom","content":"12345"}"#,
        r#"{"role":"branchSummary","summary":"12345"}"#,
        r#"{"role":"compactionSummary","summary":"123456789"}"#,
        r#"{"role":"system","content":"1234","sections":{"a":"1234","b":null},"toolsAdded":[{"name":"read"}]}"#,
        r#"{"role":"odd","content":"12345"}"#,
    ];
    let estimates: Vec<String> =
        messages.iter().map(|message| format!("{:<5} {message}\n", estimated(message))).collect();
    expect![[r#"
        2     {"role":"user","content":"12345"}
        2     {"role":"user","content":[{"type":"text","text":"12"},{"type":"text","text":"345"}]}
        1201  {"role":"user","content":[{"type":"image","data":"aaaa"},{"type":"text","text":"1"}]}
        2     {"role":"user","content":"🧵🧵🧵"}
        2     {"role":"user","content":"cut \ud83d"}
        0     {"role":"user","content":null}
        10    {"role":"assistant","content":[{"type":"text","text":"1234"},{"type":"thinking","thinking":"12345678"},{"type":"toolCall","id":"i","name":"read","arguments":{ "path" : "ab c", "n":1}}]}
        2     {"role":"toolResult","content":[{"type":"text","text":"12345"}],"details":{"much":"more"}}
        2     {"role":"tool","content":"12345"}
        3     {"role":"bashExecution","command":"1234","output":"12345"}
        2     {"role":"custom","content":"12345"}
        2     {"role":"branchSummary","summary":"12345"}
        3     {"role":"compactionSummary","summary":"123456789"}
        7     {"role":"system","content":"1234","sections":{"a":"1234","b":null},"toolsAdded":[{"name":"read"}]}
        0     {"role":"odd","content":"12345"}
    "#]].assert_eq(&estimates.concat());
}

/// The tokens of a script's context, and the number of lines needed to count them.
fn count(script: &str) -> (u64, usize) {
    let script = ScriptedSession::run(script);
    let mut counter = script.tree.token_counter(script.tree.leaf());
    let mut seen = 0;
    while !counter.needed_lines().is_empty() {
        seen += counter.needed_lines().len();
        counter.feed(&script.lines);
    }
    (counter.tokens(), seen)
}

#[test]
fn the_last_reply_reports_everything_before_it() {
    assert_eq!(count("say a ~500; reply b ~10").0, 110);
    assert_eq!(count("say a ~500; reply b ~10; say c ~20; bash ls ~10").0, 110 + 20 + 11);
    assert_eq!(count("say a ~500; reply b; say c ~20; fail no; say d ~30").0, 110 + 50);
    assert_eq!(count("say a ~500; reply b calls read x; result r ~40").0, 110 + 40);
    assert_eq!(count(""), (0, 0));
}

#[test]
fn a_reply_before_a_context_change_is_not_used() {
    assert_eq!(count("say a ~500; reply b ~10; say c ~20; omit a").0, 30);
    assert_eq!(count("say a ~500; reply b ~10; say c ~20; edit a A ~50").0, 80);
    assert_eq!(count(r#"say a ~500; reply b ~10; say c ~20; compact keep c "so far""#).0, 20 + 2);
    assert_eq!(count("say a ~500; reply b ~10; omit a; say c ~20; reply d").0, 110);
    assert_eq!(count("say a ~500; reply b ~10; omit a; move b; say c ~20").0, 110 + 20);
}

#[test]
fn a_reply_without_usage_is_estimated() {
    let zero = r#"entry {"type":"message","message":{"role":"assistant","content":"1234","usage":{"input":0,"totalTokens":0},"stopReason":"stop"}}"#;
    assert_eq!(count(&format!("say a ~5; {zero}; say c ~5")).0, 11);
    assert_eq!(count(&format!("say a ~5; reply b; {zero}; say c ~5")).0, 110 + 6);
}

#[test]
fn excluded_commands_count_nothing() {
    assert_eq!(count("say a ~5; reply b; aside secret ~500").0, 110);
}

#[test]
fn a_long_context_is_counted_from_its_end() {
    let mut script = ScriptedSession::default();
    for turn in 0..2_000 {
        script.run_steps(&format!("say q{turn} ~20; reply a{turn} ~20"));
    }
    let mut counter = script.tree.token_counter(script.tree.leaf());
    assert!(counter.needed_lines().len() < 200);
    counter.feed(&script.lines);
    assert!(counter.is_done());
    feed_all(&mut counter, &script.lines);
    assert_eq!(counter.tokens(), 110);
}
