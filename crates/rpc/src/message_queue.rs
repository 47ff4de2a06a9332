//! The prompts that wait. Most are in the agent's queue. As in pi, prompts that are queued while nothing runs, and those
//! that a cancellation leaves, wait for the next prompt; they are held here.

use osier_protocol::{Prompt, PromptQueue};

/// The texts of all waiting prompts, as they were last announced.
#[derive(Debug, Default)]
pub(crate) struct QueueTexts {
    queued: [Vec<String>; 2],
    pub(crate) held: PromptQueue,
    announced: [Vec<String>; 2],
    /// Set while a turn is canceled: its queue moves to `held`.
    pub(crate) is_moving: bool,
}

impl QueueTexts {
    /// Steering messages and follow-ups, in the order in which they will be delivered.
    pub(crate) fn texts(&self) -> (Vec<String>, Vec<String>) {
        let texts = |queued: &[String], held: &[Prompt]| {
            queued.iter().cloned().chain(held.iter().map(|prompt| prompt.text.clone())).collect()
        };
        (texts(&self.queued[0], &self.held.steering), texts(&self.queued[1], &self.held.follow_up))
    }

    pub(crate) fn len(&self) -> usize {
        let (steering, follow_up) = self.texts();
        steering.len() + follow_up.len()
    }

    /// The agent's queue changed. Returns whether to announce it.
    pub(crate) fn set_queued(&mut self, steering: &[String], follow_up: &[String]) -> bool {
        self.queued = [steering.to_vec(), follow_up.to_vec()];
        self.check_changed()
    }

    /// The agent's queue is empty.
    pub(crate) fn clear_queued(&mut self) {
        self.queued = Default::default();
    }

    /// Whether the queue differs from what was announced. If so, it counts as announced.
    pub(crate) fn check_changed(&mut self) -> bool {
        let (steering, follow_up) = self.texts();
        let now = [steering, follow_up];
        let changed = !self.is_moving && now != self.announced;
        if changed {
            self.announced = now;
        }
        changed
    }

    /// A message of the user was stored. If it was waiting, it no longer is: pi announces that before the message. Returns
    /// whether to announce it.
    pub(crate) fn take_delivered(&mut self, text: &str) -> bool {
        for queue in &mut self.queued {
            if queue.first().is_some_and(|first| first == text) {
                queue.remove(0);
                return self.check_changed();
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_delivered_prompt_is_announced_once() {
        let mut queue = QueueTexts::default();
        assert!(queue.set_queued(&texts(&["a"]), &texts(&["b"])));
        assert!(queue.take_delivered("a"));
        assert!(!queue.set_queued(&[], &texts(&["b"])), "the agent says the same a moment later");
        assert!(!queue.take_delivered("c"), "another message");
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn prompts_that_move_from_the_agent_to_here_are_not_announced() {
        let mut queue = QueueTexts::default();
        queue.set_queued(&texts(&["a"]), &[]);
        queue.is_moving = true;
        assert!(!queue.set_queued(&[], &[]));
        queue.held.steering.push(Prompt::text("a"));
        queue.is_moving = false;
        assert!(!queue.check_changed());
        assert_eq!(queue.texts(), (texts(&["a"]), Vec::new()));
    }
}
