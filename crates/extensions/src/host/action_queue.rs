//! The actions of an extension that wait for the agent happen in the order in which it asked for them.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct ActionQueue {
    /// Closed when the last action has ended.
    last: Mutex<Option<oneshot::Receiver<()>>>,
}

/// The place of an action. Dropping it lets the next one begin.
#[derive(Debug)]
pub(crate) struct ActionTurn {
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl ActionQueue {
    pub(crate) fn enter(&self) -> ActionTurn {
        let (done, ended) = oneshot::channel();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        ActionTurn { before: last.replace(ended), _done: done }
    }

    /// Runs an action after those before it.
    pub(crate) fn run(&self, action: impl Future<Output = ()> + Send + 'static) {
        let mut turn = self.enter();
        tokio::spawn(async move {
            turn.begin().await;
            action.await;
        });
    }
}

impl ActionTurn {
    /// Waits until the actions before it have ended.
    pub(crate) async fn begin(&mut self) {
        if let Some(before) = self.before.take() {
            // It is closed, not answered.
            let _ = before.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn actions_run_in_order_and_one_that_is_dropped_does_not_block() {
        let (queue, seen) = (ActionQueue::default(), Arc::new(Mutex::new(Vec::new())));
        let first = queue.enter();
        let (ended, end) = oneshot::channel();
        for number in [1, 2] {
            let seen = seen.clone();
            queue.run(async move { seen.lock().unwrap().push(number) });
        }
        let all = seen.clone();
        queue.run(async move { ended.send(all.lock().unwrap().clone()).unwrap() });
        tokio::task::yield_now().await;
        assert!(seen.lock().unwrap().is_empty(), "the first one has not ended");
        drop(first);
        assert_eq!(end.await.unwrap(), [1, 2]);
    }
}
