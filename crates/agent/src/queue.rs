//! Prompts that the user sends during a turn. Steering messages are delivered before the next model call,
//! follow-ups when the turn would otherwise end, one at a time and in order.
//!
//! The session setting `queue` holds a copy, so a crash loses nothing. Prompts that an earlier process left
//! there go back into the editor; they are never sent automatically.

use osier_session::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::live::Live;
use crate::saying::Said;
use crate::workplace::Workplace;

/// The session setting that holds the copy.
pub(crate) const KEY: &str = "queue";

/// The queued prompts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Queue {
    pub steering: Vec<Said>,
    pub follow_up: Vec<Said>,
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Steering,
    FollowUp,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    pub(crate) fn line(&mut self, line: Line) -> &mut Vec<Said> {
        match line {
            Line::Steering => &mut self.steering,
            Line::FollowUp => &mut self.follow_up,
        }
    }

    /// All prompts, in the order in which they would be delivered.
    pub(crate) fn into_all(self) -> Vec<Said> {
        self.steering.into_iter().chain(self.follow_up).collect()
    }

    fn told(&self) -> Live {
        let texts = |line: &[Said]| line.iter().map(|prompt| prompt.text.clone()).collect();
        Live::Queue { steering: texts(&self.steering), follow_up: texts(&self.follow_up) }
    }
}

impl Workplace {
    /// Queues a prompt. It is stored before the client gets the reply.
    pub(crate) async fn enqueue(&self, line: Line, prompt: Said) -> Result<(), Error> {
        self.change_queue(|queue, _| queue.line(line).push(prompt)).await
    }

    /// Takes all prompts out of the queue, except the one that is being delivered.
    pub(crate) async fn unqueue(&self) -> Result<Vec<Said>, Error> {
        let mut taken = Queue::default();
        self.change_queue(|queue, saying| {
            taken = std::mem::take(queue);
            if let Some(line) = saying.filter(|line| !taken.line(*line).is_empty()) {
                let first = taken.line(line).remove(0);
                queue.line(line).push(first);
            }
        })
        .await?;
        Ok(taken.into_all())
    }

    /// Starts to deliver the oldest prompt. It stays in the queue until `finish_delivery`.
    pub(crate) fn next_to_say(&self, line: Line) -> Option<Said> {
        let mut agent_state = self.now();
        let first = agent_state.queue.line(line).first().cloned();
        agent_state.saying = first.is_some().then_some(line);
        first
    }

    /// Ends a delivery. If the prompt was stored, removes it from the queue.
    pub(crate) async fn said(&self, line: Line, stored: bool) -> Result<(), Error> {
        let stored = self.now().saying.take().filter(|_| stored);
        match stored {
            Some(_) => self.change_queue(|queue, _| drop(queue.line(line).drain(..1))).await,
            None => Ok(()),
        }
    }

    /// Updates the queue and its copy in the session settings.
    async fn change_queue(&self, change: impl FnOnce(&mut Queue, Option<Line>)) -> Result<(), Error> {
        let queue = {
            let mut agent_state = self.now();
            let before = agent_state.queue.clone();
            let saying = agent_state.saying;
            change(&mut agent_state.queue, saying);
            if agent_state.queue == before {
                return Ok(());
            }
            self.teller.tell(agent_state.queue.told());
            agent_state.queue.clone()
        };
        self.keep(&queue).await
    }

    /// Forgets the prompts of an earlier process: the client has them, and the user has sent a new prompt.
    pub(crate) async fn forget_returned(&self) -> Result<(), Error> {
        let queue = {
            let mut agent_state = self.now();
            agent_state.returned.clear();
            agent_state.queue.clone()
        };
        self.keep(&queue).await
    }

    /// Updates the stored copy.
    async fn keep(&self, queue: &Queue) -> Result<(), Error> {
        let stored = self.session.tree().marks().settings().get(KEY).cloned();
        let wanted = (!queue.is_empty()).then(|| json!(queue));
        if stored == wanted {
            return Ok(());
        }
        let set: Map<String, Value> = wanted.into_iter().map(|value| (KEY.to_owned(), value)).collect();
        let unset = if set.is_empty() { vec![KEY.to_owned()] } else { Vec::new() };
        match self.session.config(set, unset).await? {
            Outcome::Cancelled => Err(Error::Refused),
            Outcome::Stored(_) | Outcome::Nothing => Ok(()),
        }
    }
}
