//! Translates the events of a session into pi's. It keeps only what pi's events repeat: the messages of the running turn,
//! the reply that is being written, and the tools that run.

mod messages;
mod turns;

use osier_protocol::{ClientEvent, EntryId, ExtensionEvent, MoveEvent, SummarySubject};
use rustc_hash::FxHashSet;
use serde_json::Value;

use crate::dialogs::Dialogs;
use crate::message_queue::QueueTexts;
use crate::pi_event::{CompactionReason, Dialog, PiEvent, RawMessage};
use crate::reply_stream::ReplyStream;
use crate::tool_runs::ToolRuns;

/// What pi's events repeat about the model in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelName {
    pub(crate) api: String,
    pub(crate) provider: String,
    pub(crate) id: String,
}

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Translator {
    /// Set for sessions that the client opened in addition: their events name the session.
    session_id: Option<String>,
    lines: Vec<String>,
    run: Option<AgentRun>,
    /// Replies at other positions, such as those of sub-agents.
    drafts_elsewhere: FxHashSet<EntryId>,
    tools: ToolRuns,
    pub(crate) dialogs: Dialogs,
    pub(crate) queue: QueueTexts,
    retry_attempt: Option<u32>,
    compaction: Option<CompactionReason>,
    /// The id of the running `bash` command.
    bash_id: Option<Value>,
    /// How many `bash` commands there were.
    bash_count: u64,
    pub(crate) model: ModelName,
    /// The models that the session can use, to find the API of one.
    pub(crate) models: Vec<ModelName>,
    pub(crate) thinking_level: String,
    pub(crate) name: Option<String>,
}

/// What pi calls an agent run: a prompt, and everything until the agent needs the next one.
#[derive(Debug, Default)]
struct AgentRun {
    messages: Vec<RawMessage>,
    /// What pi calls a turn: one reply, its tool calls and their results.
    step: Option<Step>,
}

#[derive(Debug, Default)]
struct Step {
    reply: Option<RawMessage>,
    results: Vec<RawMessage>,
    /// The calls of the reply that have no result yet: ids and arguments.
    open_calls: Vec<(String, Value)>,
    /// The reply while it is written.
    stream: Option<ReplyStream>,
}

impl Translator {
    pub(crate) fn new(session_id: Option<String>) -> Translator {
        let dialogs = Dialogs::new(session_id.as_deref());
        Translator { session_id, dialogs, ..Translator::default() }
    }

    /// The lines for an event.
    pub(crate) fn handle(&mut self, event: &ClientEvent) -> Vec<String> {
        match event {
            ClientEvent::Entry(entry) => self.handle_entry(entry),
            ClientEvent::Backtrack(backtrack) => self.emit(&PiEvent::Backtrack(backtrack)),
            ClientEvent::DraftStarted { id, off_path } => {
                if *off_path {
                    self.drafts_elsewhere.insert(id.clone());
                }
            }
            ClientEvent::DraftDelta { id, delta, .. } => {
                if !self.drafts_elsewhere.contains(id) {
                    self.handle_delta(delta);
                }
            }
            ClientEvent::DraftDropped { id } => drop(self.drafts_elsewhere.remove(id)),
            ClientEvent::Moved(moved) => self.handle_move(moved),
            ClientEvent::ContinuedElsewhere { .. } => self.emit(&PiEvent::ContinuedElsewhere),
            ClientEvent::Reset(_) => self.emit(&PiEvent::SessionReset),
            ClientEvent::Lagged { .. } => self.emit(&PiEvent::EventsSkipped),
            ClientEvent::TurnStarted => self.start_run(),
            ClientEvent::TurnEnded { finished, error } => self.end_run(*finished, error.as_deref()),
            // Something is not stored yet, which pi does not know.
            ClientEvent::Retrying { kind, message, .. } if kind == "store" => self.notify(message, "warning"),
            ClientEvent::Retrying { attempt, max_attempts, seconds, message, .. } => {
                // pi counts the attempts after the first.
                let retries = max_attempts.unwrap_or_default().saturating_sub(1).max(*attempt);
                self.handle_retry(*attempt, retries, *seconds, message);
            }
            ClientEvent::ToolStarted { call, name, arguments } => self.start_tool(call, name, arguments),
            ClientEvent::ToolOutput { call, text, .. } => self.handle_tool_output(call, text),
            ClientEvent::ToolEnded { call, .. } => self.tools.stop_clock(call),
            ClientEvent::Asked { id, question, agent } => self.ask(*id, question, agent.as_deref()),
            ClientEvent::Answered { id, .. } => self.dialogs.close(*id),
            ClientEvent::Queue { steering, follow_up } => {
                let changed = self.queue.set_queued(steering, follow_up);
                self.emit_queue_if(changed);
            }
            ClientEvent::BashOutput { text, .. } => {
                let id = self.bash_id.clone();
                self.emit(&PiEvent::BashExecutionUpdate { id: id.as_ref(), delta: text });
            }
            ClientEvent::SummaryStarted { of: SummarySubject::Compaction } => {
                if self.compaction.is_none() {
                    self.start_compaction(CompactionReason::Threshold);
                }
            }
            ClientEvent::SummaryStarted { .. } | ClientEvent::SummaryText { .. } => {}
            ClientEvent::SubagentTask { batch_id, call, panel } => {
                self.emit(&PiEvent::SubagentTask { batch_id, tool_call_id: call, panel });
            }
            ClientEvent::Explore { report } => self.emit(&PiEvent::Explore { report }),
            ClientEvent::Notice { text } => self.notify(text, "info"),
            ClientEvent::Extension(event) => self.handle_extension(event),
            // pi has no events for these.
            ClientEvent::ExtensionWorkStarted { .. } | ClientEvent::ExtensionWorkEnded { .. } => {}
            // The server does these.
            ClientEvent::SessionRequested { .. } | ClientEvent::QuitRequested => {}
        }
        self.drain_lines()
    }

