//! Messages in pi's format.

use serde_json::{Value, json};

pub(crate) fn text_content(text: &str) -> Value {
    json!([{ "type": "text", "text": expand_size(text) }])
}

/// Expands `TEXT ~N` to N tokens of four characters each.
pub(crate) fn expand_size(given: &str) -> String {
    match split_size(given) {
        (name, Some(tokens)) => format!("{name} {}", "x".repeat((4 * tokens).saturating_sub(name.len() + 1))),
        (text, None) => text.to_owned(),
    }
}

/// Splits `TEXT ~N` into the text and N.
pub(crate) fn split_size(given: &str) -> (&str, Option<usize>) {
    let parts = given.rsplit_once(" ~").map(|(name, size)| (name, size.parse().ok()));
    parts.filter(|(_, size)| size.is_some()).unwrap_or((given, None))
}

pub(crate) fn user_message(content: &str, now: i64) -> Value {
    json!({ "role": "user", "content": text_content(content), "timestamp": now })
}

pub(crate) fn assistant_message(content: &Value, stop: &str, now: i64) -> Value {
    json!({
        "role": "assistant",
        "content": content,
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude",
        "usage": usage(100, 10),
        "stopReason": stop,
        "timestamp": now,
    })
}

/// One dollar per thousand tokens, so that sums are easy to check.
pub(crate) fn usage(input: u64, output: u64) -> Value {
    let cost = |tokens: u64| tokens as f64 / 1000.0;
    json!({
        "input": input,
        "output": output,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": input + output,
        "cost": {
            "input": cost(input), "output": cost(output), "cacheRead": 0, "cacheWrite": 0, "total": cost(input + output),
        },
    })
}

/// The content of a reply: its text, if any, and its calls, given as `read a.txt, bash ls`.
pub(crate) fn reply_content(text: &str, calls: &str, number: usize) -> Value {
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(json!({ "type": "text", "text": expand_size(text) }));
    }
    for (at, call) in calls.split(',').map(str::trim).filter(|call| !call.is_empty()).enumerate() {
        let (name, argument) = call.split_once(' ').unwrap_or((call, ""));
        let key = match name {
            "bash" => "command",
            "grep" | "find" => "pattern",
            _ => "path",
        };
        let id = format!("call_{}_{at}", number + 1);
        content.push(json!({ "type": "toolCall", "id": id, "name": name, "arguments": { key: argument } }));
    }
    Value::Array(content)
}
