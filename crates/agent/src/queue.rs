//! What the user says while a turn runs: steering is heard before the model is asked next, a follow-up when the turn would
//! end, one at a time and in order.
//!
//! The session's setting `queue` holds a copy, so a crash loses nothing. What a former process left there goes back to the
//! editor; it is never said by itself.

use osier_session::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::live::Live;
use crate::saying::Said;
use crate::workplace::Workplace;

/// The setting that holds the copy.
pub(crate) const KEY: &str = "queue";

/// See the module.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Queue {
    pub steering: Vec<Said>,
    pub follow_up: Vec<Said>,
}

/// Which of the two.
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

    /// Everything, in the order in which it would have been said.
    pub(crate) fn into_all(self) -> Vec<Said> {
        self.steering.into_iter().chain(self.follow_up).collect()
    }

    fn told(&self) -> Live {
        let texts = |line: &[Said]| line.iter().map(|said| said.text.clone()).collect();
        Live::Queue { steering: texts(&self.steering), follow_up: texts(&self.follow_up) }
    }
}

impl Workplace {
    /// Keeps something for later. It is safe before the user hears that it is queued.
    pub(crate) async fn enqueue(&self, line: Line, said: Said) -> Result<(), Error> {
        self.change_queue(|queue, _| queue.line(line).push(said)).await
    }

    /// Takes back what waits, but for what is being said this moment.
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

    /// What has waited longest. It stays in the queue until [`Workplace::said`].
    pub(crate) fn next_to_say(&self, line: Line) -> Option<Said> {
        let mut now = self.now();
        let first = now.queue.line(line).first().cloned();
        now.saying = first.is_some().then_some(line);
        first
    }

    /// It is stored, or could not be.
    pub(crate) async fn said(&self, line: Line, stored: bool) -> Result<(), Error> {
        let stored = self.now().saying.take().filter(|_| stored);
        match stored {
            Some(_) => self.change_queue(|queue, _| drop(queue.line(line).drain(..1))).await,
            None => Ok(()),
        }
    }

    /// Changes the queue and its copy in the settings.
    async fn change_queue(&self, change: impl FnOnce(&mut Queue, Option<Line>)) -> Result<(), Error> {
        let queue = {
            let mut now = self.now();
            let before = now.queue.clone();
            let saying = now.saying;
            change(&mut now.queue, saying);
            if now.queue == before {
                return Ok(());
            }
            self.teller.tell(now.queue.told());
            now.queue.clone()
        };
        self.keep(&queue).await
    }

    /// The user says something new: what a former process left was given back, and is not kept any longer.
    pub(crate) async fn forget_returned(&self) -> Result<(), Error> {
        let queue = {
            let mut now = self.now();
            now.returned.clear();
            now.queue.clone()
        };
        self.keep(&queue).await
    }

    /// Brings the copy to what the queue is.
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
