//! Gates of a turn and of shell commands: `message_end`, `turn_end`, `agent_before_settle`, `user_bash`,
//! `before_provider_headers`; and `resources_discover`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_agent::hooks::{HookContext, HookError, HookResult, StepChange, UserCommandDecision};
use osier_agent::{FileCheck, PromptFolder, PromptLibrary};
use osier_tools::user_bash::{BashExecution, UserCommand};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::extension::TimeLimit;
use super::session::SessionExtensions;
use crate::file_rules::{FileAccess, FileRules};
use crate::frame::Failure;

/// The answer to `message_end`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageAnswer {
    message: Option<Value>,
}

/// The result of a shell command that an extension ran.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShellResult {
    #[serde(default)]
    output: String,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    cancelled: bool,
    #[serde(default)]
    truncated: bool,
    #[serde(default)]
    full_output_path: Option<String>,
}

/// The answer to `user_bash`. The library has run `operations`.
#[derive(Debug, Deserialize)]
struct ShellAnswer {
    result: ShellResult,
}

#[derive(Debug, Deserialize)]
struct HeadersAnswer {
    headers: BTreeMap<String, Option<String>>,
}

/// The answer to `resources_discover`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourcesAnswer {
    skill_paths: Vec<PathBuf>,
    prompt_paths: Vec<PathBuf>,
}

impl SessionExtensions {
    /// A message of another role is reported and ignored.
    pub(super) async fn edit_message(&self, message: &Value, ctx: &HookContext<'_>) -> Option<Value> {
        let name = "message_end";
        let mut changed: Option<Value> = None;
        for handler in self.handlers(name) {
            let now = changed.as_ref().unwrap_or(message);
            let event = json!({ "type": name, "message": now });
            let answer = handler.call(self, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            let Some(MessageAnswer { message: Some(new) }) = self.read_answer(&handler, name, answer) else {
                continue;
            };
            if new["role"] != message["role"] {
                let failure = Failure::new("the message that it returned has another role");
                self.report(&handler.extension.path.display().to_string(), name, &failure);
                continue;
            }
            changed = Some(new);
        }
        changed
    }

    /// The end of a step or of a turn. Each field that a handler returns replaces what was proposed so far.
    pub(super) async fn ask_at_boundary(
        &self,
        name: &str,
        mut event: Value,
        ctx: &HookContext<'_>,
    ) -> StepChange {
        let mut change = StepChange::default();
        event["type"] = json!(name);
        for handler in self.handlers(name) {
            let answer = handler.call(self, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            // What handlers return without these fields has no meaning.
            let Some(StepChange { entries, go_on }) = self.read_answer(&handler, name, answer) else {
                continue;
            };
            if let Some(entries) = entries {
                event["entries"] = json!(entries);
                change.entries = Some(entries);
            }
            if let Some(go_on) = go_on {
                event["continue"] = json!(go_on);
                change.go_on = Some(go_on);
            }
        }
        change
    }

    /// The first answer decides. A throw or a wrong shape refuses the command.
    pub(super) async fn before_user_command(
        &self,
        command: &UserCommand,
        ctx: &HookContext<'_>,
    ) -> HookResult<UserCommandDecision> {
        let name = "user_bash";
        for handler in self.handlers(name) {
            let event = json!({
                "type": name,
                "command": command.command,
                "excludeFromContext": command.exclude_from_context,
                "cwd": ctx.session.header().cwd,
            });
            // A command may run for hours.
            let answer = handler.call(self, &event, name, TimeLimit::None, ctx.cancel).await;
            let Some(answer) = answer.map_err(|failure| HookError::new(failure.message))? else { continue };
            let Some(ShellAnswer { result }) = self.read_answer(&handler, name, answer) else {
                return Err(HookError::new("it returned an unexpected value"));
            };
            return Ok(UserCommandDecision::Ran(Box::new(BashExecution {
                command: command.command.clone(),
                output: result.output,
                exit_code: result.exit_code,
                cancelled: result.cancelled,
                truncated: result.truncated,
                full_output_path: result.full_output_path,
                exclude_from_context: command.exclude_from_context,
            })));
        }
        Ok(UserCommandDecision::Run)
    }

    /// Handlers change the headers in place; `null` deletes one.
    pub(super) async fn edit_headers(
        &self,
        headers: &[(String, String)],
        ctx: &HookContext<'_>,
    ) -> Option<Vec<(String, String)>> {
        let name = "before_provider_headers";
        let mut changed: Option<BTreeMap<String, String>> = None;
        for handler in self.handlers(name) {
            let now = changed.clone().unwrap_or_else(|| headers.iter().cloned().collect());
            let event = json!({ "type": name, "headers": now });
            let answer = handler.call(self, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            if let Some(HeadersAnswer { headers }) = self.read_answer(&handler, name, answer) {
                changed =
                    Some(headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect());
            }
        }
        changed.map(|headers| headers.into_iter().collect())
    }

    /// Asks for folders with skills and templates. Relative paths start at the folder of the extension. It names only what it may
    /// read itself.
    pub(super) async fn discover_resources(&self, reason: &str) {
        let (name, cancel) = ("resources_discover", CancellationToken::new());
        let mut found = Vec::new();
        for handler in self.handlers(name) {
            let event = json!({ "type": name, "cwd": self.session.header().cwd, "reason": reason });
            let answer = handler.call(self, &event, name, TimeLimit::Notification, &cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            let ResourcesAnswer { skill_paths, prompt_paths } =
                self.read_answer(&handler, name, answer).unwrap_or_default();
            let Ok(entry) = handler.extension.path.canonicalize() else { continue };
            let folder = entry.parent().map(PathBuf::from).unwrap_or_default();
            let cwd = self.session.header().cwd.clone();
            let rules = self.options.file_rules(cwd.as_ref(), &entry, &handler.extension.grants);
            let join = |paths: Vec<PathBuf>| paths.iter().map(|path| folder.join(path)).collect();
            let resources =
                FoundResources { skills: join(skill_paths), templates: join(prompt_paths), rules };
            for reason in resources.all().filter_map(|path| resources.rules.granted_tree(path).err()) {
                let path = handler.extension.path.display().to_string();
                self.report(&path, name, &Failure::new(reason));
            }
            found.push(resources);
        }
        self.set_resources(found);
    }

    /// What extensions may still name. Links can change at any time, so each file is checked again when it is read.
    pub(super) fn prompt_folders(&self) -> PromptLibrary {
        let mut library = PromptLibrary::default();
        for FoundResources { skills, templates, rules } in &*self.resources() {
            let of_extension = rules.clone();
            let check: FileCheck = Arc::new(move |real: &Path| of_extension.check(real, FileAccess::Read));
            let readable = |paths: &[PathBuf]| -> Vec<PromptFolder> {
                let granted = paths.iter().filter_map(|path| rules.granted_tree(path).ok());
                granted.map(|path| PromptFolder { path, check: Some(check.clone()) }).collect()
            };
            library.skill_folders.extend(readable(skills));
            library.template_folders.extend(readable(templates));
        }
        library
    }
}

/// The files and folders that an extension named, and what it may read.
#[derive(Debug)]
pub(crate) struct FoundResources {
    skills: Vec<PathBuf>,
    templates: Vec<PathBuf>,
    rules: FileRules,
}

impl FoundResources {
    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.skills.iter().chain(&self.templates)
    }
}
