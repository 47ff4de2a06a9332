//! A turn: from a user's message to idle, one step after the other. What was done is on the path; nothing is kept here.

use std::sync::Arc;

use osier_model::{CancellationToken, Failure, Model, ModelInfo, ThinkingLevel};
use osier_session::{Commit, Cursor, Outcome, Session, Stored};
use osier_store::StoreError;
use osier_tools::{ToolContext, Toolbox};
use osier_tree::scan::Raw;
use osier_tree::{PlanError, Seq, SessionTree};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::asking::Asker;
use crate::next_step::{Finished, Step, Waiting, next_step};
use crate::system::SystemPrompt;
use crate::tail::{Tail, tail_entries};

/// What an agent works with.
#[derive(Debug, Clone)]
pub struct Settings {
    pub model: Arc<ModelInfo>,
    pub thinking: ThinkingLevel,
    /// The prompt as it should be; tools are added from the box.
    pub sections: Vec<(String, String)>,
    pub tools: ToolContext,
    /// Whether the model may return to checkpoints, and sees them.
    pub backtracking: bool,
}

/// Something worth seeing only while it happens. What is said goes through the session's drafts.
#[derive(Debug, Clone, PartialEq)]
pub enum Live {
    Retrying { attempt: u32, seconds: f64, why: Failure },
    ToolStarted { call: String, name: String, arguments: Value },
    ToolOutput { call: String, text: String },
    ToolEnded { call: String, is_error: bool },
}

/// Why a turn could not go on. What was stored stays stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Session(#[from] osier_session::Error),
    #[error("the entry was refused by a gate")]
    Refused,
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::Session(error.into())
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Error {
        Error::Session(error.into())
    }
}

/// Runs turns on one cursor of a session.
#[derive(Debug)]
pub struct Agent {
    pub(crate) session: Session,
    pub(crate) cursor: Cursor,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) tools: Arc<dyn Toolbox>,
    pub(crate) asker: Arc<dyn Asker>,
    pub(crate) settings: Settings,
    pub(crate) cancel: CancellationToken,
    pub(crate) live: mpsc::UnboundedSender<Live>,
}

impl Agent {
    pub fn new(
        cursor: Cursor,
        model: Arc<dyn Model>,
        tools: Arc<dyn Toolbox>,
        asker: Arc<dyn Asker>,
        settings: Settings,
    ) -> (Agent, mpsc::UnboundedReceiver<Live>) {
        let (live, receiver) = mpsc::unbounded_channel();
        let session = cursor.session().clone();
        let cancel = CancellationToken::new();
        (Agent { session, cursor, model, tools, asker, settings, cancel, live }, receiver)
    }