    /// The lines of the events that were emitted since the last call.
    pub(crate) fn drain_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    pub(crate) fn emit(&mut self, event: &PiEvent<'_>) {
        self.lines.push(event.to_line(self.session_id.as_deref()));
    }

    pub(crate) fn is_running(&self) -> bool {
        self.run.is_some()
    }

    pub(crate) fn is_compacting(&self) -> bool {
        self.compaction.is_some()
    }

    pub(crate) fn is_retrying(&self) -> bool {
        self.retry_attempt.is_some()
    }

    /// Announces the queue if it changed.
    pub(crate) fn emit_queue_if(&mut self, changed: bool) {
        if changed {
            self.emit_queue();
        }
    }

    pub(crate) fn emit_queue(&mut self) {
        let [steering, follow_up] = self.queue.texts().clone();
        self.emit(&PiEvent::QueueUpdate { steering: &steering, follow_up: &follow_up });
    }

    /// A command has emptied the queue, and perhaps filled it again. Returns whether it was announced.
    pub(crate) fn end_queue_move(&mut self) -> bool {
        self.queue.is_moving = false;
        let changed = self.queue.check_changed();
        self.emit_queue_if(changed);
        changed
    }

    /// The output that follows is that of another `bash` command. Returns its number, and the id of the one before.
    pub(crate) fn start_bash(&mut self, id: Option<Value>) -> (u64, Option<Value>) {
        self.bash_count += 1;
        (self.bash_count, std::mem::replace(&mut self.bash_id, id))
    }

    /// A `bash` command has ended, and one that runs has the id `earlier`.
    pub(crate) fn end_bash(&mut self, number: u64, earlier: Option<Value>) {
        if self.bash_count == number {
            self.bash_id = earlier;
        }
    }

    pub(crate) fn set_thinking_level(&mut self, level: &str) {
        if self.thinking_level != level {
            level.clone_into(&mut self.thinking_level);
            self.emit(&PiEvent::ThinkingLevelChanged { level });
        }
    }

    pub(crate) fn set_model(&mut self, provider: &str, id: &str) {
        let known = self.models.iter().find(|model| model.provider == provider && model.id == id);
        self.model = known.cloned().unwrap_or_else(|| ModelName {
            api: String::new(),
            provider: provider.to_owned(),
            id: id.to_owned(),
        });
    }

    pub(crate) fn start_compaction(&mut self, reason: CompactionReason) {
        self.compaction = Some(reason);
        self.emit(&PiEvent::CompactionStart { reason });
    }

    /// Ends the compaction that runs, with its result or with an error.
    pub(crate) fn end_compaction(
        &mut self,
        result: Option<RawMessage>,
        aborted: bool,
        error: Option<String>,
    ) {
        let Some(reason) = self.compaction.take() else { return };
        let event =
            PiEvent::CompactionEnd { reason, result, aborted, will_retry: false, error_message: error };
        self.emit(&event);
    }

    pub(crate) fn notify(&mut self, text: &str, notify_type: &'static str) {
        let id = self.dialogs.next_id();
        let dialog = Dialog::Notify { message: text.to_owned(), notify_type };
        self.emit(&PiEvent::ExtensionUiRequest { id, dialog, timeout: None });
    }

    fn handle_extension(&mut self, event: &ExtensionEvent) {
        match event {
            ExtensionEvent::Failed { extension_path, event, error, .. } => {
                self.emit(&PiEvent::ExtensionError { extension_path, event, error });
            }
            // The lines that extensions print are not part of the protocol.
            ExtensionEvent::Log { .. } => {}
            ExtensionEvent::Notify { .. }
            | ExtensionEvent::SetStatus { .. }
            | ExtensionEvent::SetWidget { .. }
            | ExtensionEvent::SetTitle { .. }
            | ExtensionEvent::SetEditorText { .. } => {
                let id = self.dialogs.next_id();
                self.emit(&PiEvent::ExtensionShow { id, event });
            }
            // Only a screen can show the others. As in pi, programs do not get them.
            _ => {}
        }
    }

    fn handle_move(&mut self, moved: &MoveEvent) {
        self.emit(&PiEvent::SessionTree {
            new_leaf_id: moved.new_leaf_id.as_ref(),
            old_leaf_id: moved.old_leaf_id.as_ref(),
            reason: moved.reason,
            summary_entry_id: moved.summary_entry.as_ref(),
        });
    }
}
