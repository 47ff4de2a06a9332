//! How many tokens a context takes.

use expect_test::expect;
use osier_testkit::Script;
use osier_tree::asking::{Asks, answer};
use osier_tree::scan::Raw;
use osier_tree::tokens::estimate;

fn guess(message: &str) -> u64 {
    estimate(Raw::parse(message.as_bytes()).expect("a test's message is JSON"))
}

#[test]
fn a_message_is_guessed_by_its_characters() {
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
    let guesses: Vec<String> =
        messages.iter().map(|message| format!("{:<5} {message}\n", guess(message))).collect();
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
    "#]].assert_eq(&guesses.concat());
}

/// The tokens of a script's context, and how many lines had to be seen for them.
fn weigh(script: &str) -> (u64, usize) {
    let script = Script::run(script);
    let mut weighing = script.tree.weighing(script.tree.leaf());
    let mut seen = 0;
    while !weighing.wants().is_empty() {
        seen += weighing.wants().len();
        weighing.give(&script.lines);
    }
    (weighing.tokens(), seen)
}

#[test]
fn the_last_reply_tells_what_came_before_it() {
    assert_eq!(weigh("say a ~500; reply b ~10").0, 110);
    assert_eq!(weigh("say a ~500; reply b ~10; say c ~20; bash ls ~10").0, 110 + 20 + 11);
    assert_eq!(weigh("say a ~500; reply b; say c ~20; fail no; say d ~30").0, 110 + 50);
    assert_eq!(weigh("say a ~500; reply b calls read x; result r ~40").0, 110 + 40);
    assert_eq!(weigh(""), (0, 0));
}

#[test]
fn a_reply_from_before_a_change_of_the_context_tells_nothing() {
    assert_eq!(weigh("say a ~500; reply b ~10; say c ~20; omit a").0, 30);
    assert_eq!(weigh("say a ~500; reply b ~10; say c ~20; edit a A ~50").0, 80);
    assert_eq!(weigh(r#"say a ~500; reply b ~10; say c ~20; compact keep c "so far""#).0, 20 + 2);
    assert_eq!(weigh("say a ~500; reply b ~10; omit a; say c ~20; reply d").0, 110);
    assert_eq!(weigh("say a ~500; reply b ~10; omit a; move b; say c ~20").0, 110 + 20);
}

#[test]
fn a_reply_that_reports_nothing_is_guessed() {
    let zero = r#"entry {"type":"message","message":{"role":"assistant","content":"1234","usage":{"input":0,"totalTokens":0},"stopReason":"stop"}}"#;
    assert_eq!(weigh(&format!("say a ~5; {zero}; say c ~5")).0, 11);
    assert_eq!(weigh(&format!("say a ~5; reply b; {zero}; say c ~5")).0, 110 + 6);
}

#[test]
fn what_is_kept_from_the_model_weighs_nothing() {
    assert_eq!(weigh("say a ~5; reply b; aside secret ~500").0, 110);
}

#[test]
fn a_long_context_is_weighed_by_its_end() {
    let mut script = Script::default();
    for turn in 0..2_000 {
        script.play(&format!("say q{turn} ~20; reply a{turn} ~20"));
    }
    let mut weighing = script.tree.weighing(script.tree.leaf());
    assert!(weighing.wants().len() < 200);
    weighing.give(&script.lines);
    assert!(weighing.is_done());
    answer(&mut weighing, &script.lines);
    assert_eq!(weighing.tokens(), 110);
}
