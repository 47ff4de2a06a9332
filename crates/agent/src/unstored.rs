//! Results that cannot be produced again: the output of a tool, a reply, the output of a shell command. While the store is
//! unavailable they are kept in memory, also after the turn was stopped, and are stored as soon as the store is back.

use std::collections::VecDeque;
use std::time::Duration;

use osier_model::CancellationToken;
use osier_protocol::ClientEvent;
use osier_session::{Commit, StoredEntry};
use osier_tree::SessionTree;

use crate::context::{AgentContext, plan_message};
use crate::error::AgentError;

/// The delay before the first retry. It grows by the same amount with each retry, up to `LONGEST_PAUSES` times.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSES: u32 = 5;

/// The results of stopped turns that are not stored yet, oldest first.
pub(crate) type UnstoredResults = tokio::sync::Mutex<VecDeque<Commit>>;

impl AgentContext {
    /// Stores a message under this id. While the store is unavailable, tries again until `stop`; from then on the message is
    /// kept in memory and stored later.
    pub(crate) async fn store_or_keep(
        &self,
        message: Vec<u8>,
        id: &str,
        stop: &CancellationToken,
    ) -> Result<StoredEntry, AgentError> {
        let line = message.clone();
        let commit = Commit::new(move |tree, at| plan_message(tree, at, &line)).repeatable(id);
        for attempt in 1.. {
            let error = match self.store_commit(commit.clone()).await {
                Err(error) if error.is_unavailable() => error,
                done => return done,
            };
            if stop.is_cancelled() {
                self.keep_unstored(message, id).await;
                return Err(error);
            }
            let pause = RETRY_PAUSE * attempt.min(LONGEST_PAUSES);
            let _retry = self.live.end_retry_on_drop();
            self.live.send(ClientEvent::Retrying {
                attempt,
                max_attempts: None,
                seconds: pause.as_secs_f64(),
                kind: "store".into(),
                message: format!("not stored yet: {error}"),
            });
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => {}
            }
        }
        Err(AgentError::Closed)
    }

    /// Keeps a message that belongs below the current entry, wherever the cursor is later.
    async fn keep_unstored(&self, message: Vec<u8>, id: &str) {
        let (state, at) = self.position();
        let parent = at.map(|seq| state.tree.id(seq).to_string());
        let commit = Commit::new(move |tree: &SessionTree, at| {
            let parent = parent.as_deref().and_then(|id| tree.find(id));
            plan_message(tree, parent.or(at), &message)
        });
        tracing::warn!("the store is unavailable; keeping a result in memory");
        self.unstored.lock().await.push_back(commit.repeatable(id));
        let text =
            "A result is not stored yet. It is kept in memory and stored when the store is back.".to_owned();
        self.live.send(ClientEvent::Notice { text });
    }

    /// Stores the results that were kept. Fails if the store is still unavailable.
    pub(crate) async fn store_unstored(&self) -> Result<(), AgentError> {
        let mut unstored = self.unstored.lock().await;
        while let Some(commit) = unstored.front().cloned() {
            match self.store_now(commit).await {
                Err(error) if error.is_unavailable() => return Err(error),
                Err(error) => {
                    tracing::error!(%error, "a result is lost");
                    let text = format!("A result could not be stored and is lost: {error}");
                    self.live.send(ClientEvent::Notice { text });
                }
                Ok(_) => {}
            }
            unstored.pop_front();
        }
        Ok(())
    }

    /// Whether results wait for the store. Results that are being stored count too.
    pub(crate) fn has_unstored(&self) -> bool {
        self.unstored.try_lock().map_or(true, |unstored| !unstored.is_empty())
    }

    /// Stores the results that were kept, as soon as the store is available.
    pub(crate) async fn store_unstored_eventually(&self) {
        while self.store_unstored().await.is_err() {
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Waits a moment, then tries to store the results that were kept. Waits forever if there are none.
    pub(crate) async fn retry_unstored(&self) {
        if self.unstored.lock().await.is_empty() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(RETRY_PAUSE).await;
        // An unavailable store is tried again.
        let _ = self.store_unstored().await;
    }
}
