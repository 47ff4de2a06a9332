//! The system prompt as entries. The first request of a session stores it whole; a change stores only what changed. What is
//! sent is the replay of the path, so an edited file never changes what an old request began with.

use std::collections::BTreeMap;

use osier_tree::entry::{Entry, read_entry};
use osier_tree::scan::Raw;
use serde_json::{Map, Value, json};

/// The prompt in named sections, and the tools the model may call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemPrompt {
    /// Text that belongs to no section: what other programs store.
    pub content: String,
    pub sections: BTreeMap<String, String>,
    /// By name, each as `{name, description, parameters}`.
    pub tools: BTreeMap<String, Value>,
}

impl SystemPrompt {
    /// Takes the next system message of a path in.
    pub fn replay(&mut self, entry: &Entry<'_>) {
        let Some(message) = entry.message else { return };
        if let Some(content) = message.get("content") {
            let text = osier_tree::projection::card::text_of(message);
            if !content.is_null() && !text.is_empty() {
                self.content = text;
            }
        }
        if let Some(sections) = message.get("sections") {
            sections.each_field(|name, text| match text.text() {
                Some(text) => drop(self.sections.insert(name.to_owned(), text.into_owned())),
                None => drop(self.sections.remove(name)),
            });
        }
        each_tool(message, "toolsRemoved", |name, _| drop(self.tools.remove(name)));
        each_tool(message, "toolsAdded", |name, tool| drop(self.tools.insert(name.to_owned(), tool)));
    }

    /// The same, for a message that was read already.
    pub fn replay_message(&mut self, message: &Value) {
        let line = json!({ "type": "message", "id": "system", "message": message }).to_string();
        if let Ok(entry) = read_entry(line.as_bytes()) {
            self.replay(&entry);
        }
    }

    /// The message that turns this prompt into `wanted`; `None` if it is that already.
    pub fn patch(&self, wanted: &SystemPrompt, timestamp: i64) -> Option<Value> {
        let mut sections = Map::new();
        for name in self.sections.keys().filter(|name| !wanted.sections.contains_key(*name)) {
            sections.insert(name.clone(), Value::Null);
        }
        for (name, text) in
            wanted.sections.iter().filter(|(name, text)| self.sections.get(*name) != Some(text))
        {
            sections.insert(name.clone(), json!(text));
        }
        let removed = self.tools.keys().filter(|name| !wanted.tools.contains_key(*name));
        let removed: Vec<Value> = removed.map(|name| json!({ "name": name })).collect();
        let added = wanted.tools.iter().filter(|(name, tool)| self.tools.get(*name) != Some(tool));
        let added: Vec<&Value> = added.map(|(_, tool)| tool).collect();
        let same_content = wanted.content == self.content;
        if sections.is_empty() && removed.is_empty() && added.is_empty() && same_content {
            return None;
        }
        let mut message =
            json!({ "role": "system", "content": if same_content { "" } else { &wanted.content } });
        if !sections.is_empty() {
            message["sections"] = Value::Object(sections);
        }
        if !added.is_empty() {
            message["toolsAdded"] = json!(added);
        }
        if !removed.is_empty() {
            message["toolsRemoved"] = json!(removed);
        }
        message["timestamp"] = json!(timestamp);
        Some(message)
    }

    /// The prompt as one text.
    pub fn text(&self) -> String {
        let parts = std::iter::once(&self.content).chain(self.sections.values());
        parts.filter(|part| !part.trim().is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }
}

fn each_tool(message: Raw<'_>, key: &str, mut f: impl FnMut(&str, Value)) {
    let Some(tools) = message.get(key) else { return };
    tools.each_item(|tool| {
        let name = tool.get("name").and_then(Raw::text);
        if let (Some(name), Ok(value)) = (name, serde_json::from_slice(tool.bytes())) {
            f(&name, value);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(sections: &[(&str, &str)], tools: &[&str]) -> SystemPrompt {
        SystemPrompt {
            content: String::new(),
            sections: sections.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
            tools: tools
                .iter()
                .map(|name| ((*name).to_owned(), json!({ "name": name, "description": "d" })))
                .collect(),
        }
    }

    fn replayed(messages: &[Value]) -> SystemPrompt {
        let mut prompt = SystemPrompt::default();
        for message in messages {
            let line = json!({ "type": "message", "id": "x", "message": message }).to_string();
            prompt.replay(&read_entry(line.as_bytes()).unwrap());
        }
        prompt
    }

    #[test]
    fn a_patch_says_only_what_changed_and_replays_to_what_was_wanted() {
        let first = prompt(&[("cwd", "/a"), ("preamble", "You work here.")], &["bash", "read"]);
        let second = prompt(&[("preamble", "You work here."), ("skills", "none")], &["read", "write"]);
        let whole = SystemPrompt::default().patch(&first, 1).unwrap();
        let change = first.patch(&second, 2).unwrap();
        assert_eq!(
            change,
            json!({
                "role": "system", "content": "", "sections": { "cwd": null, "skills": "none" },
                "toolsAdded": [{ "name": "write", "description": "d" }], "toolsRemoved": [{ "name": "bash" }], "timestamp": 2,
            })
        );
        assert_eq!(replayed(std::slice::from_ref(&whole)), first);
        assert_eq!(replayed(&[whole, change]), second);
        assert_eq!(second.patch(&second, 3), None);
    }
}
