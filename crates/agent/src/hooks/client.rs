//! Hooks around the commands of clients: prompts, and the choice of model and thinking level.

use osier_model::{CancellationToken, Image};
use osier_protocol::{
    ClientCommand, CommandReply, MessageBlock, MessageContent, Prompt, PromptTiming, ReadyMessage,
    mentioned_files,
};

use super::chain::PromptOutcome;
use super::event::HookEvent;
use super::preparation::PromptPreparation;
use crate::error::AgentError;
use crate::model_choice::ModelChoice;
use crate::turn::ExpectedLeaf;
use crate::worker::{ReplyReceiver, Worker};

impl Worker {
    pub(crate) async fn send_with_hooks(&self, command: ClientCommand) -> Result<CommandReply, AgentError> {
        let answer = match command {
            ClientCommand::Prompt { prompt, when, expected_leaf_id } => {
                let Some(prompt) = self.run_hook_command(prompt).await else {
                    return Ok(CommandReply::Handled);
                };
                match self.post_prompt(prompt, when, expected_leaf_id).await? {
                    Some(answer) => answer,
                    None => return Ok(CommandReply::Handled),
                }
            }
            command @ (ClientCommand::SetModel { .. } | ClientCommand::SetThinking { .. }) => {
                return self.send_choice(command).await;
            }
            ClientCommand::Cancel => {
                std::mem::take(&mut self.agent.state().cancel_prompts).cancel();
                self.post(ClientCommand::Cancel)?
            }
            ClientCommand::ExtensionInput(input) => {
                if let Some(hooks) = self.agent.hooks() {
                    hooks.iter().for_each(|hook| hook.hook.receive_input(&self.agent.session, &input));
                }
                return Ok(CommandReply::Done);
            }
            // A hook may wait for an answer.
            answer @ ClientCommand::Answer { .. } => self.post(answer)?,
            command => {
                let _order = self.agent.command_order.lock().await;
                self.post(command)?
            }
        };
        answer.await.map_err(|_| AgentError::Closed)?
    }

    /// Asks the hooks and gives the prompt to the loop. `None` if a hook handled it.
    async fn post_prompt(
        &self,
        prompt: Prompt,
        when: PromptTiming,
        expected_leaf_id: ExpectedLeaf,
    ) -> Result<Option<ReplyReceiver>, AgentError> {
        let cancel = self.agent.state().cancel_prompts.clone();
        let _order = self.agent.command_order.lock().await;
        let is_refused = when == PromptTiming::Now && self.agent.state().turn_running;
        if prompt.is_empty() || prompt.is_custom() || is_refused {
            return self.post(ClientCommand::Prompt { prompt, when, expected_leaf_id }).map(Some);
        }
        match self.ask_before_prompt(prompt, when, &cancel).await? {
            Some(prompt) => self.post(ClientCommand::Prompt { prompt, when, expected_leaf_id }).map(Some),
            None => Ok(None),
        }
    }

    async fn ask_before_prompt(
        &self,
        prompt: Prompt,
        when: PromptTiming,
        cancel: &CancellationToken,
    ) -> Result<Option<Prompt>, AgentError> {
        let Some(hooks) = self.agent.hooks() else { return Ok(Some(prompt)) };
        let preparation = to_preparation(&prompt, when);
        let leaf = self.agent.leaf_id();
        let ctx = self.agent.hook_context(leaf.as_ref(), cancel);
        let decision = hooks.before_prompt(preparation.clone(), &ctx);
        match self.agent.wait_for_gate(decision, cancel).await {
            None => Err(AgentError::PromptCanceled),
            Some(PromptOutcome::Handled) => Ok(None),
            Some(PromptOutcome::Refused) => Err(AgentError::RefusedByGate),
            Some(PromptOutcome::Send(answer)) if answer == preparation => Ok(Some(prompt)),
            Some(PromptOutcome::Send(PromptPreparation { text, images, .. })) => {
                Ok(Some(Prompt { files: mentioned_files(&text), text, images, message: None }))
            }
        }
    }

    /// Sends a choice. Hooks observe it if it changed something.
    async fn send_choice(&self, command: ClientCommand) -> Result<CommandReply, AgentError> {
        let (before, answer) = {
            let _order = self.agent.command_order.lock().await;
            (self.agent.model_choice().await?, self.post(command)?)
        };
        let reply = answer.await.map_err(|_| AgentError::Closed)??;
        self.observe_choice(&before, &self.agent.model_choice().await?).await;
        Ok(reply)
    }

    async fn observe_choice(&self, before: &ModelChoice, now: &ModelChoice) {
        let (model, previous_model) = (now.model.full_name(), before.model.full_name());
        if model != previous_model {
            self.agent.observe(|| HookEvent::ModelChanged { model, previous_model }).await;
        }
        let (level, previous_level) = (now.thinking, before.thinking);
        if level != previous_level {
            self.agent.observe(|| HookEvent::ThinkingChanged { level, previous_level }).await;
        }
    }
}

fn to_preparation(prompt: &Prompt, when: PromptTiming) -> PromptPreparation {
    match prompt.message.as_deref().map(ReadyMessage::content) {
        None => PromptPreparation { text: prompt.text.clone(), images: prompt.images.clone(), when },
        Some(MessageContent::Text(text)) => {
            PromptPreparation { text: text.clone(), images: Vec::new(), when }
        }
        Some(MessageContent::Blocks(blocks)) => {
            let (mut texts, mut images) = (Vec::new(), Vec::new());
            for block in blocks.iter().cloned() {
                match block {
                    MessageBlock::Text { text } => texts.push(text),
                    MessageBlock::Image { data, mime_type } => images.push(Image { data, mime_type }),
                }
            }
            PromptPreparation { text: texts.join("\n"), images, when }
        }
    }
}
