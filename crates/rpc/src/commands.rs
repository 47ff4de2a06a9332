//! What each command does, by topic.

mod models;
mod other_sessions;
mod prompts;
mod reading;
mod sessions;
mod tree;

use std::sync::Arc;

use osier_protocol::ClientCommand;
use serde_json::Value;

use crate::command::{RpcCommand, RpcRequest, StreamingBehavior};
use crate::response::CommandResult;
use crate::server::RpcServer;
use crate::session::{CommandOrder, RpcSession};

impl RpcServer {
    /// Runs a command and writes its response.
    pub(crate) async fn run_request(self: Arc<Self>, request: RpcRequest) {
        let RpcRequest { id, session_id, name, command } = request;
        let session = match self.session(session_id.as_deref()) {
            Ok(session) => session,
            Err(error) => return self.respond(id.as_ref(), &name, Err(error)).await,
        };
        let order = match command.waits_for_earlier() {
            true => Some(session.order.lock().await),
            false => None,
        };
        // The turn of a prompt is announced after the response.
        let hold = matches!(command, RpcCommand::Prompt { .. }).then(|| session.hold_turn());
        let result = self.run_command(&session, order, id.as_ref(), command).await;
        self.respond(id.as_ref(), &name, result).await;
        drop(hold);
    }

    async fn run_command(
        &self,
        session: &Arc<RpcSession>,
        order: CommandOrder<'_>,
        id: Option<&Value>,
        command: RpcCommand,
    ) -> CommandResult {
        match command {
            RpcCommand::Prompt { message, streaming_behavior } => {
                session.prompt(order, message, streaming_behavior).await
            }
            RpcCommand::Steer(message) => session.steer(order, message, StreamingBehavior::Steer).await,
            RpcCommand::FollowUp(message) => session.steer(order, message, StreamingBehavior::FollowUp).await,
            RpcCommand::Bash(command) => session.bash(order, id.cloned(), command).await,
            RpcCommand::Abort => session.abort().await,
            RpcCommand::ClearQueue => session.clear_queue().await,
            RpcCommand::AbortRetry => session.abort_retry().await,
            RpcCommand::AbortBash => session.abort_bash().await,
            RpcCommand::Compact { custom_instructions } => session.compact(order, custom_instructions).await,
            RpcCommand::GetState => session.state().await,
            RpcCommand::GetMessages => session.messages().await,
            RpcCommand::GetEntries { since } => session.entries(since).await,
            RpcCommand::GetTree => session.tree().await,
            RpcCommand::GetLastAssistantText => session.last_assistant_text().await,
            RpcCommand::GetSessionStats => session.stats().await,
            RpcCommand::GetForkMessages => session.fork_messages().await,
            RpcCommand::GetCommands => session.commands().await,
            RpcCommand::SetModel { provider, model_id } => session.set_model(&provider, &model_id).await,
            RpcCommand::CycleModel => session.cycle_model().await,
            RpcCommand::GetAvailableModels => session.available_models().await,
            RpcCommand::SetThinkingLevel { level } => session.set_thinking_level(&level).await,
            RpcCommand::CycleThinkingLevel => session.cycle_thinking_level().await,
            RpcCommand::GetAvailableThinkingLevels => session.available_thinking_levels().await,
            RpcCommand::SetSteeringMode { mode } | RpcCommand::SetFollowUpMode { mode } => {
                session.set_queue_mode(mode)
            }
            RpcCommand::SetAutoCompaction { enabled } => self.set_auto_compaction(enabled).await,
            RpcCommand::SetAutoRetry { enabled } => self.set_auto_retry(enabled),
            RpcCommand::SetSessionName { name } => session.set_name(&name).await,
            RpcCommand::ExportHtml { output_path } => self.export_html(session, output_path).await,
            RpcCommand::NewSession {} => self.new_session(session).await,
            RpcCommand::SwitchSession { session_path } => self.switch_session(session, session_path).await,
            RpcCommand::Fork { entry_id } => self.fork(session, entry_id).await,
            RpcCommand::Clone => self.clone_session(session).await,
            RpcCommand::NavigateTree(target) => session.navigate(order, target).await,
            RpcCommand::Undo => session.move_with(order, ClientCommand::Undo).await,
            RpcCommand::Redo => session.move_with(order, ClientCommand::Redo).await,
            RpcCommand::UndoCompaction { entry_id } => {
                session.move_with(order, ClientCommand::UndoCompaction { entry: entry_id }).await
            }
            RpcCommand::SetLabel { entry_id, label } => {
                session.store_with(order, ClientCommand::Label { entry: entry_id, label }).await
            }
            RpcCommand::Compare { left, right } => session.compare(left, right).await,
            RpcCommand::Graft { tip_id, summarize, custom_instructions } => {
                let graft =
                    ClientCommand::Graft { tip: tip_id, summarize, instructions: custom_instructions };
                session.store_with(order, graft).await
            }
            RpcCommand::DeleteBranch { entry_id } => {
                session.store_with(order, ClientCommand::DeleteBranch { entry: entry_id }).await
            }
            RpcCommand::RestoreBranch { entry_id } => {
                session.store_with(order, ClientCommand::RestoreBranch { entry: entry_id }).await
            }
            RpcCommand::Resume => session.store_with(order, ClientCommand::Resume).await,
            RpcCommand::GetSubagents => session.subagents().await,
            RpcCommand::CancelTasks { task } => {
                session.store_with(order, ClientCommand::CancelTasks { task }).await
            }
            RpcCommand::SteerTask { task, message } => {
                session.store_with(order, ClientCommand::SteerTask { task, text: message }).await
            }
            RpcCommand::Explore(command) => session.explore(command).await,
            RpcCommand::GetExplores => session.explores().await,
            RpcCommand::CompareTries { explore, left, right } => {
                session.compare_tries(explore, left, right).await
            }
            RpcCommand::SetApprovalMode { mode } => {
                session.store_with(order, ClientCommand::SetApproval { mode }).await
            }
            RpcCommand::GetSnapshot { session: named, since, generation, without_context } => {
                let session = self.named_or_open(named, session).await?;
                self.snapshot(session, since, generation, without_context).await
            }
            RpcCommand::Operation { session: named, operation } => {
                self.run_operation(session, named, *operation).await
            }
            RpcCommand::CreateSession(new) => self.create_session(new).await,
            RpcCommand::OpenSession { session: name, options } => self.open_session(name, options).await,
            RpcCommand::CloseSession => self.close_session(session).await,
            RpcCommand::ListSessions(options) => self.list_sessions(options).await,
            RpcCommand::SearchSessions(options) => self.search_sessions(options).await,
            RpcCommand::RenameSession { session: named, name } => self.rename_session(&named, name).await,
            RpcCommand::DeleteSession { session: named } => self.delete_session(&named).await,
        }
    }
}
