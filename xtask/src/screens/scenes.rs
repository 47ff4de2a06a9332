//! Sessions that show one thing each. An entry is written without its id, parent and time.

/// The entries of a session, one after the other.
pub(super) type Scene = &'static [&'static str];

const ASK: &str = r#""type":"message","message":{"role":"user","content":[{"type":"text","text":"The word counter is wrong for Chinese text. Find out why and fix it."}]}"#;
const READ: &str = r#""type":"message","message":{"role":"assistant","provider":"offline","model":"offline","api":"none","usage":{"input":8900,"output":200,"cacheRead":0,"cacheWrite":0,"totalTokens":9100},"stopReason":"toolUse","content":[{"type":"text","text":"I will read the counter and run its tests."},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"src/words.rs"}},{"type":"toolCall","id":"c2","name":"bash","arguments":{"command":"cargo test --quiet words"}}]}"#;
const READ_RESULT: &str = r#""type":"message","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","isError":false,"content":[{"type":"text","text":"pub fn count(text: &str) -> usize {\n    text.split(' ').count()\n}\n"}]}"#;
const TEST_RESULT: &str = r#""type":"message","message":{"role":"toolResult","toolCallId":"c2","toolName":"bash","isError":false,"details":{"exitCode":101},"content":[{"type":"text","text":"assertion `left == right` failed: 一行一个对象\n  left: 1, right: 6"}]}"#;
const EXPLANATION: &str = r##""type":"message","message":{"role":"assistant","provider":"offline","model":"offline","api":"none","usage":{"input":18200,"output":200,"cacheRead":0,"cacheWrite":0,"totalTokens":18400},"stopReason":"stop","content":[{"type":"text","text":"# Counting words in any language\n\nThe counter splits the text at spaces. **Chinese and Japanese write no spaces**, so a sentence is one word.\n\n## What to change\n\n1. `count` uses *word boundaries* of Unicode ([UAX 29](https://unicode.org/reports/tr29/)).\n2. `is_empty` stops at the first word.\n\n```rust\n/// The number of words in a text.\npub fn count(text: &str) -> usize {\n    text.unicode_words().count() // \"一行\" has two\n}\n```"}]}"##;
const EDIT: &str = r#""type":"message","message":{"role":"assistant","provider":"offline","model":"offline","api":"none","usage":{"input":12100,"output":200,"cacheRead":0,"cacheWrite":0,"totalTokens":12300},"stopReason":"toolUse","content":[{"type":"text","text":"The cause is `split(' ')`. I split at word boundaries instead."},{"type":"toolCall","id":"c3","name":"edit","arguments":{"path":"src/words.rs","oldText":"x","newText":"y"}}]}"#;
const EDIT_RESULT: &str = r#""type":"message","message":{"role":"toolResult","toolCallId":"c3","toolName":"edit","isError":false,"details":{"diff":"--- a/src/words.rs\n+++ b/src/words.rs\n@@ -1,10 +1,12 @@\n //! Counts words.\n \n+use unicode_segmentation::UnicodeSegmentation;\n+\n /// The number of words in a text.\n pub fn count(text: &str) -> usize {\n-    text.split(' ').count()\n+    text.unicode_words().count()\n }\n \n pub fn is_empty(text: &str) -> bool {\n-    count(text) == 0\n+    text.unicode_words().next().is_none()\n }\n@@ -31,4 +33,4 @@\n #[test]\n fn words_are_counted() {\n-    assert_eq!(count(\"one two\"), 2);\n+    assert_eq!(count(\"one two, three\"), 3);\n }\n","firstChangedLine":3,"added":5,"removed":3},"content":[{"type":"text","text":"Changed src/words.rs"}]}"#;
const DONE: &str = r#""type":"message","message":{"role":"assistant","provider":"offline","model":"offline","api":"none","usage":{"input":12400,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":12420},"stopReason":"stop","content":[{"type":"text","text":"Done: all three tests pass."}]}"#;
const NAME: &str = r#""type":"session_info","name":"Count words in any language""#;

pub(super) const CONVERSATION: Scene = &[ASK, READ, READ_RESULT, TEST_RESULT, EXPLANATION, NAME];
pub(super) const DIFF: Scene = &[ASK, EDIT, EDIT_RESULT, DONE, NAME];
pub(super) const THINKING: Scene = &[
    ASK,
    r#""type":"message","message":{"role":"assistant","provider":"offline","model":"offline","api":"none","stopReason":"stop","content":[{"type":"thinking","thinking":"The counter probably splits on spaces.\nChinese has none, so a whole sentence counts as one word.\nLet me read the file first."},{"type":"text","text":"Chinese text has no spaces to split at."}]}"#,
];
pub(super) const ERROR: Scene = &[
    ASK,
    r#""type":"message","message":{"role":"assistant","provider":"offline","model":"offline","api":"none","stopReason":"error","errorMessage":"529 overloaded: the server has too many requests","content":[{"type":"text","text":"The counter splits"}]}"#,
];
pub(super) const TODO: Scene = &[
    ASK,
    r#""type":"message","message":{"role":"assistant","provider":"offline","model":"offline","api":"none","stopReason":"toolUse","content":[{"type":"toolCall","id":"c4","name":"todo","arguments":{}}]}"#,
    r#""type":"message","message":{"role":"toolResult","toolCallId":"c4","toolName":"todo","isError":false,"details":{"items":[{"content":"Read the counter","status":"completed"},{"content":"Split at word boundaries","status":"in_progress"},{"content":"Count 日本語 and 한국어 too","status":"pending"}]},"content":[{"type":"text","text":"3 items"}]}"#,
    DONE,
];
pub(super) const COMPACTION: Scene = &[
    ASK,
    DONE,
    r#""type":"compaction","summary":"The user asked for a counter of words in any language. It splits at word boundaries now.","firstKeptEntryId":"00000002","tokensBefore":152000"#,
    r#""type":"message","message":{"role":"user","content":[{"type":"text","text":"Now document it"}]}"#,
    DONE,
];
pub(super) const BACKTRACK: Scene = &[
    ASK,
    r#""type":"custom_message","customType":"osier.backtrack","content":"<system>Note from your future self: rayon is slower below 10 MB</system>","display":true,"details":{"checkpointId":0,"note":"rayon is slower for everything below 10 MB; stream instead","addendum":"","fromId":"00000001","originalUserMessage":"Make it faster for long files","discarded":4}"#,
    DONE,
];

/// The lines of a scene's file after its header.
pub(super) fn lines(scene: Scene) -> String {
    let id = |number: usize| format!("{number:08x}");
    let line = |(at, entry): (usize, &&str)| {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"{}\"", id(at)) };
        let time = format!("2026-01-31T09:20:{:02}.000Z", 5 * at);
        format!("{{{entry},\"id\":\"{}\",\"parentId\":{parent},\"timestamp\":\"{time}\"}}\n", id(at + 1))
    };
    scene.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_json() {
        for scene in [CONVERSATION, DIFF, THINKING, ERROR, TODO, COMPACTION, BACKTRACK] {
            for line in lines(scene).lines() {
                assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
            }
        }
    }
}
