//! Hooks around the commands of clients: prompts, and the choice of model and thinking level.

use osier_model::{CancellationToken, Image};
use osier_protocol::{
    ClientCommand, CommandReply, CustomMessage, MessageBlock, MessageContent, Prompt, PromptTiming,
    ReadyMessage, ThinkingLevel, mentioned_files,
};
use tokio::sync::oneshot;

use super::chain::PromptOutcome;
use super::event::HookEvent;
use super::preparation::PromptPreparation;
use crate::error::AgentError;
use crate::model_choice::ModelChoice;
use crate::turn::ExpectedLeaf;
use crate::worker::{ReplyReceiver, Worker, WorkerMessage};

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
            command @ (ClientCommand::Cancel | ClientCommand::Stop) => {
                self.cancel_hooks();
                self.post(command)?
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

    /// Cancels the prompts that hooks are asked about, and the commands that they run. A command may have started the turn that runs,
    /// and goes on after it; and it ends by itself when the user answers its question.
    fn cancel_hooks(&self) {
        let mut agent_state = self.agent.state();
        std::mem::take(&mut agent_state.cancel_prompts).cancel();
        if !agent_state.turn_running && agent_state.questions.list().is_empty() {
            std::mem::take(&mut agent_state.cancel_commands).cancel();
        }
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
        if !self.must_ask(&prompt, when) {
            return self.post(ClientCommand::Prompt { prompt, when, expected_leaf_id }).map(Some);
        }
        match self.ask_before_prompt(prompt, when, false, &cancel).await? {
            Some(prompt) => self.post(ClientCommand::Prompt { prompt, when, expected_leaf_id }).map(Some),
            None => Ok(None),
        }
    }

    async fn ask_before_prompt(
        &self,
        prompt: Prompt,
        when: PromptTiming,
        from_hook: bool,
        cancel: &CancellationToken,
    ) -> Result<Option<Prompt>, AgentError> {
        let Some(hooks) = self.agent.hooks() else { return Ok(Some(prompt)) };
        let preparation = PromptPreparation { from_hook, ..to_preparation(&prompt, when) };
        let leaf = self.agent.leaf_id();
        let ctx = self.agent.hook_context(leaf.as_ref(), cancel);
        let decision = hooks.before_prompt(preparation.clone(), &ctx);
        match self.agent.wait_for_gate(decision, cancel).await {
            None => Err(AgentError::PromptCanceled),
            Some(PromptOutcome::Handled) => Ok(None),
            Some(PromptOutcome::Refused) => Err(AgentError::RefusedByGate),
            Some(PromptOutcome::Send(answer)) if answer == preparation => Ok(Some(prompt)),
            Some(PromptOutcome::Send(PromptPreparation { text, images, .. })) => {
                // The user attaches files; a hook that could would read any of them.
                let is_of_user = |name: &String| prompt.files.contains(name);
                let files = mentioned_files(&text).into_iter().filter(is_of_user).collect();
                Ok(Some(Prompt { files, text, images, message: None }))
            }
        }
    }

    /// Like [`Worker::send`], for a hook. It never waits for prompts and choices of clients, because the hook may be asked about one
    /// of them now.
    pub async fn send_from_hook(&self, command: ClientCommand) -> Result<CommandReply, AgentError> {
        let answer = match command {
            ClientCommand::Prompt { prompt, when, expected_leaf_id } if self.must_ask(&prompt, when) => {
                let cancel = self.agent.state().cancel_prompts.clone();
                match self.ask_before_prompt(prompt, when, true, &cancel).await? {
                    Some(prompt) => self.post(ClientCommand::Prompt { prompt, when, expected_leaf_id })?,
                    None => return Ok(CommandReply::Handled),
                }
            }
            command @ (ClientCommand::SetModel { .. } | ClientCommand::SetThinking { .. }) => {
                let before = self.agent.model_choice().await?;
                return self.finish_choice(before, self.post(command)?).await;
            }
            command => self.post(command)?,
        };
        answer.await.map_err(|_| AgentError::Closed)?
    }

    /// Stores a message of a hook without a turn, before this returns. If a turn runs, the message joins it later. The loop is not
    /// asked, because it may wait for the hook now.
    pub async fn store_from_hook(&self, message: CustomMessage) -> Result<(), AgentError> {
        let prompt = Prompt::custom(message);
        match self.is_idle() {
            true => self.agent.store_prompt_only(prompt, None).await.map(drop),
            false => self.post(ClientCommand::timed_prompt(prompt, PromptTiming::NoTurn)).map(drop),
        }
    }

    /// Chooses a thinking level for a hook. It counts when this returns; the loop, which may wait for the hook now, records it later.
    pub async fn choose_thinking_from_hook(&self, level: ThinkingLevel) -> Result<(), AgentError> {
        let before = self.agent.model_choice().await?;
        self.agent.state().user_choice.set_thinking(level);
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(WorkerMessage::RecordChoice(reply)).map_err(|_| AgentError::Closed)?;
        let worker = self.clone();
        tokio::spawn(async move {
            if let Err(error) = worker.finish_choice(before, answer).await {
                tracing::debug!(%error, "cannot record a thinking level");
            }
        });
        Ok(())
    }

    /// Runs the command that a prompt of a hook names, or sends the prompt.
    pub async fn run_from_hook(
        &self,
        prompt: Prompt,
        when: PromptTiming,
    ) -> Result<CommandReply, AgentError> {
        match self.run_hook_command(prompt).await {
            Some(prompt) => self.send_from_hook(ClientCommand::timed_prompt(prompt, when)).await,
            None => Ok(CommandReply::Handled),
        }
    }

    /// Whether hooks are asked about a prompt. Messages of extensions and prompts that are refused anyway go on at once.
    fn must_ask(&self, prompt: &Prompt, when: PromptTiming) -> bool {
        let is_refused = when == PromptTiming::Now && self.agent.state().turn_running;
        !(prompt.is_empty() || prompt.is_custom() || is_refused)
    }

    /// Sends a choice. Hooks observe it if it changed something.
    async fn send_choice(&self, command: ClientCommand) -> Result<CommandReply, AgentError> {
        let (before, answer) = {
            let _order = self.agent.command_order.lock().await;
            (self.agent.model_choice().await?, self.post(command)?)
        };
        self.finish_choice(before, answer).await
    }

    async fn finish_choice(
        &self,
        before: ModelChoice,
        answer: ReplyReceiver,
    ) -> Result<CommandReply, AgentError> {
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
        None => PromptPreparation {
            text: prompt.text.clone(),
            images: prompt.images.clone(),
            when,
            from_hook: false,
        },
        Some(MessageContent::Text(text)) => {
            PromptPreparation { text: text.clone(), images: Vec::new(), when, from_hook: false }
        }
        Some(MessageContent::Blocks(blocks)) => {
            let (mut texts, mut images) = (Vec::new(), Vec::new());
            for block in blocks.iter().cloned() {
                match block {
                    MessageBlock::Text { text } => texts.push(text),
                    MessageBlock::Image { data, mime_type } => images.push(Image { data, mime_type }),
                }
            }
            PromptPreparation { text: texts.join("\n"), images, when, from_hook: false }
        }
    }
}
