//! Names of tool calls. Each API has its own idea of what an id may look like, and a conversation that changed models
//! holds ids of all of them.

use std::collections::HashSet;

use crate::message::Message;

/// The id in a form that an API with these limits takes. The same id always becomes the same, different ids stay
/// different, and one that fits already is left alone.
pub(crate) fn fitting(id: &str, longest: usize) -> String {
    // The Responses API has two names for a call, joined by a bar; the first is the one results refer to.
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

/// FNV-1a, folded. Must never change: a conversation sent again has to look the same.
fn fingerprint(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}

/// Makes ids for calls of servers that give none: the same for the same conversation, and others for another one, so that
/// branches of a tree have calls of their own.
#[derive(Debug, Default)]
pub(crate) struct Minter {
    used: HashSet<String>,
    mark: u32,
    next: usize,
}

impl Minter {
    pub(crate) fn new(messages: &[Message]) -> Minter {
        let mut used = HashSet::new();
        for message in messages {
            if let Message::Assistant(message) = message {
                used.extend(message.calls().map(|call| call.id.clone()));
            }
        }
        Minter { used, mark: place(messages), next: 0 }
    }

    /// The server's id, unless it is missing or already taken.
    pub(crate) fn id(&mut self, given: Option<&str>) -> String {
        if let Some(given) = given.filter(|given| !given.is_empty())
            && self.used.insert(given.to_owned())
        {
            return given.to_owned();
        }
        loop {
            self.next += 1;
            let id = format!("call_{:08x}_{}", self.mark, self.next);
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// Tells this place of a conversation from others: by its depth, and by what was said since the user last spoke.
fn place(messages: &[Message]) -> u32 {
    let last = messages.iter().rposition(|message| matches!(message, Message::User(_))).unwrap_or(0);
    let mut said = messages.len().to_string();
    for message in &messages[last..] {
        let content = match message {
            Message::User(user) => &user.content,
            Message::Assistant(message) => &message.content,
            Message::ToolResult(result) => &result.content,
            Message::System(_) => continue,
        };
        said.push_str(&serde_json::to_string(content).unwrap_or_default());
    }
    fingerprint(&said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_that_fit_are_left_alone_and_others_stay_apart() {
        assert_eq!(fitting("toolu_01A-b", 64), "toolu_01A-b");
        assert_eq!(fitting("call_a|fc_1", 64), "call_a");
        assert_eq!(fitting("", 64), "call_4fd0bfc1");
        assert_ne!(fitting("a.b", 64), fitting("a:b", 64));
        assert_ne!(fitting(&"x".repeat(100), 40), fitting(&"x".repeat(101), 40));
    }

    fn talk(asked: &str) -> Vec<Message> {
        let call = serde_json::json!({ "type": "toolCall", "id": "theirs", "name": "ls", "arguments": {} });
        let messages = serde_json::json!([
            { "role": "user", "content": "hello" },
            { "role": "assistant", "content": [call] },
            { "role": "user", "content": asked },
        ]);
        serde_json::from_value(messages).unwrap()
    }

    #[test]
    fn a_call_without_an_id_of_its_own_gets_one_that_belongs_to_its_place() {
        let minted = |asked: &str| {
            let mut minter = Minter::new(&talk(asked));
            [
                minter.id(None),
                minter.id(Some("")),
                minter.id(Some("x")),
                minter.id(Some("x")),
                minter.id(Some("theirs")),
            ]
        };
        assert_eq!(
            minted("a"),
            ["call_976eccb4_1", "call_976eccb4_2", "x", "call_976eccb4_3", "call_976eccb4_4"]
        );
        assert_eq!(minted("a"), minted("a"));
        assert_ne!(minted("a")[0], minted("b")[0]);
    }

    proptest! {
        #[test]
        fn every_id_becomes_one_that_fits(id in ".{0,80}", longest in 20usize..64) {
            let fit = fitting(&id, longest);
            prop_assert!(!fit.is_empty() && fit.len() <= longest);
            prop_assert!(fit.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
            prop_assert_eq!(fitting(&fit, longest), fit);
        }
    }
}
