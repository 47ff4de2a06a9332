//! Ids of tool calls. Each API has its own rules for ids, and a conversation that changed models contains ids of several
//! APIs.

use std::collections::HashSet;

use crate::message::Message;

/// Converts an id to the form that an API accepts. The result is stable, distinct ids stay distinct, and a valid id is
/// unchanged.
pub(crate) fn sanitize_id(id: &str, longest: usize) -> String {
    // Ids of the Responses API are `call_id|item_id`; results refer to the first.
    let own = id.split('|').next().filter(|first| !first.is_empty()).unwrap_or(id);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !own.is_empty() && own.len() <= longest && own.bytes().all(fits) {
        return own.to_owned();
    }
    let mark = format!("_{:08x}", fingerprint(own));
    let kept: String = own
        .chars()
        .map(|c| if c.is_ascii() && fits(c as u8) { c } else { '_' })
        .take(longest.saturating_sub(mark.len()))
        .collect();
    if kept.is_empty() { format!("call{mark}") } else { kept + &mark }
}

/// FNV-1a, folded to 32 bits. Must never change: a conversation must produce the same ids every time it is sent.
fn fingerprint(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}

/// Generates ids for calls of servers that send none. The same conversation gets the same ids; different branches of a tree
/// get different ids.
#[derive(Debug, Default)]
pub struct CallIdGenerator {
    used: HashSet<String>,
    fingerprint: u32,
    next: usize,
}

impl CallIdGenerator {
    pub fn new(messages: &[Message]) -> CallIdGenerator {
        let mut used = HashSet::new();
        for message in messages {
            if let Message::Assistant(message) = message {
                used.extend(message.calls().map(|call| call.id.clone()));
            }
        }
        CallIdGenerator { used, fingerprint: position_fingerprint(messages), next: 0 }
    }

    /// The server's id, or a generated one if it is missing or already used.
    pub fn given_or_new(&mut self, given: Option<&str>) -> String {
        if let Some(given) = given.filter(|given| !given.is_empty())
            && self.used.insert(given.to_owned())
        {
            return given.to_owned();
        }
        loop {
            self.next += 1;
            let id = format!("call_{:08x}_{}", self.fingerprint, self.next);
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// A fingerprint of this position in a conversation: its depth, and the messages since the last user message.
fn position_fingerprint(messages: &[Message]) -> u32 {
    let last = messages.iter().rposition(|message| matches!(message, Message::User(_))).unwrap_or(0);
    let mut text = messages.len().to_string();
    for message in &messages[last..] {
        let content = match message {
            Message::User(user) => &user.content,
            Message::Assistant(message) => &message.content,
            Message::ToolResult(result) => &result.content,
            Message::System(_) => continue,
        };
        text.push_str(&serde_json::to_string(content).unwrap_or_default());
    }
    fingerprint(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn valid_ids_are_unchanged_and_others_stay_distinct() {
        assert_eq!(sanitize_id("toolu_01A-b", 64), "toolu_01A-b");
        assert_eq!(sanitize_id("call_a|fc_1", 64), "call_a");
        assert_eq!(sanitize_id("", 64), "call_4fd0bfc1");
        assert_ne!(sanitize_id("a.b", 64), sanitize_id("a:b", 64));
        assert_ne!(sanitize_id(&"x".repeat(100), 40), sanitize_id(&"x".repeat(101), 40));
    }

    fn conversation(prompt: &str) -> Vec<Message> {
        let call = serde_json::json!({ "type": "toolCall", "id": "given", "name": "ls", "arguments": {} });
        let messages = serde_json::json!([
            { "role": "user", "content": "hello" },
            { "role": "assistant", "content": [call] },
            { "role": "user", "content": prompt },
        ]);
        serde_json::from_value(messages).unwrap()
    }

    #[test]
    fn missing_ids_are_derived_from_the_conversation() {
        let ids = |prompt: &str| {
            let mut generator = CallIdGenerator::new(&conversation(prompt));
            [
                generator.given_or_new(None),
                generator.given_or_new(Some("")),
                generator.given_or_new(Some("x")),
                generator.given_or_new(Some("x")),
                generator.given_or_new(Some("given")),
            ]
        };
        assert_eq!(
            ids("a"),
            ["call_976eccb4_1", "call_976eccb4_2", "x", "call_976eccb4_3", "call_976eccb4_4"]
        );
        assert_eq!(ids("a"), ids("a"));
        assert_ne!(ids("a")[0], ids("b")[0]);
    }

    proptest! {
        #[test]
        fn every_id_becomes_valid(id in ".{0,80}", longest in 20usize..64) {
            let fit = sanitize_id(&id, longest);
            prop_assert!(!fit.is_empty() && fit.len() <= longest);
            prop_assert!(fit.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
            prop_assert_eq!(sanitize_id(&fit, longest), fit);
        }
    }
}
