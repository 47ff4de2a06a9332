//! The context of an agent: the cursor of a session, the configuration, and the mutable state. The
//! conversation is not kept here; it is read from the path.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use osier_model::{CancellationToken, ModelInfo, ThinkingLevel};
use osier_session::{Commit, Cursor, Outcome, Session, State, Stored};
use osier_store::{StoreError, Version};
use osier_tools::ToolSpec;
use osier_tools::approvals::{Approvals, Mode};
use osier_tree::scan::Raw;
use osier_tree::{Draft, Place, PlanError, Seq, SessionTree};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::asking::Open;
use crate::backtrack;
use crate::client::Attached;
use crate::error::Error;
use crate::events::Events;
use crate::live::{Live, Teller};
use crate::parts::Parts;
use crate::queue::{Line, Queue};
use crate::saying::Said;
use crate::side::Replay;

/// How long to wait before a store that is away is tried again: this long, then twice as long, up to so many times as long.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSES: u32 = 5;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Workplace {
    pub(crate) session: Session,
    pub(crate) cursor: Cursor,
    pub(crate) parts: Parts,
    pub(crate) teller: Teller,
    pub(crate) replay: tokio::sync::Mutex<Replay>,
    now: Mutex<Now>,
}

/// The mutable state. Send live events about a change before releasing the lock, so that clients see them in
/// order.
#[derive(Debug, Default)]
pub(crate) struct Now {
    pub(crate) running: bool,
    pub(crate) queue: Queue,
    /// The queue whose first prompt is being delivered.
    pub(crate) saying: Option<Line>,
    pub(crate) returned: Vec<Said>,
    pub(crate) questions: BTreeMap<u64, Open>,
    pub(crate) last_question: u64,
    /// The user's choice that is not recorded on the path yet.
    pub(crate) model: Option<Arc<ModelInfo>>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) approval: Option<Mode>,
    /// What the user allowed in this run, if the session's own approvals are not trusted.
    pub(crate) allowed: Approvals,
    /// The cost of failed summaries and replies, as `usage` entries that are not stored yet.
    pub(crate) unrecorded_usage: Vec<Value>,
}

impl Workplace {
    pub(crate) fn new(cursor: Cursor, parts: Parts) -> Workplace {
        let session = cursor.session().clone();
        let agent_state = Now {
            model: parts.chosen_model.clone(),
            thinking: parts.chosen_thinking,
            approval: parts.approval,
            ..Now::default()
        };
        Workplace {
            teller: Teller::new(session.clone()),
            session,
            cursor,
            parts,
            replay: tokio::sync::Mutex::default(),
            now: Mutex::new(agent_state),
        }
    }

    /// Locks the state. Never hold the lock across an `await`.
    pub(crate) fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn attach(&self, after: Option<Version>) -> Result<Attached, Error> {
        let (live, running, asked, queue, returned) = {
            let agent_state = self.now();
            let asked = agent_state.questions.iter().map(|(id, open)| (*id, open.question.clone())).collect();
            (
                self.teller.listen(),
                agent_state.running,
                asked,
                agent_state.queue.clone(),
                agent_state.returned.clone(),
            )
        };
        let osier_session::Attached { state, since, reset, drafts, events } =
            self.session.attach(after).await?;
        let events = Events::new(events, live, state.version.entries);
        Ok(Attached { state, since, reset, drafts, running, asked, queue, returned, events })
    }

    /// Stores a message at the cursor.
    pub(crate) async fn say(&self, message: &Value) -> Result<Stored, Error> {
        let line = message.to_string().into_bytes();
        self.commit(move |tree, at| plan_message(tree, at, &line)).await
    }

    /// Stores what cannot be had again, such as the result of a tool. While the store is away it is kept and tried again,
    /// until the turn is stopped.
    pub(crate) async fn store_or_wait(
        &self,
        commit: Commit,
        stop: &CancellationToken,
    ) -> Result<Stored, Error> {
        for attempt in 1.. {
            let error = match self.store(commit.clone()).await {
                Err(error) if error.is_unavailable() && !stop.is_cancelled() => error,
                done => return done,
            };
            let pause = RETRY_PAUSE * attempt.min(LONGEST_PAUSES);
            self.teller.tell(Live::Retrying {
                attempt,
                seconds: pause.as_secs_f64(),
                kind: "store",
                message: format!("not stored yet: {error}"),
            });
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => {}
            }
        }
        Err(Error::Closed)
    }

    /// Stores a message as [`Workplace::store_or_wait`] does.
    pub(crate) async fn store_message_or_wait(
        &self,
        message: &Value,
        stop: &CancellationToken,
    ) -> Result<Stored, Error> {
        let line = message.to_string().into_bytes();
        let commit = Commit::new(move |tree, at| plan_message(tree, at, &line));
        self.store_or_wait(commit.repeatable(&self.session.new_entry_id()), stop).await
    }

    pub(crate) async fn commit(
        &self,
        plan: impl Fn(&SessionTree, Place) -> Result<Draft, PlanError> + Send + Sync + 'static,
    ) -> Result<Stored, Error> {
        self.store(Commit::new(plan)).await
    }

    pub(crate) async fn store(&self, commit: Commit) -> Result<Stored, Error> {
        match self.cursor.commit(commit).await? {
            Outcome::Stored(stored) => Ok(stored),
            Outcome::Nothing | Outcome::Cancelled => Err(Error::Refused),
        }
    }

    /// The current session state, and the position of the cursor in it.
    pub(crate) fn here(&self) -> (Arc<State>, Place) {
        self.cursor.here()
    }

    pub(crate) async fn lines(
        &self,
        state: &State,
        wanted: &[Seq],
    ) -> Result<FxHashMap<Seq, Vec<u8>>, Error> {
        let mut lines = FxHashMap::default();
        self.session
            .each_line(state.version, wanted, |seq, line| {
                lines.insert(seq, line.to_vec());
                Ok::<_, StoreError>(())
            })
            .await?;
        Ok(lines)
    }

    /// The tools that the model may call.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.parts.tools.specs();
        if self.parts.backtracking {
            specs.retain(|spec| spec.name != backtrack::NAME);
            specs.push(backtrack::spec());
        }
        specs
    }

    pub(crate) fn clock(&self) -> i64 {
        self.session.env().clock.now()
    }
}

pub(crate) fn plan_message(tree: &SessionTree, at: Place, message: &[u8]) -> Result<Draft, PlanError> {
    let message =
        Raw::parse(message).map_err(|_| PlanError::NotAnEntry { why: "a message must be a JSON object" })?;
    tree.plan_message(at, message)
}
