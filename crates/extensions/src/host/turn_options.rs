//! `before_agent_start`: what the system prompt of a turn is made of, and what handlers change of it.

use std::path::PathBuf;

use osier_agent::hooks::{HookContext, StoredPrompt, TurnChange};
use osier_agent::skills::{Skill, skills_section};
use osier_agent::system_prompt_source::instructions_section;
use osier_protocol::CustomMessage;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::extension::TimeLimit;
use super::session::SessionExtensions;
use super::toolbox::describe_parts;

/// The answer to `before_agent_start`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TurnAnswer {
    message: Option<CustomMessage>,
    system_prompt: Option<String>,
    /// `systemPromptOptions`, if the handler changed them.
    options: Option<Map<String, Value>>,
}

impl SessionExtensions {
    /// Asks the handlers of `before_agent_start`. The options go from one to the next, as in pi.
    pub(super) async fn prepare_turn(&self, prompt: &StoredPrompt, ctx: &HookContext<'_>) -> TurnChange {
        let (name, mut change) = ("before_agent_start", TurnChange::default());
        let handlers = self.handlers(name);
        if handlers.is_empty() {
            return change;
        }
        let tools = super::session_calls::active_tools(self);
        let base = self.system_prompt_options(prompt.sections.clone()).await;
        let mut options = base.clone();
        for handler in handlers {
            let mut event = turn_event(name, &prompt.message);
            let text = rendered_prompt(prompt, &base, &options);
            event["systemPrompt"] = json!(text.as_ref().unwrap_or(&prompt.system_prompt));
            event["systemPromptOptions"] = options.clone();
            let answer = handler.call(self, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            let answer: TurnAnswer = self.read_answer(&handler, name, answer).unwrap_or_default();
            change.messages.extend(answer.message);
            options = answer.options.map_or(options, Value::Object);
            if let Some(text) = answer.system_prompt {
                options["forceSystemPrompt"] = json!(text);
            }
        }
        if options["selectedTools"] != base["selectedTools"] {
            self.set_tools_of_turn(Some(texts(&options["selectedTools"])));
        }
        change.tools_changed = super::session_calls::active_tools(self) != tools;
        change.system_prompt = rendered_prompt(prompt, &base, &options);
        change
    }

    /// `systemPromptOptions`: what the system prompt with these sections is made of.
    pub(super) async fn system_prompt_options(&self, sections: Map<String, Value>) -> Value {
        let (files, skills) = match self.worker() {
            Some(worker) => worker.system_prompt_files().await,
            None => Default::default(),
        };
        let file = |(path, content): &(String, String)| json!({ "path": path, "content": content });
        json!({
            "selectedTools": super::session_calls::active_tools(self),
            "cwd": self.session.header().cwd,
            "toolSnippets": self.tool_snippets(),
            "toolGuidelines": self.tool_guidelines(),
            "hiddenTools": [],
            "appendSystemPrompt": sections.get("append").and_then(Value::as_str).unwrap_or_default(),
            "promptGuidelines": [],
            "contextFiles": files.iter().map(file).collect::<Vec<_>>(),
            "skills": skills.iter().map(describe_skill).collect::<Vec<_>>(),
            "sections": sections,
        })
    }
}

/// A skill in the words of pi.
fn describe_skill(skill: &Skill) -> Value {
    json!({
        "name": skill.name,
        "description": skill.description,
        "filePath": skill.path,
        "baseDir": skill.path.parent(),
        "disableModelInvocation": skill.user_only,
        "sourceInfo": { "path": skill.path, "source": "local", "scope": "user", "origin": "top-level" },
    })
}

fn read_skill(skill: &Value) -> Skill {
    let text = |field: &str| skill[field].as_str().unwrap_or_default().to_owned();
    let path = PathBuf::from(text("filePath"));
    Skill::listed(text("name"), text("description"), path, skill["disableModelInvocation"] == true)
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// The system prompt that the options describe, if it is not the one of the turn. The active tools change it by themselves.
fn rendered_prompt(prompt: &StoredPrompt, base: &Value, options: &Value) -> Option<String> {
    if let Some(forced) = options["forceSystemPrompt"].as_str() {
        return Some(forced.to_owned());
    }
    let changed = |fields: &[&str]| fields.iter().any(|field| options[*field] != base[*field]);
    let mut wanted = options["sections"].as_object().cloned().unwrap_or_default();
    let mut set = |section: &str, text: Option<String>| match text.filter(|text| !text.trim().is_empty()) {
        Some(text) => drop(wanted.insert(section.to_owned(), json!(text))),
        None => drop(wanted.shift_remove(section)),
    };
    if changed(&["customPrompt"]) {
        set("preamble", options["customPrompt"].as_str().map(str::to_owned));
    }
    if changed(&["appendSystemPrompt"]) {
        set("append", options["appendSystemPrompt"].as_str().map(str::to_owned));
    }
    if changed(&["contextFiles"]) {
        let text = |file: &Value, field: &str| file[field].as_str().unwrap_or_default().to_owned();
        let files = options["contextFiles"].as_array().into_iter().flatten();
        let files: Vec<_> = files.map(|file| (text(file, "path"), text(file, "content"))).collect();
        set("instructions", instructions_section(&files));
    }
    if changed(&["skills"]) {
        let skills: Vec<Skill> = options["skills"].as_array().into_iter().flatten().map(read_skill).collect();
        set("skills", skills_section(&skills));
    }
    if changed(&["promptGuidelines", "toolSnippets", "toolGuidelines"]) {
        set("tools", tools_section(options));
    }
    (wanted != prompt.sections).then(|| replace_sections(&prompt.system_prompt, &prompt.sections, &wanted))
}

/// What the section about tools of extensions says with these options.
fn tools_section(options: &Value) -> Option<String> {
    let selected = texts(&options["selectedTools"]);
    let snippet =
        |name: &String| options["toolSnippets"][name].as_str().map(|text| format!("- {name}: {text}"));
    let guidelines = selected.iter().flat_map(|name| texts(&options["toolGuidelines"][name]));
    describe_parts(selected.iter().filter_map(snippet), guidelines.chain(texts(&options["promptGuidelines"])))
}

/// A system prompt in which sections changed. New text is marked with the name of its section.
fn replace_sections(prompt: &str, old: &Map<String, Value>, new: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut prompt = prompt.to_owned();
    for (name, before) in old.iter().filter(|(name, before)| new.get(*name) != Some(before)) {
        let after = new.get(name).map(text).unwrap_or_default();
        prompt = prompt.replacen(&text(before), &after, 1);
    }
    for (name, added) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        prompt.push_str(&format!("\n\n<{name}>\n{}\n</{name}>", text(added)));
    }
    prompt
}

/// The text and the images of a stored prompt.
fn turn_event(name: &str, message: &Value) -> Value {
    if message["role"] == "custom" {
        return json!({ "type": name, "messageType": "custom", "message": message });
    }
    let blocks = message["content"].as_array().cloned().unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let text = message["content"].as_str().map_or_else(|| texts.join("\n"), str::to_owned);
    let images: Vec<&Value> = blocks.iter().filter(|block| block["type"] == "image").collect();
    let mut event = json!({ "type": name, "messageType": "user", "prompt": text });
    if !images.is_empty() {
        event["images"] = json!(images);
    }
    event
}
