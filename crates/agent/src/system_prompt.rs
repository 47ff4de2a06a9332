//! The system prompt as entries. The first prompt of a session stores all of it; later changes store only
//! what changed, and the model gets them at their position (see `request`). Editing a file therefore never
//! changes the start of an earlier request.

use osier_session::SessionState;
use osier_tree::entry::{Entry, parse_entry};
use osier_tree::scan::RawJson;
use osier_tree::{EntryKind, MessageRole, Place, Seq};
use serde_json::{Map, Value, json};

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::prompt_library::PromptFolder;
use crate::skills;

/// The system prompt in named sections, and the tools the model may call. Both keep their insertion order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemPrompt {
    /// Text outside the sections, as other programs store it.
    pub content: String,
    sections: Map<String, Value>,
    /// Tools by name, each as `{name, description, parameters}`.
    tools: Map<String, Value>,
}

impl SystemPrompt {
    pub fn new(sections: Vec<(String, String)>, tools: Vec<Value>) -> SystemPrompt {
        let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
        SystemPrompt {
            content: String::new(),
            sections: sections.into_iter().map(|(name, text)| (name, json!(text))).collect(),
            tools: tools.into_iter().map(|tool| (name(&tool), tool)).collect(),
        }
    }

    /// The sections by their names.
    pub fn sections(&self) -> &Map<String, Value> {
        &self.sections
    }

    pub fn tools(&self) -> impl Iterator<Item = &Value> {
        self.tools.values()
    }

    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Whether a part of `first` is still in effect, so that this prompt can be expressed as changes to it.
    /// After the prompt of another program was replaced, nothing of it is left.
    pub(crate) fn continues(&self, first: &SystemPrompt) -> bool {
        let is_kept = |(name, text): (&String, &Value)| self.sections.get(name) == Some(text);
        self.content == first.content && (first.sections.is_empty() || first.sections.iter().any(is_kept))
    }

    /// The text that tells a model about the changes from this prompt to `new`; `None` if there are none.
    pub(crate) fn describe_change(&self, new: &SystemPrompt) -> Option<String> {
        let removed = removed_names(&self.sections, &new.sections)
            .map(|name| format!("The section \"{name}\" of your system prompt no longer applies."));
        let changed = changed_values(&self.sections, &new.sections).map(|(name, text)| {
            format!(
                "The section \"{name}\" of your system prompt now reads:\n\n{}",
                text.as_str().unwrap_or_default()
            )
        });
        let changes: Vec<String> = removed.chain(changed).collect();
        (!changes.is_empty()).then(|| changes.join("\n\n"))
    }

    /// Applies the next system message of a path.
    pub fn replay(&mut self, entry: &Entry<'_>) {
        let Some(message) = entry.message else { return };
        if let Some(content) = message.get("content") {
            let text = osier_tree::projection::card::message_text(message);
            if !content.is_null() && !text.is_empty() {
                self.content = text;
            }
        }
        if let Some(sections) = message.get("sections") {
            sections.each_field(|name, text| match text.text() {
                Some(text) => drop(self.sections.insert(name.to_owned(), json!(text))),
                None => drop(self.sections.shift_remove(name)),
            });
        }
        each_tool(message, "toolsRemoved", |name, _| drop(self.tools.shift_remove(name)));
        each_tool(message, "toolsAdded", |name, tool| drop(self.tools.insert(name.to_owned(), tool)));
    }

    /// Like `replay`, for a parsed message.
    pub fn replay_message(&mut self, message: &Value) {
        let line = json!({ "type": "message", "id": "system", "message": message }).to_string();
        if let Ok(entry) = parse_entry(line.as_bytes()) {
            self.replay(&entry);
        }
    }

    /// The message that changes this prompt into `wanted`; `None` if nothing differs. Order does not matter.
    pub fn patch(&self, wanted: &SystemPrompt, timestamp: i64) -> Option<Value> {
        let mut sections: Map<String, Value> =
            removed_names(&self.sections, &wanted.sections).map(|name| (name.clone(), Value::Null)).collect();
        sections.extend(
            changed_values(&self.sections, &wanted.sections).map(|(name, text)| (name.clone(), text.clone())),
        );
        let removed: Vec<Value> =
            removed_names(&self.tools, &wanted.tools).map(|name| json!({ "name": name })).collect();
        let added: Vec<&Value> = changed_values(&self.tools, &wanted.tools).map(|(_, tool)| tool).collect();
        let same_content = wanted.content.trim() == self.content.trim();
        if sections.is_empty() && removed.is_empty() && added.is_empty() && same_content {
            return None;
        }
        let content = match wanted.content.as_str() {
            _ if same_content => "",
            // An empty text would keep the content that another program stored.
            "" => " ",
            content => content,
        };
        let mut message = json!({ "role": "system", "content": content });
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

    /// The message that contains the whole prompt; `None` if it is empty.
    pub(crate) fn full_message(&self, timestamp: i64) -> Option<Value> {
        SystemPrompt::default().patch(self, timestamp)
    }

    /// The prompt as plain text.
    pub fn text(&self) -> String {
        let sections = self.sections.values().filter_map(Value::as_str);
        let parts = std::iter::once(self.content.as_str()).chain(sections);
        parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

fn removed_names<'a>(
    old: &'a Map<String, Value>,
    new: &'a Map<String, Value>,
) -> impl Iterator<Item = &'a String> {
    old.keys().filter(|name| !new.contains_key(*name))
}

fn changed_values<'a>(
    old: &'a Map<String, Value>,
    new: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    new.iter().filter(|(name, value)| old.get(*name) != Some(value))
}

