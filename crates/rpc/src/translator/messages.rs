//! Stored entries, tools and questions.

use osier_protocol::entry_view::{EntryContent, MessageView};
use osier_protocol::{EntryEvent, EntryKind, Question};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Translator;
use crate::pi_event::{PiEvent, RawMessage};
use crate::stored_entry::{StoredEntry, StoredToolResult};

impl Translator {
    pub(super) fn handle_entry(&mut self, event: &EntryEvent) {
        self.drafts_elsewhere.remove(&event.id);
        let (Some(view), Some(entry)) = (event.entry.view(), StoredEntry::read(&event.entry)) else { return };
        match (&view.content, view.kind) {
            (_, EntryKind::Label) => self.emit(&PiEvent::LabelChanged {
                target_id: entry.target_id.as_deref().unwrap_or_default(),
                label: entry.label.as_deref().filter(|label| !label.is_empty()),
            }),
            (_, EntryKind::SessionInfo) => self.set_name(entry.name),
            _ if event.off_path => {}
            (_, EntryKind::ModelChange) => {
                self.set_model(&entry.provider.unwrap_or_default(), &entry.model_id.unwrap_or_default());
            }
            (_, EntryKind::ThinkingLevelChange) => {
                self.set_thinking_level(&entry.thinking_level.unwrap_or_default());
            }
            (EntryContent::Message(message), EntryKind::Message) => {
                if let Some(stored) = entry.message {
                    self.handle_message(message, stored);
                }
            }
            (EntryContent::Compaction(_), _) => {
                self.end_compaction(entry.compaction_result(), false, None);
            }
            (_, EntryKind::CustomMessage) => {
                if let Some(message) = entry.custom_message(view.time) {
                    self.add_message(message);
                }
            }
            (_, EntryKind::Custom | EntryKind::ContextEdit) => {
                if let Ok(entry) = serde_json::from_slice::<&RawValue>(event.entry.bytes()) {
                    self.emit(&PiEvent::EntryAppended { entry });
                }
            }
            _ => {}
        }
    }

    fn set_name(&mut self, name: Option<String>) {
        let name = name.filter(|name| !name.is_empty());
        if self.name != name {
            self.emit(&PiEvent::SessionInfoChanged { name: name.as_deref() });
            self.name = name;
        }
    }

    fn handle_message(&mut self, message: &MessageView, stored: &RawValue) {
        match message {
            // pi announces commands of the user only as output.
            MessageView::UserCommand(_) => {}
            MessageView::Assistant(reply) => {
                let is_failed = matches!(reply.stop_reason.as_deref(), Some("error" | "aborted"));
                let calls = reply.calls().filter(|_| !is_failed);
                let calls = calls.map(|call| (call.id.clone(), call.arguments.clone())).collect();
                self.end_reply(stored, calls, is_failed);
            }
            MessageView::ToolResult(_) => self.handle_tool_result(stored),
            MessageView::User(user) => {
                self.ensure_step();
                let changed = self.is_running() && self.queue.remove_delivered(&user.text);
                self.emit_queue_if(changed);
                self.add_message(stored.to_owned());
            }
            MessageView::Custom(_) | MessageView::Other(_) => self.add_message(stored.to_owned()),
        }
    }

    /// A message that arrives whole.
    fn add_message(&mut self, message: RawMessage) {
        self.ensure_step();
        self.emit_message(false, Some(&message));
        self.emit_message(true, Some(&message));
        if let Some(run) = &mut self.run {
            run.messages.push(message);
        }
    }

    fn end_reply(&mut self, stored: &RawValue, calls: Vec<(String, Value)>, is_failed: bool) {
        self.ensure_step();
        let was_started = self.end_stream().is_some();
        if !was_started {
            self.emit_message(false, Some(stored));
        }
        self.emit_message(true, Some(stored));
        if let Some(run) = &mut self.run {
            run.messages.push(stored.to_owned());
        }
        let is_last = calls.is_empty();
        if let Some(step) = self.step() {
            (step.reply, step.open_calls) = (Some(stored.to_owned()), calls);
        }
        if !is_failed {
            self.end_retry(true, None);
        }
        if is_last {
            self.end_step();
        }
    }

    fn handle_tool_result(&mut self, stored: &RawValue) {
        if let Some(result) = StoredToolResult::read(stored) {
            let (id, name) = (&result.tool_call_id, &result.tool_name);
            let arguments = self.remove_call(id);
            if !self.tools.is_started(id) {
                self.start_tool(id, name, &arguments.unwrap_or_default());
            }
            let duration_ms = self.tools.finish(id);
            let (parts, is_error) = (result.parts(), result.is_error);
            let event = PiEvent::ToolExecutionEnd {
                tool_call_id: id,
                tool_name: name,
                result: parts,
                is_error,
                duration_ms,
            };
            self.emit(&event);
        }
        self.add_message(stored.to_owned());
        let Some(step) = self.step() else { return };
        step.results.push(stored.to_owned());
        if step.open_calls.is_empty() {
            self.end_step();
        }
    }

    /// The arguments of a call whose result arrives.
    fn remove_call(&mut self, id: &str) -> Option<Value> {
        let step = self.step()?;
        let index = step.open_calls.iter().position(|(call, _)| call == id)?;
        Some(step.open_calls.remove(index).1)
    }

    pub(super) fn start_tool(&mut self, call: &str, name: &str, arguments: &Value) {
        if self.tools.start(call, name, arguments) {
            self.emit(&PiEvent::ToolExecutionStart { tool_call_id: call, tool_name: name, args: arguments });
        }
    }

    pub(super) fn handle_tool_output(&mut self, call: &str, text: &str) {
        let session_id = self.session_id.clone();
        if let Some(event) = self.tools.add_output(call, text) {
            let line = event.to_line(session_id.as_deref());
            self.lines.push(line);
        }
    }

    /// A question becomes a dialog. pi starts a tool before its extensions ask about it.
    pub(crate) fn ask(&mut self, id: u64, question: &Question, agent: Option<&str>) {
        // The call of a sub-agent is in its own session.
        if let (Question::Tool(question), None) = (question, agent) {
            self.start_tool(&question.call.id, &question.call.name, &question.call.arguments);
        }
        let timeout = match question {
            Question::Dialog(question) => question.timeout,
            Question::Tool(_) | Question::Continue { .. } => None,
        };
        let (dialog_id, dialog) = self.dialogs.open(id, question, agent);
        self.emit(&PiEvent::ExtensionUiRequest { id: dialog_id, dialog, timeout });
    }
}
