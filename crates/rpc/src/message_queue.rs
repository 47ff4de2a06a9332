//! The prompts that wait, as they are announced.

/// The texts of all waiting prompts: steering messages and follow-ups, in the order in which they will be delivered.
#[derive(Debug, Default)]
pub(crate) struct QueueTexts {
    queued: [Vec<String>; 2],
    announced: [Vec<String>; 2],
    /// Set while a command empties the queue. The end is announced, and nothing before.
    pub(crate) is_moving: bool,
}

impl QueueTexts {
    /// Steering messages and follow-ups.
    pub(crate) fn texts(&self) -> &[Vec<String>; 2] {
        &self.queued
    }

    pub(crate) fn len(&self) -> usize {
        self.queued.iter().map(Vec::len).sum()
    }

    /// The agent's queue changed. Returns whether to announce it.
    pub(crate) fn set_queued(&mut self, steering: &[String], follow_up: &[String]) -> bool {
        self.queued = [steering.to_vec(), follow_up.to_vec()];
        self.check_changed()
    }

    /// Whether the queue differs from what was announced. If so, it counts as announced.
    pub(crate) fn check_changed(&mut self) -> bool {
        let changed = !self.is_moving && self.queued != self.announced;
        if changed {
            self.announced.clone_from(&self.queued);
        }
        changed
    }

    /// A message of the user was stored. If it was waiting, it no longer is: pi announces that before the message. Returns
    /// whether to announce it.
    pub(crate) fn remove_delivered(&mut self, text: &str) -> bool {
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
        assert!(queue.remove_delivered("a"));
        assert!(!queue.set_queued(&[], &texts(&["b"])), "the agent says the same a moment later");
        assert!(!queue.remove_delivered("c"), "another message");
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn a_queue_that_moves_is_not_announced() {
        let mut queue = QueueTexts::default();
        queue.set_queued(&texts(&["a"]), &[]);
        queue.is_moving = true;
        assert!(!queue.set_queued(&[], &[]));
        assert!(!queue.set_queued(&texts(&["a"]), &[]));
        queue.is_moving = false;
        assert!(!queue.check_changed());
        assert_eq!(queue.texts(), &[texts(&["a"]), Vec::new()]);
    }
}
