//! The messages of a context as hooks see and edit them: as the path has them, before they are converted to what is sent.
//!
//! System messages are not shown. What hooks return gets the entries that it comes from again, so that system messages and checkpoint
//! markers keep their places.

use std::collections::VecDeque;

use osier_tree::projection::request::{RequestMessage, SourcedMessage, parse_message};
use osier_tree::scan::RawJson;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// A message of the context, unchanged.
#[derive(Debug)]
pub(crate) struct StoredMessage(pub(crate) Value);

impl RequestMessage for StoredMessage {
    fn from_json(message: Value) -> Option<StoredMessage> {
        Some(StoredMessage(message))
    }

    fn read(message: RawJson<'_>) -> Option<StoredMessage> {
        parse_message(message.bytes()).map(StoredMessage)
    }

    fn is_reply(&self) -> bool {
        self.0.is_reply()
    }

    fn calls(&self) -> Vec<(String, String)> {
        self.0.calls()
    }

    fn answered_call_id(&self) -> Option<&str> {
        self.0.answered_call_id()
    }

    fn push_text(&mut self, text: String) {
        self.0.push_text(text);
    }
}

fn is_shown(message: &Value) -> bool {
    message["role"] != "system"
}

/// The messages that hooks see.
pub(crate) fn shown_messages(messages: &[SourcedMessage<StoredMessage>]) -> Vec<Value> {
    let messages = messages.iter().map(|(_, StoredMessage(message))| message);
    messages.filter(|message| is_shown(message)).cloned().collect()
}

/// What identifies a message after a hook changed its content.
fn key(message: &Value) -> String {
    let fields = ["role", "timestamp", "toolCallId", "customType"].map(|field| &message[field]);
    format!("{fields:?}")
}

/// The edited messages, each with the entry that it comes from. System messages stay between the messages that are kept.
pub(crate) fn place_edited(
    original: Vec<SourcedMessage<StoredMessage>>,
    edited: Vec<Value>,
) -> Vec<SourcedMessage<StoredMessage>> {
    let mut origins = Origins::new(&original);
    let edited = edited.into_iter().filter(is_shown).map(|message| (origins.remove_match(&message), message));
    let edited: Vec<(Option<usize>, Value)> = edited.collect();
    let mut system = SystemMessages { original: &original, next: 0 };
    let mut placed = system.directly_next();
    let mut after_last_kept = placed.len();
    for (index, message) in edited {
        let seq = index.and_then(|index| original[index].0);
        let kept = index.filter(|index| *index >= system.next);
        placed.extend(kept.map(|index| system.until(index)).unwrap_or_default());
        placed.push((seq, StoredMessage(message)));
        if let Some(index) = kept {
            system.next = index + 1;
            placed.extend(system.directly_next());
            after_last_kept = placed.len();
        }
    }
    placed.splice(after_last_kept..after_last_kept, system.until(original.len()));
    placed
}

/// Finds the original of an edited message. Each original is found once.
struct Origins<'a> {
    original: &'a [SourcedMessage<StoredMessage>],
    indexes: FxHashMap<String, VecDeque<usize>>,
}

impl<'a> Origins<'a> {
    fn new(original: &'a [SourcedMessage<StoredMessage>]) -> Origins<'a> {
        let mut indexes: FxHashMap<String, VecDeque<usize>> = FxHashMap::default();
        for (index, (_, StoredMessage(message))) in original.iter().enumerate() {
            if is_shown(message) {
                indexes.entry(key(message)).or_default().push_back(index);
            }
        }
        Origins { original, indexes }
    }

    fn remove_match(&mut self, message: &Value) -> Option<usize> {
        let indexes = self.indexes.get_mut(&key(message))?;
        let is_equal = |index: &usize| self.original[*index].1.0 == *message;
        let at = indexes.iter().position(is_equal).unwrap_or(0);
        indexes.remove(at)
    }
}

/// The system messages that are not placed yet.
struct SystemMessages<'a> {
    original: &'a [SourcedMessage<StoredMessage>],
    next: usize,
}

impl SystemMessages<'_> {
    /// Those before the next message that hooks saw.
    fn directly_next(&mut self) -> Vec<SourcedMessage<StoredMessage>> {
        let shown = self.original[self.next..].iter().position(|(_, message)| is_shown(&message.0));
        self.until(shown.map_or(self.original.len(), |at| self.next + at))
    }

    /// Those before this index.
    fn until(&mut self, index: usize) -> Vec<SourcedMessage<StoredMessage>> {
        let passed = &self.original[self.next..index];
        self.next = index;
        let system = passed.iter().filter(|(_, message)| !is_shown(&message.0));
        system.map(|(seq, message)| (*seq, StoredMessage(message.0.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use osier_tree::Seq;
    use serde_json::json;

    use super::*;

    fn message(role: &str, time: u64, content: &str) -> Value {
        json!({ "role": role, "content": content, "timestamp": time })
    }

    /// The content and the entry of each message after an edit of the messages with these contents.
    fn placed(edit: impl FnOnce(Vec<Value>) -> Vec<Value>) -> Vec<String> {
        let original: Vec<_> = [
            message("system", 0, "S1"),
            message("user", 1, "one"),
            message("assistant", 2, "two"),
            message("system", 2, "S2"),
            message("user", 3, "three"),
            message("user", 3, "four"),
        ]
        .into_iter()
        .enumerate()
        .map(|(seq, message)| (Some(Seq::new(seq)), StoredMessage(message)))
        .collect();
        let edited = edit(shown_messages(&original));
        let placed = place_edited(original, edited);
        let show = |(seq, message): &SourcedMessage<StoredMessage>| {
            let seq = seq.map_or_else(|| "new".to_owned(), |seq| seq.index().to_string());
            format!("{seq} {}", message.0["content"].as_str().unwrap())
        };
        placed.iter().map(show).collect()
    }

    #[test]
    fn hooks_see_no_system_messages_and_they_keep_their_places() {
        let all = ["0 S1", "1 one", "2 two", "3 S2", "4 three", "5 four"];
        assert_eq!(placed(|messages| messages), all);
        let without = |index: usize| {
            move |mut messages: Vec<Value>| {
                messages.remove(index);
                messages
            }
        };
        assert_eq!(placed(without(0)), ["0 S1", "2 two", "3 S2", "4 three", "5 four"]);
        assert_eq!(placed(without(1)), ["0 S1", "1 one", "3 S2", "4 three", "5 four"]);
        assert_eq!(placed(without(2)), ["0 S1", "1 one", "2 two", "3 S2", "5 four"]);
    }

    #[test]
    fn changed_messages_keep_their_entries_and_new_ones_have_none() {
        let edit = |mut messages: Vec<Value>| {
            messages[1]["content"] = json!("TWO");
            messages.insert(0, message("custom", 9, "note"));
            messages
        };
        assert_eq!(placed(edit), ["0 S1", "new note", "1 one", "2 TWO", "3 S2", "4 three", "5 four"]);
        assert_eq!(placed(|_| vec![message("user", 9, "all")]), ["0 S1", "3 S2", "new all"]);
        assert_eq!(placed(|_| vec![message("system", 9, "mine")]), ["0 S1", "3 S2"]);
    }
}
