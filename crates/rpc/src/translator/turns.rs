//! Runs and turns in pi's sense, and the reply of a turn while it is written.

use std::time::{SystemTime, UNIX_EPOCH};

use osier_protocol::{ReplyDelta, TokenUsage, TurnOutcome};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{AgentRun, Step, Translator};
use crate::pi_event::{PiEvent, RawMessage};
use crate::reply_stream::ReplyStream;
use crate::stored_entry::{to_raw, without_nulls};

impl Translator {
    pub(super) fn start_run(&mut self) {
        self.emit(&PiEvent::AgentStart);
        self.run = Some(AgentRun::default());
        self.ensure_step();
    }

    /// The turn that runs. A reply or a message of the user starts one.
    pub(super) fn ensure_step(&mut self) {
        if self.run.as_ref().is_some_and(|run| run.step.is_none()) {
            self.emit(&PiEvent::TurnStart);
        }
        if let Some(run) = &mut self.run {
            run.step.get_or_insert_default();
        }
    }

    pub(super) fn step(&mut self) -> Option<&mut Step> {
        self.run.as_mut()?.step.as_mut()
    }

    pub(super) fn end_step(&mut self) {
        let Some(Step { reply, results, .. }) = self.run.as_mut().and_then(|run| run.step.take()) else {
            return;
        };
        if let Some(message) = reply {
            self.emit(&PiEvent::TurnEnd { message: &message, tool_results: &results });
        }
    }

    pub(super) fn end_run(&mut self, finished: Option<TurnOutcome>, error: Option<&str>) {
        let aborted = finished == Some(TurnOutcome::Cancelled);
        self.end_compaction(None, aborted, error.map(str::to_owned).filter(|_| !aborted));
        if finished.is_none() {
            self.add_failed_reply(error.unwrap_or("the turn failed"));
        }
        self.end_step();
        self.end_retry(false, error.or(aborted.then_some("the turn was canceled")));
        let messages = self.run.take().map(|run| run.messages).unwrap_or_default();
        self.emit(&PiEvent::AgentEnd { messages: &messages, will_retry: false });
        self.emit(&PiEvent::AgentSettled { aborted });
    }

    pub(super) fn handle_delta(&mut self, delta: &ReplyDelta) {
        if self.run.is_none() {
            return;
        }
        self.ensure_step();
        let Some(step) = self.step() else { return };
        if step.stream.is_none() && !matches!(delta, ReplyDelta::Withdrawn) {
            step.stream = Some(ReplyStream::default());
            let pending = self.reply_message(json!([]), TokenUsage::default(), "pending", None);
            self.emit_message(false, pending.as_deref());
        }
        let session_id = self.session_id.clone();
        let Some(stream) = self.step().and_then(|step| step.stream.as_mut()) else { return };
        let usage = stream.usage;
        let Some(assistant_message_event) = stream.apply(delta) else { return };
        let update = PiEvent::MessageUpdate { usage, assistant_message_event };
        let line = update.to_line(session_id.as_deref());
        self.lines.push(line);
    }

    /// Ends the stream of a reply, and the blocks that a cancellation or a failure left open.
    pub(super) fn end_stream(&mut self) -> Option<ReplyStream> {
        let mut stream = self.step()?.stream.take()?;
        let usage = stream.usage;
        for assistant_message_event in stream.end_open_blocks() {
            self.emit(&PiEvent::MessageUpdate { usage, assistant_message_event });
        }
        Some(stream)
    }

    /// A failed attempt. pi ends the run with a failed reply, waits, and starts another run.
    pub(super) fn handle_retry(&mut self, attempt: u32, max_attempts: u32, seconds: f64, error: &str) {
        self.add_failed_reply(error);
        self.end_step();
        let messages = self.run.take().map(|run| run.messages).unwrap_or_default();
        self.emit(&PiEvent::AgentEnd { messages: &messages, will_retry: true });
        self.retry_attempt = Some(attempt);
        self.emit(&PiEvent::AutoRetryStart {
            attempt,
            max_attempts,
            delay_ms: (seconds * 1000.0) as u64,
            error_message: error,
        });
        self.start_run();
    }

    pub(super) fn end_retry(&mut self, success: bool, error: Option<&str>) {
        if let Some(attempt) = self.retry_attempt.take() {
            self.emit(&PiEvent::AutoRetryEnd { success, attempt, final_error: error.filter(|_| !success) });
        }
    }

    /// A reply that failed and is not stored.
    fn add_failed_reply(&mut self, error: &str) {
        self.ensure_step();
        let stream = self.end_stream();
        let was_started = stream.is_some();
        let (content, usage) = match &stream {
            Some(stream) => (stream.content(), stream.usage),
            None => (json!([]), TokenUsage::default()),
        };
        let Some(message) = self.reply_message(content, usage, "error", Some(error)) else { return };
        if !was_started {
            self.emit_message(false, Some(&message));
        }
        self.emit_message(true, Some(&message));
        if let Some(run) = &mut self.run {
            run.messages.push(message.clone());
            run.step.get_or_insert_default().reply = Some(message);
        }
    }

    pub(super) fn emit_message(&mut self, is_end: bool, message: Option<&RawValue>) {
        let Some(message) = message else { return };
        match is_end {
            false => self.emit(&PiEvent::MessageStart { message }),
            true => self.emit(&PiEvent::MessageEnd { message }),
        }
    }

    /// A reply that is not stored, or not yet.
    fn reply_message(
        &self,
        content: Value,
        usage: TokenUsage,
        stop_reason: &str,
        error: Option<&str>,
    ) -> Option<RawMessage> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        to_raw(&without_nulls(json!({
            "role": "assistant",
            "content": content,
            "api": self.model.api,
            "provider": self.model.provider,
            "model": self.model.id,
            "usage": usage,
            "stopReason": stop_reason,
            "errorMessage": error,
            "timestamp": u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        })))
    }
}