    /// Stops the turn that runs: the model hangs up, tools are killed, and every call still gets its result.
    pub fn canceller(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Says something and works until there is nothing left to do.
    pub async fn prompt(&self, text: &str) -> Result<Finished, Error> {
        let turn = self.cursor.begin_turn().await?;
        self.prepare().await?;
        let content = json!([{ "type": "text", "text": text }]);
        self.say(json!({ "role": "user", "content": content, "timestamp": self.now() })).await?;
        self.session.before_prompt().await?;
        let finished = self.work().await;
        turn.end().await?;
        finished
    }

    /// Goes on where the path asks for something: after a crash, or after a move.
    pub async fn resume(&self) -> Result<Finished, Error> {
        let turn = self.cursor.begin_turn().await?;
        let finished = self.work().await;
        turn.end().await?;
        finished
    }

    async fn work(&self) -> Result<Finished, Error> {
        loop {
            let waiting = Waiting { cancelled: self.cancel.is_cancelled(), ..Waiting::default() };
            match next_step(&self.tail().await?, waiting) {
                Step::CallModel => self.call_model().await?,
                Step::RunTools(calls) => self.run_tools(calls).await?,
                Step::StopCalls(calls) => self.stop_calls(calls).await?,
                Step::Finish(finished) => return Ok(finished),
                // Nothing waits here yet that these steps could deliver.
                Step::Backtrack | Step::DeliverSteering | Step::DeliverFollowUp => return Ok(Finished::Done),
            }
        }
    }

    async fn tail(&self) -> Result<Tail, Error> {
        let tree = self.session.tree();
        let at = self.cursor.place();
        let lines = self.lines(&tail_entries(&tree, at)).await?;
        Ok(Tail::of(&tree, at, &lines))
    }

    /// Brings model, thinking level and prompt on the path to what the settings say, each by an entry if it differs.
    async fn prepare(&self) -> Result<(), Error> {
        let (tree, at) = (self.session.tree(), self.cursor.place());
        let plan = tree.context_entries(at);
        let wanted: Vec<Seq> = plan.model.into_iter().chain(plan.thinking).collect();
        let lines = self.lines(&wanted).await?;
        let entry = |seq: Option<Seq>| {
            seq.and_then(|seq| lines.get(&seq)).and_then(|line| osier_tree::entry::read_entry(line).ok())
        };
        let text = |raw: Raw<'_>| raw.text().map(String::from);
        let model = entry(plan.model).as_ref().and_then(osier_tree::projection::context::model_of);
        let model = model.and_then(|(provider, id)| Some((text(provider)?, text(id)?)));
        let info = &self.settings.model;
        if model != Some((info.provider.clone(), info.id.clone())) {
            let (provider, id) = (info.provider.clone(), info.id.clone());
            self.commit(move |tree, at| tree.plan_model_change(at, &provider, &id)).await?;
        }
        let level = entry(plan.thinking)
            .as_ref()
            .and_then(osier_tree::projection::context::thinking_of)
            .and_then(text);
        let wanted = self.settings.thinking.name();
        if level.as_deref().unwrap_or("off") != wanted {
            self.commit(move |tree, at| tree.plan_thinking_level(at, wanted)).await?;
        }
        let current = self.request_parts().await?.prompt;
        if let Some(patch) = current.patch(&self.wanted_prompt(), self.now()) {
            self.say(patch).await?;
        }
        Ok(())
    }

    fn wanted_prompt(&self) -> SystemPrompt {
        let tools = self.tools.specs().into_iter().map(|spec| {
            let tool =
                json!({ "name": spec.name, "description": spec.description, "parameters": spec.parameters });
            (spec.name, tool)
        });
        SystemPrompt {
            content: String::new(),
            sections: self.settings.sections.iter().cloned().collect(),
            tools: tools.collect(),
        }
    }

    /// Stores a message where the cursor stands.
    pub(crate) async fn say(&self, message: Value) -> Result<Stored, Error> {
        let line = message.to_string().into_bytes();
        self.commit(move |tree, at| {
            let message =
                Raw::parse(&line).map_err(|_| PlanError::NotAnEntry { why: "a message is a JSON object" })?;
            tree.plan_message(at, message)
        })
        .await
    }

    pub(crate) async fn commit(
        &self,
        plan: impl Fn(&SessionTree, osier_tree::Place) -> Result<osier_tree::Draft, PlanError>
        + Send
        + Sync
        + 'static,
    ) -> Result<Stored, Error> {
        self.stored(Commit::new(plan)).await
    }

    pub(crate) async fn stored(&self, commit: Commit) -> Result<Stored, Error> {
        match self.cursor.commit(commit).await? {
            Outcome::Stored(stored) => Ok(stored),
            Outcome::Nothing | Outcome::Cancelled => Err(Error::Refused),
        }
    }

    pub(crate) async fn lines(&self, wanted: &[Seq]) -> Result<FxHashMap<Seq, Vec<u8>>, Error> {
        let mut lines = FxHashMap::default();
        self.session
            .each_line(self.session.version(), wanted, |seq, line| {
                lines.insert(seq, line.to_vec());
                Ok::<_, StoreError>(())
            })
            .await?;
        Ok(lines)
    }

    pub(crate) fn now(&self) -> i64 {
        self.session.env().clock.now()
    }
}
