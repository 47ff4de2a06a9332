//! Where an agent works: a cursor of a session, its parts, and what is going on there now. The conversation is not kept
//! here: it is read from the path.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_model::{ModelInfo, ThinkingLevel};
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
use crate::live::Teller;
use crate::parts::Parts;
use crate::queue::{Line, Queue};
use crate::saying::Said;
use crate::side::Replay;

/// See the module.
#[derive(Debug)]
pub(crate) struct Workplace {
    pub(crate) session: Session,
    pub(crate) cursor: Cursor,
    pub(crate) parts: Parts,
    pub(crate) teller: Teller,
    pub(crate) replay: tokio::sync::Mutex<Replay>,
    now: Mutex<Now>,
}

/// What is going on. Whoever changes what clients are told of tells them before letting go of it.
#[derive(Debug, Default)]
pub(crate) struct Now {
    pub(crate) running: bool,
    pub(crate) queue: Queue,
    /// The first of this line is being said.
    pub(crate) saying: Option<Line>,
    pub(crate) returned: Vec<Said>,
    pub(crate) questions: BTreeMap<u64, Open>,
    pub(crate) last_question: u64,
    /// What was chosen and is not on the path yet.
    pub(crate) model: Option<Arc<ModelInfo>>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) approval: Option<Mode>,
    /// What is allowed in this run, of a session whose own approvals do not count.
    pub(crate) allowed: Approvals,
    /// What failed summaries cost, as `usage` entries that are not stored yet.
    pub(crate) unrecorded_usage: Vec<Value>,
}

impl Workplace {
    pub(crate) fn new(cursor: Cursor, parts: Parts) -> Workplace {
        let session = cursor.session().clone();
        let now = Now {
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
            now: Mutex::new(now),
        }
    }

    /// Held for a moment only, never across a wait.
    pub(crate) fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn attach(&self, after: Option<Version>) -> Result<Attached, Error> {
        let (live, running, asked, queue, returned) = {
            let now = self.now();
            let asked = now.questions.iter().map(|(id, open)| (*id, open.question.clone())).collect();
            (self.teller.listen(), now.running, asked, now.queue.clone(), now.returned.clone())
        };
        let osier_session::Attached { state, since, reset, drafts, events } =
            self.session.attach(after).await?;
        let events = Events::new(events, live, state.version.entries);
        Ok(Attached { state, since, reset, drafts, running, asked, queue, returned, events })
    }

    /// Stores a message where the cursor stands.
    pub(crate) async fn say(&self, message: &Value) -> Result<Stored, Error> {
        let line = message.to_string().into_bytes();
        self.commit(move |tree, at| plan_message(tree, at, &line)).await
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

    /// The session as it is now, and where the cursor stands in it.
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

    /// The tools that a model may call here.
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
        Raw::parse(message).map_err(|_| PlanError::NotAnEntry { why: "a message is a JSON object" })?;
    tree.plan_message(at, message)
}
