//! Random logs, valid and damaged, for property tests.

use std::fmt;
use std::ops::Range;

use osier_tree::entry::parse_entry;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::message::{assistant_message, reply_content, text_content, usage, user_message};

/// The lines of a random log, without the header. A longer log from the same seed starts with the shorter one.
#[derive(Clone)]
pub struct RandomLog {
    /// All lines, including invalid ones.
    pub lines: Vec<Vec<u8>>,
    /// The lines that are entries, in log order.
    pub entries: Vec<Vec<u8>>,
}

impl fmt::Debug for RandomLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| write!(f, "\n{}", String::from_utf8_lossy(line)))
    }
}

/// Random logs with a number of lines in this range.
pub fn random_logs(damaged: bool, lines: Range<usize>) -> impl Strategy<Value = RandomLog> {
    (any::<u64>(), lines).prop_map(move |(seed, lines)| RandomLog::new(seed, lines, damaged))
}

impl RandomLog {
    pub fn new(seed: u64, lines: usize, damaged: bool) -> RandomLog {
        let mut writer = RandomLogWriter { random: SplitMix64(seed), entries: 0, leaf: None };
        let lines: Vec<_> =
            (0..lines).map(|_| if damaged { writer.damaged_line() } else { writer.valid_line() }).collect();
        let entries = lines.iter().filter(|line| parse_entry(line).is_ok()).cloned().collect();
        RandomLog { lines, entries }
    }
}

/// SplitMix64, a small random number generator.
struct SplitMix64(u64);

impl SplitMix64 {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

struct RandomLogWriter {
    random: SplitMix64,
    entries: usize,
    leaf: Option<String>,
}

fn id(number: usize) -> String {
    format!("{number:08x}")
}

impl RandomLogWriter {
    /// A valid line.
    fn valid_line(&mut self) -> Vec<u8> {
        let mut object = self.random_body();
        let own = id(self.entries);
        let parent = match self.random.below(8) {
            0 if self.entries > 0 => Some(self.earlier_id()),
            1 if self.random.one_in(8) => None,
            _ => self.leaf.clone(),
        };
        self.leaf = match object["customType"] == "osier.leaf" {
            true => parent.clone(),
            false => Some(own.clone()),
        };
        self.finish(&mut object, &own, parent.as_deref())
    }

    fn finish(&mut self, object: &mut Value, own: &str, parent: Option<&str>) -> Vec<u8> {
        object["id"] = json!(own);
        object["parentId"] = json!(parent);
        let second = self.entries + self.random.below(3);
        object["timestamp"] = json!(format!(
            "2026-01-01T{:02}:{:02}:{:02}.000Z",
            second / 3600 % 24,
            second / 60 % 60,
            second % 60
        ));
        self.entries += 1;
        object.to_string().into_bytes()
    }

    /// The id of a random earlier entry.
    fn earlier_id(&mut self) -> String {
        id(self.random.below(self.entries))
    }

    fn message_entry(&mut self, message: &Value) -> Value {
        json!({ "type": "message", "message": message })
    }

    fn random_body(&mut self) -> Value {
        let content = format!("text {}", self.random.below(1000));
        match self.random.below(22) {
            0..5 => self.message_entry(&user_message(&content, 0)),
            5..8 => self.message_entry(&assistant_message(&reply_content(&content, "", 0), "stop", 0)),
            8 => self.message_entry(&assistant_message(
                &reply_content("", "read a, bash b", self.entries),
                "toolUse",
                0,
            )),
            9..11 => {
                let call = format!("call_{}_{}", self.entries, self.random.below(2));
                self.message_entry(&json!({ "role": "toolResult", "toolCallId": call, "toolName": "read", "content": text_content(&content), "isError": false }))
            }
            11 => {
                json!({ "type": "compaction", "summary": content, "firstKeptEntryId": self.target_id(), "tokensBefore": 5, "usage": usage(5, 1) })
            }
            12 => json!({ "type": "branch_summary", "summary": content, "fromId": self.target_id() }),
            13 => {
                json!({ "type": "label", "targetId": self.target_id(), "label": if self.random.one_in(3) { "" } else { &*content } })
            }
            14 => {
                let reason = ["move", "undo", "redo"][self.random.below(3)];
                json!({ "type": "custom", "customType": "osier.leaf", "data": { "why": reason } })
            }
            15 => {
                json!({ "type": "custom_message", "customType": "x", "content": content, "display": self.random.one_in(2) })
            }
            16 => json!({ "type": "context_edit", "targetId": self.target_id(), "replacement": null }),
            17 => {
                json!({ "type": "usage", "kind": "k", "provider": "p", "model": "m", "usage": usage(7, 0) })
            }
            18 => self.rare_body(&content),
            19 => json!({ "type": "thinking_level_change", "thinkingLevel": "low" }),
            20 => {
                json!({ "type": "custom_message", "customType": "osier.backtrack", "content": content, "display": true, "details": { "checkpointId": 0, "note": content } })
            }
            _ => self.message_entry(
                &json!({ "role": "bashExecution", "command": content, "output": "", "exitCode": 1 }),
            ),
        }
    }

