//! Prompts that the user sends during a turn. Steering messages are delivered before the next model call,
//! follow-ups when the turn would otherwise end, one at a time and in order.
//!
//! The session setting `queue` holds a copy, so a crash loses nothing. Prompts that an earlier process left
//! there go back into the editor; they are never sent automatically.

use osier_protocol::{ClientEvent, Prompt, PromptQueue};
use osier_session::CommitOutcome;
use serde_json::{Map, Value, json};

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::leftover_queue::read_leftover_queue;

/// The session setting that holds the copy.
pub(crate) const SETTING: &str = "queue";

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueKind {
    Steering,
    FollowUp,
}

impl QueueKind {
    pub(crate) fn prompts(self, queue: &mut PromptQueue) -> &mut Vec<Prompt> {
        match self {
            QueueKind::Steering => &mut queue.steering,
            QueueKind::FollowUp => &mut queue.follow_up,
        }
    }
}

/// The prompts that wait for their delivery, and those that an earlier process left.
#[derive(Debug, Default)]
pub(crate) struct QueuedPrompts {
    queue: PromptQueue,
    /// The queue whose first prompt is being delivered.
    delivering: Option<QueueKind>,
    /// For the editor. `None` while another process has them, because it runs a turn here.
    returned: Option<Vec<Prompt>>,
    /// Prompts that another process left when it died next to this one. They stay stored until a client attaches and gets them.
    unseen: Vec<Prompt>,
}

impl QueuedPrompts {
    pub(crate) fn queue(&self) -> &PromptQueue {
        &self.queue
    }

    /// The copy for the session settings.
    fn to_store(&self) -> PromptQueue {
        let PromptQueue { steering, follow_up } = self.queue.clone();
        PromptQueue { steering: self.unseen.iter().cloned().chain(steering).collect(), follow_up }
    }

    pub(crate) fn returned(&self) -> &[Prompt] {
        self.returned.as_deref().unwrap_or_default()
    }
}

/// All prompts, in the order in which they would be delivered.
pub(crate) fn into_prompts(queue: PromptQueue) -> Vec<Prompt> {
    queue.steering.into_iter().chain(queue.follow_up).collect()
}

fn queue_event(queue: &PromptQueue) -> ClientEvent {
    let texts = |prompts: &[Prompt]| prompts.iter().map(|prompt| prompt.text.clone()).collect();
    ClientEvent::Queue { steering: texts(&queue.steering), follow_up: texts(&queue.follow_up) }
}

impl AgentContext {
    /// Reads what an earlier process left in the queue, unless that is known already.
    pub(crate) async fn read_returned_prompts(&self) -> Result<(), AgentError> {
        {
            let prompts = &mut self.state().prompts;
            if let Some(returned) = &mut prompts.returned {
                returned.append(&mut prompts.unseen);
                return Ok(());
            }
        }
        let returned = read_leftover_queue(&self.cursor).await?;
        let prompts = &mut self.state().prompts;
        prompts.returned = prompts.returned.take().or(returned);
        Ok(())
    }

    /// If another process ran a turn here and has died since, its prompts stay in the stored queue.
    async fn take_over_stored_queue(&self) -> Result<(), AgentError> {
        if self.state().prompts.returned.is_some() {
            return Ok(());
        }
        let left = read_leftover_queue(&self.cursor).await?;
        let prompts = &mut self.state().prompts;
        if let (Some(left), None) = (left, &prompts.returned) {
            (prompts.returned, prompts.unseen) = (Some(Vec::new()), left);
        }
        Ok(())
    }

    /// Queues a prompt. It is stored before the client gets the reply.
    pub(crate) async fn enqueue(&self, kind: QueueKind, prompt: Prompt) -> Result<(), AgentError> {
        self.update_queue(|queue, _| kind.prompts(queue).push(prompt)).await
    }

    /// Takes all prompts out of the queue, except the one that is being delivered.
    pub(crate) async fn clear_queue(&self) -> Result<PromptQueue, AgentError> {
        let mut taken = PromptQueue::default();
        self.update_queue(|queue, delivering| {
            taken = std::mem::take(queue);
            if let Some(kind) = delivering.filter(|kind| !kind.prompts(&mut taken).is_empty()) {
                let first = kind.prompts(&mut taken).remove(0);
                kind.prompts(queue).push(first);
            }
        })
        .await?;
        Ok(taken)
    }

    /// Starts to deliver the oldest prompt. It stays in the queue until `finish_delivery`.
    pub(crate) fn start_delivery(&self, kind: QueueKind) -> Option<Prompt> {
        let prompts = &mut self.state().prompts;
        let first = kind.prompts(&mut prompts.queue).first().cloned();
        prompts.delivering = first.is_some().then_some(kind);
        first
    }

    /// Ends a delivery. If the prompt was stored, removes it from the queue.
    pub(crate) async fn finish_delivery(&self, kind: QueueKind, stored: bool) -> Result<(), AgentError> {
        let stored = self.state().prompts.delivering.take().filter(|_| stored);
        match stored {
            Some(_) => self.update_queue(|queue, _| drop(kind.prompts(queue).drain(..1))).await,
            None => Ok(()),
        }
    }

    /// Updates the queue and its copy in the session settings.
    async fn update_queue(
        &self,
        change: impl FnOnce(&mut PromptQueue, Option<QueueKind>),
    ) -> Result<(), AgentError> {
        self.take_over_stored_queue().await?;
        let queue = {
            let prompts = &mut self.state().prompts;
            let before = prompts.queue.clone();
            change(&mut prompts.queue, prompts.delivering);
            if prompts.queue == before {
                return Ok(());
            }
            // From now on, the stored queue is that of this agent.
            prompts.returned.get_or_insert_default();
            self.live.send(queue_event(&prompts.queue));
            prompts.to_store()
        };
        self.store_queue(&queue).await
    }

    /// Forgets the prompts of an earlier process: the client has them, and the user has sent a new prompt.
    pub(crate) async fn clear_returned_prompts(&self) -> Result<(), AgentError> {
        let queue = {
            let prompts = &mut self.state().prompts;
            // No client has seen them yet, so they stay for the next one.
            let Some(returned) = &mut prompts.returned else { return Ok(()) };
            returned.clear();
            prompts.to_store()
        };
        self.store_queue(&queue).await
    }

    /// Updates the stored copy.
    async fn store_queue(&self, queue: &PromptQueue) -> Result<(), AgentError> {
        let stored = self.session.tree().marks().settings().get(SETTING).cloned();
        let wanted = (!queue.is_empty()).then(|| json!(queue));
        if stored == wanted {
            return Ok(());
        }
        let set: Map<String, Value> = wanted.into_iter().map(|value| (SETTING.to_owned(), value)).collect();
        let unset = if set.is_empty() { vec![SETTING.to_owned()] } else { Vec::new() };
        match self.session.set_config(set, unset).await? {
            CommitOutcome::Cancelled => Err(AgentError::RefusedByGate),
            CommitOutcome::Stored(_) | CommitOutcome::Nothing => Ok(()),
        }
    }
}