/// Lists the skills of these folders where the sections have theirs.
fn replace_skills(sections: &mut Vec<(String, String)>, folders: &[PromptFolder]) {
    let Some(text) = skills::skills_section(&skills::find_skills(folders).0) else { return };
    match sections.iter_mut().find(|(name, _)| name == "skills") {
        Some((_, known)) => *known = text,
        None => {
            let before_environment = sections.iter().position(|(name, _)| name == "environment");
            let at = before_environment.unwrap_or(sections.len());
            sections.insert(at, ("skills".to_owned(), text));
        }
    }
}

impl AgentContext {
    /// Stores a patch if the prompt on the path is not up to date.
    pub(crate) async fn update_system_prompt(&self) -> Result<(), AgentError> {
        let (briefing, now) = (self.config.system_prompt.clone(), self.timestamp());
        let skill_folders = self.prompt_library().skill_folders;
        // The sections list the skills of the configuration, not those of hooks.
        let has_more_skills = skill_folders.len() > self.config.prompt_library.skill_folders.len();
        let sections = tokio::task::spawn_blocking(move || {
            let mut sections = briefing.sections(now);
            if has_more_skills {
                replace_skills(&mut sections, &skill_folders);
            }
            sections
        });
        // If computing the sections panics, keep the prompt.
        let Ok(mut sections) = sections.await else { return Ok(()) };
        let section = self.config.tools.prompt_section(&self.config.tools.specs());
        sections.extend(section.map(|text| ("tools".to_owned(), text)));
        let tool = |spec: osier_tools::ToolSpec| json!({ "name": spec.name, "description": spec.description, "parameters": spec.parameters });
        let tools = self.tool_specs().into_iter().map(tool).collect();
        let (state, at) = self.position();
        let patch = self.system_prompt_at(&state, at).await?.patch(&SystemPrompt::new(sections, tools), now);
        match patch {
            Some(patch) => self.append_message(&patch).await.map(drop),
            None => Ok(()),
        }
    }

    /// The system prompt in effect at a position.
    pub(crate) async fn system_prompt_at(
        &self,
        state: &SessionState,
        at: Place,
    ) -> Result<SystemPrompt, AgentError> {
        let has_prompt = |seq: &Seq| {
            let head = state.tree.head(*seq);
            head.role == MessageRole::System || head.kind == EntryKind::Compaction
        };
        let plan = state.tree.context_entries(at);
        let wanted: Vec<Seq> = plan.items.iter().map(|item| item.seq).filter(has_prompt).collect();
        let lines = self.read_lines(state, &wanted).await?;
        let mut prompt = SystemPrompt::default();
        for item in plan.items.iter().filter(|item| has_prompt(&item.seq)) {
            let Some(line) = lines.get(&item.seq) else { continue };
            item.emit_messages(line, None, &mut |message| {
                if let Ok(message) = serde_json::from_slice::<Value>(message)
                    && message["role"] == "system"
                {
                    prompt.replay_message(&message);
                }
            });
        }
        Ok(prompt)
    }
}

fn each_tool(message: RawJson<'_>, key: &str, mut f: impl FnMut(&str, Value)) {
    let Some(tools) = message.get(key) else { return };
    tools.each_item(|tool| {
        let name = tool.get("name").and_then(RawJson::text);
        if let (Some(name), Ok(value)) = (name, serde_json::from_slice(tool.bytes())) {
            f(&name, value);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(sections: &[(&str, &str)], tools: &[&str]) -> SystemPrompt {
        let sections = sections.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let tools = tools.iter().map(|name| json!({ "name": name, "description": "d" })).collect();
        SystemPrompt::new(sections, tools)
    }

    fn replayed(messages: &[Value]) -> SystemPrompt {
        let mut prompt = SystemPrompt::default();
        for message in messages {
            let line = json!({ "type": "message", "id": "x", "message": message }).to_string();
            prompt.replay(&parse_entry(line.as_bytes()).unwrap());
        }
        prompt
    }

    #[test]
    fn patch_has_only_changes_and_replays_to_the_wanted_prompt() {
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

    #[test]
    fn content_of_another_program_is_removed_once() {
        let foreign = replayed(&[json!({ "role": "system", "content": "You are somebody else." })]);
        let wanted = prompt(&[("preamble", "You work here.")], &[]);
        let patch = foreign.patch(&wanted, 1).unwrap();
        let mut after = foreign.clone();
        after.replay_message(&patch);
        assert_eq!(after.text(), "You work here.");
        assert_eq!(after.patch(&wanted, 2), None);
    }
}