    fn rare_body(&mut self, content: &str) -> Value {
        let target = self.target_id();
        match self.random.below(11) {
            0 => {
                json!({ "type": "custom", "customType": "osier.delete_branch", "data": { "targetId": target } })
            }
            1 => {
                json!({ "type": "custom", "customType": "osier.restore_branch", "data": { "targetId": target } })
            }
            2 => {
                json!({ "type": "custom", "customType": "osier.config", "data": { "set": { "k": content } } })
            }
            3 => json!({ "type": "session_info", "name": content }),
            4 => json!({ "type": "model_change", "provider": "p", "modelId": "m" }),
            5 => json!({ "type": "subagent_batch", "content": { "tasks": [], "status": "running" } }),
            6 => self.message_entry(&json!({ "role": "system", "content": content })),
            7 => {
                let results = json!([{ "id": "t", "status": "completed", "summary": content }]);
                json!({ "type": "subagent_result", "content": { "batchId": target, "status": "completed", "results": results }, "usage": usage(3, 1) })
            }
            8 => {
                let number = 1 + self.random.below(3);
                json!({ "type": "custom", "customType": "osier.explore_try", "data": { "exploreId": target, "try": number, "tries": 3, "prompt": content, "place": { "kind": "worktree" } } })
            }
            9 => json!({ "type": "custom", "customType": "x", "data": content }),
            _ => {
                json!({ "type": "custom", "customType": "osier.entry_update", "data": { "targetId": target, "status": "completed" } })
            }
        }
    }

    /// A random target: an earlier entry, if there is one.
    fn target_id(&mut self) -> String {
        if self.entries == 0 { id(0) } else { self.earlier_id() }
    }

    /// A line that may be damaged, or written by another program.
    fn damaged_line(&mut self) -> Vec<u8> {
        match self.random.below(40) {
            0 => b"null".to_vec(),
            1 => b"17".to_vec(),
            2 => Vec::new(),
            3 => br#"{"type":"session","version":3,"id":"again"}"#.to_vec(),
            4 => br#"{"type":"message","parentId":null,"message":{"role":"user"}}"#.to_vec(),
            5 => {
                let mut torn = self.valid_line();
                let end = self.random.below(torn.len());
                torn.truncate(end);
                torn
            }
            6 => {
                let mut line = self.valid_line();
                let at = self.random.below(line.len());
                line[at] = 0xFF;
                line
            }
            7..20 => self.misplaced_line(),
            _ => self.valid_line(),
        }
    }

    /// An entry that conflicts with others, or refers to missing entries.
    fn misplaced_line(&mut self) -> Vec<u8> {
        let mut object = self.random_body();
        let later = id(self.entries + 1 + self.random.below(4));
        let (own, parent) = match self.random.below(8) {
            0 => (id(self.entries), Some("nowhere0".to_owned())),
            1..3 => (id(self.entries), Some(later.clone())),
            3 => (id(self.entries), Some(id(self.entries))),
            4 | 5 => (self.target_id(), Some(self.target_id())),
            6 => (
                format!("a long id {}", self.random.below(4)),
                Some(format!("a long id {}", self.random.below(4))),
            ),
            _ => {
                object = json!({ "type": "brand new", "message": "none", "targetId": later, "role": 7 });
                (id(self.entries), self.leaf.clone())
            }
        };
        for key in ["targetId", "firstKeptEntryId"] {
            if object.get(key).is_some() && self.random.one_in(3) {
                object[key] = json!(if self.random.one_in(2) { &own } else { &later });
            }
        }
        if self.random.one_in(6) {
            object["message"] = json!({ "role": "stranger", "content": null });
        }
        self.leaf = Some(own.clone());
        self.finish(&mut object, &own, parent.as_deref())
    }
}
