//! Prompts, the queue, commands of the user, cancellation and compaction.

use osier_protocol::entry_view::{EntryContent, MessageView};
use osier_protocol::{
    ClientCommand, ClientError, CommandReply, ErrorCode, Prompt, PromptTiming, UserCommand,
};
use serde_json::{Value, json};

use crate::command::{QueueMode, StreamingBehavior, UserMessage};
use crate::pi_event::CompactionReason;
use crate::response::{CommandResult, response_data};
use crate::session::{CommandOrder, RpcSession};
use crate::stored_entry::without_nulls;

impl From<UserMessage> for Prompt {
    /// Unlike text that a user types, the text of a program attaches no files.
    fn from(message: UserMessage) -> Prompt {
        Prompt { images: message.images, ..Prompt::text(message.message) }
    }
}

impl RpcSession {
    pub(crate) async fn prompt(
        &self,
        order: CommandOrder<'_>,
        message: UserMessage,
        behavior: Option<StreamingBehavior>,
    ) -> CommandResult {
        let when = match behavior {
            None => PromptTiming::Now,
            Some(StreamingBehavior::Steer) => PromptTiming::Steer,
            Some(StreamingBehavior::FollowUp) => PromptTiming::FollowUp,
        };
        let sent = self.send_in_order(order, ClientCommand::timed_prompt(message.into(), when)).await;
        let reply = sent.map_err(|error| match error.code {
            ErrorCode::SessionBusy if behavior.is_none() => ClientError {
                message: format!(
                    "{}; set streamingBehavior to steer or followUp to queue the prompt",
                    error.message
                ),
                ..error
            },
            _ => error,
        })?;
        disposition(&reply)
    }

    /// Queues a message. As in pi, it waits for the next prompt if nothing runs.
    pub(crate) async fn steer(
        &self,
        order: CommandOrder<'_>,
        message: UserMessage,
        behavior: StreamingBehavior,
    ) -> CommandResult {
        let when = match behavior {
            StreamingBehavior::Steer => PromptTiming::SteerLater,
            StreamingBehavior::FollowUp => PromptTiming::FollowUpLater,
        };
        let reply = self.send_in_order(order, ClientCommand::timed_prompt(message.into(), when)).await?;
        self.settle().await?;
        disposition(&reply)
    }

    /// Cancels what runs. As in pi, queued messages stay queued.
    pub(crate) async fn abort(&self) -> CommandResult {
        let stopped = self.client.send(ClientCommand::Stop).await;
        let settled = self.settle().await;
        stopped.map(drop).and(settled).map(|()| None)
    }

    /// Cancels a turn that runs, and waits until its last event is written.
    pub(crate) async fn end_turn(&self) {
        // A session that does not answer has no more events.
        let Ok(attached) = self.client.attach(None).await else { return };
        let _ = match attached.state.turn_running {
            true => self.abort().await.map(drop),
            false => self.settle().await,
        };
    }

    /// As in pi, the queue is announced even if it was empty.
    pub(crate) async fn clear_queue(&self) -> CommandResult {
        self.translator.lock().await.queue.is_moving = true;
        let cleared = self.client.send(ClientCommand::ClearQueue).await;
        let settled = self.settle().await;
        self.emit(|translator| {
            if !translator.end_queue_move() {
                translator.emit_queue();
            }
        })
        .await;
        settled?;
        let (prompts, follow_ups) = match cleared? {
            CommandReply::Returned { prompts, follow_ups } => (prompts, follow_ups),
            _ => (Vec::new(), 0),
        };
        let texts: Vec<String> = prompts.into_iter().map(|prompt| prompt.text).collect();
        let (steering, follow_up) = texts.split_at(texts.len().saturating_sub(follow_ups));
        response_data(&json!({ "steering": steering, "followUp": follow_up }))
    }

    /// Osier delivers queued messages one at a time, which is also pi's default.
    pub(crate) fn set_queue_mode(&self, mode: QueueMode) -> CommandResult {
        match mode {
            QueueMode::OneAtATime => Ok(None),
            QueueMode::All => {
                Err(ClientError::new(ErrorCode::Usage, "queued messages are always delivered one at a time"))
            }
        }
    }

    /// Cancels a turn that waits for its next attempt.
    pub(crate) async fn abort_retry(&self) -> CommandResult {
        match self.translator.lock().await.is_retrying() {
            true => {}
            false => return Ok(None),
        }
        self.abort().await
    }

    pub(crate) async fn bash(
        &self,
        order: CommandOrder<'_>,
        id: Option<Value>,
        command: UserCommand,
    ) -> CommandResult {
        let (run, earlier) = self.translator.lock().await.start_bash(id);
        let ran = self.send_in_order(order, ClientCommand::RunShell(command)).await;
        self.settle().await?;
        // If it was refused, an earlier one still runs.
        self.translator.lock().await.end_bash(run, earlier.filter(|_| ran.is_err()));
        let CommandReply::Ran { entry } = ran? else { return Ok(None) };
        let stored = self.client.entry(entry).await?.entry;
        match stored.view().map(|view| &view.content) {
            Some(EntryContent::Message(MessageView::UserCommand(ran))) => {
                response_data(&without_nulls(json!({
                    "output": ran.output,
                    "exitCode": ran.exit_code,
                    "cancelled": ran.cancelled,
                    "truncated": ran.truncated,
                    "fullOutputPath": ran.full_output_path,
                })))
            }
            _ => Ok(None),
        }
    }

    pub(crate) async fn abort_bash(&self) -> CommandResult {
        self.client.send(ClientCommand::StopShell).await?;
        Ok(None)
    }

    pub(crate) async fn compact(&self, order: CommandOrder<'_>, focus: Option<String>) -> CommandResult {
        if self.client.attach(None).await?.state.turn_running {
            self.abort().await?;
        }
        self.emit(|translator| translator.start_compaction(CompactionReason::Manual)).await;
        let compacted = self.send_in_order(order, ClientCommand::Compact { focus }).await;
        self.settle().await?;
        let error = match compacted {
            Ok(CommandReply::Compacted(reply)) => {
                return response_data(&without_nulls(json!({
                    "summary": reply.summary,
                    "firstKeptEntryId": reply.first_kept_entry_id,
                    "tokensBefore": reply.tokens_before,
                    "details": reply.details,
                })));
            }
            Ok(_) => ClientError::new(ErrorCode::Cancelled, "the compaction was canceled"),
            Err(error) => error,
        };
        let aborted = error.code == ErrorCode::Cancelled;
        let message = (!aborted).then(|| error.message.clone());
        self.emit(|translator| translator.end_compaction(None, aborted, message)).await;
        Err(error)
    }
}

/// What happened to a prompt.
fn disposition(reply: &CommandReply) -> CommandResult {
    let disposition = match reply {
        CommandReply::Queued => "queued",
        CommandReply::Handled | CommandReply::Cancelled => "handled",
        _ => "started",
    };
    response_data(&json!({ "disposition": disposition }))
}
