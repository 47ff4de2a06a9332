//! What each command does, by topic.

mod models;
mod other_sessions;
mod prompts;
mod reading;
mod sessions;
mod tree;

use std::sync::Arc;

use osier_protocol::ClientCommand;

use crate::command::{Command, Request, StreamingBehavior};
use crate::response::CommandResult;
use crate::server::Server;
use crate::session::RpcSession;

impl Server {
    /// Runs a command and writes its response.
    pub(crate) async fn run_request(self: Arc<Self>, request: Request) {
        let Request { id, session_id, name, command } = request;
        let session = match self.session(session_id.as_deref()) {
            Ok(session) => session,
            Err(error) => return self.respond(id.as_ref(), &name, Err(error)).await,
        };
        // The turn of a prompt is announced after the response.
        let hold = session.hold_turn();
        let result = match command {
            Command::Bash(command) => {
                drop(hold);
                let result = session.bash(id.clone(), command).await;
                return self.respond(id.as_ref(), &name, result).await;
            }
            Command::Prompt { message, streaming_behavior } => {
                session.prompt(message, streaming_behavior).await
            }
            Command::Steer(message) => session.steer(message, StreamingBehavior::Steer).await,
            Command::FollowUp(message) => session.steer(message, StreamingBehavior::FollowUp).await,
            command => {
                drop(hold);
                let result = self.run_command(&session, command).await;
                return self.respond(id.as_ref(), &name, result).await;
            }
        };
        self.respond(id.as_ref(), &name, result).await;
        drop(hold);
    }

    async fn run_command(&self, session: &Arc<RpcSession>, command: Command) -> CommandResult {
        match command {
            Command::Prompt { .. } | Command::Steer(_) | Command::FollowUp(_) | Command::Bash(_) => Ok(None),
            Command::Abort => session.abort().await,
            Command::ClearQueue => session.clear_queue().await,
            Command::AbortRetry => session.abort_retry().await,
            Command::AbortBash => session.abort_bash().await,
            Command::Compact { custom_instructions } => session.compact(custom_instructions).await,
            Command::GetState => session.state().await,
            Command::GetMessages => session.messages().await,
            Command::GetEntries { since } => session.entries(since).await,
            Command::GetTree => session.tree().await,
            Command::GetLastAssistantText => session.last_assistant_text().await,
            Command::GetSessionStats => session.stats().await,
            Command::GetForkMessages => session.fork_messages().await,
            Command::GetCommands => session.commands().await,
            Command::SetModel { provider, model_id } => session.set_model(&provider, &model_id).await,
            Command::CycleModel => session.cycle_model().await,
            Command::GetAvailableModels => session.available_models().await,
            Command::SetThinkingLevel { level } => session.set_thinking_level(&level).await,
            Command::CycleThinkingLevel => session.cycle_thinking_level().await,
            Command::GetAvailableThinkingLevels => session.available_thinking_levels().await,
            Command::SetSteeringMode { mode } | Command::SetFollowUpMode { mode } => {
                session.set_queue_mode(mode)
            }
            Command::SetAutoCompaction { enabled } => self.set_auto_compaction(enabled).await,
            Command::SetAutoRetry { enabled } => self.set_auto_retry(enabled),
            Command::SetSessionName { name } => session.set_name(&name).await,
            Command::ExportHtml { output_path } => session.export_html(output_path).await,
            Command::NewSession {} => self.new_session(session).await,
            Command::SwitchSession { session_path } => self.switch_session(session, session_path).await,
            Command::Fork { entry_id } => self.fork(session, entry_id).await,
            Command::Clone => self.clone_session(session).await,
            Command::NavigateTree(target) => session.navigate(target).await,
            Command::Undo => session.move_with(ClientCommand::Undo).await,
            Command::Redo => session.move_with(ClientCommand::Redo).await,
            Command::UndoCompaction { entry_id } => {
                session.move_with(ClientCommand::UndoCompaction { entry: entry_id }).await
            }
            Command::SetLabel { entry_id, label } => {
                session.store_with(ClientCommand::Label { entry: entry_id, label }).await
            }
            Command::Compare { left, right } => session.compare(left, right).await,
            Command::Graft { tip_id, summarize, custom_instructions } => {
                let graft =
                    ClientCommand::Graft { tip: tip_id, summarize, instructions: custom_instructions };
                session.store_with(graft).await
            }
            Command::DeleteBranch { entry_id } => {
                session.store_with(ClientCommand::DeleteBranch { entry: entry_id }).await
            }
            Command::RestoreBranch { entry_id } => {
                session.store_with(ClientCommand::RestoreBranch { entry: entry_id }).await
            }
            Command::Resume => session.store_with(ClientCommand::Resume).await,
            Command::SetApprovalMode { mode } => {
                session.store_with(ClientCommand::SetApproval { mode }).await
            }
            Command::GetSnapshot { since, generation, without_context } => {
                self.snapshot(session, since, generation, without_context).await
            }
            Command::OpenSession { session: name, options } => self.open_session(name, options).await,
            Command::CloseSession => self.close_session(session).await,
            Command::ListSessions(options) => self.list_sessions(options).await,
            Command::SearchSessions(options) => self.search_sessions(options).await,
            Command::RenameSession { session: named, name } => self.rename_session(&named, name).await,
            Command::DeleteSession { session: named } => self.delete_session(&named).await,
        }
    }
}
