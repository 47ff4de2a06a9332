//! Deleting sessions, with the sessions of their sub-agents. A session that is in use is kept, and so are those below it.

use std::io;
use std::path::Path;

use osier_session::UnavailableStore;
use osier_store::{DeleteResult, SessionFilter, StoreError};
use osier_tree::projection::card::Card;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::stored::card_key;

/// The sessions that a deletion includes, each once.
#[derive(Debug, Default)]
pub struct DeletePlan {
    /// Everything that the caller named.
    requested: Vec<Card>,
    /// The same without sessions of sub-agents.
    named: Vec<Card>,
    /// The sessions of sub-agents, each after its parent.
    subagents: Vec<Card>,
    /// Stores that did not answer.
    pub unavailable: Vec<UnavailableStore>,
}

impl DeletePlan {
    /// All sessions, in the order of their deletion.
    pub fn sessions(&self) -> impl Iterator<Item = &Card> {
        self.named.iter().chain(&self.subagents)
    }
}

/// The result of a deletion.
#[derive(Debug, Default)]
pub struct DeleteReport {
    pub deleted: Vec<(Card, DeleteResult)>,
    pub kept: Vec<(Card, KeptReason)>,
    /// The sessions whose kept tool outputs could not be removed.
    pub outputs_left: Vec<(String, io::Error)>,
    requested: Vec<Card>,
}

/// Why a session was not deleted.
#[derive(Debug)]
pub enum KeptReason {
    InUse(StoreError),
    /// It belongs to a sub-agent of a session that was kept.
    ParentKept,
}

impl KeptReason {
    /// The error of the store, if that is the reason.
    pub fn into_error(self) -> Option<StoreError> {
        match self {
            KeptReason::InUse(error) => Some(error),
            KeptReason::ParentKept => None,
        }
    }
}

impl Engine {
    /// Finds the sessions of the sub-agents of these sessions. Changes nothing.
    pub async fn plan_delete(&self, mut named: Vec<Card>) -> Result<DeletePlan, EngineError> {
        if named.is_empty() {
            return Ok(DeletePlan::default());
        }
        let (requested, mut originals) = (named.clone(), Vec::new());
        for card in &named {
            if self.is_original(card).await? {
                originals.push(card.clone());
            }
        }
        let (subagents, unavailable) = self.listed_stores(None).subagent_sessions(&originals).await?;
        let mut known = subagents.clone();
        named.retain(|card| {
            let is_new = !known.iter().any(|other| is_same(card, other));
            known.push(card.clone());
            is_new
        });
        Ok(DeletePlan { requested, named, subagents, unavailable })
    }

    /// The sessions of the sub-agents of a session that no longer exists. They remain if its deletion was interrupted.
    pub async fn orphaned_subagents(&self, id: &str) -> Result<Vec<Card>, EngineError> {
        let mut cards = self.listed_stores(None).list(&SessionFilter::default()).await?.page.cards;
        cards.retain(|card| card.is_subagent() && card.parent_session_id.as_deref() == Some(id));
        Ok(cards)
    }

    /// Deletes the sessions of a plan. With `force`, also those that are in use.
    pub async fn delete(&self, plan: &DeletePlan, force: bool) -> Result<DeleteReport, EngineError> {
        let mut report = DeleteReport { requested: plan.requested.clone(), ..DeleteReport::default() };
        for (at, card) in plan.sessions().enumerate() {
            if at >= plan.named.len() && report.keeps_parent_of(card) {
                report.kept.push((card.clone(), KeptReason::ParentKept));
                continue;
            }
            let is_original = self.is_original(card).await?;
            match self.delete_one(card, force).await {
                Ok(deleted) => {
                    tracing::info!(session = %card.id, store = %card.store, "deleted a session");
                    report.deleted.push((card.clone(), deleted));
                    if is_original && let Err(error) = self.remove_kept_files(&card.id) {
                        report.outputs_left.push((card.id.clone(), error));
                    }
                }
                Err(error @ StoreError::Busy { .. }) => {
                    report.kept.push((card.clone(), KeptReason::InUse(error)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(report)
    }

    async fn delete_one(&self, card: &Card, force: bool) -> Result<DeleteResult, StoreError> {
        let (store, key) = (self.require_store(&card.store, &card.id)?, card_key(card));
        if force { store.delete_in_use(key).await } else { store.delete(key).await }
    }

    /// Removes long tool outputs and copies of the project.
    fn remove_kept_files(&self, session: &str) -> io::Result<()> {
        self.remove_explores(session)?;
        let folder = self.config().tool_outputs.as_deref();
        folder.map_or(Ok(()), |folder| osier_tools::remove_outputs(folder, session))
    }

    /// Whether a card is the session that its store opens by id, not a copy of its file. Sub-agents belong to that one only.
    async fn is_original(&self, card: &Card) -> Result<bool, StoreError> {
        let (Some(file), Some(store)) = (&card.file, self.store(&card.store)) else { return Ok(true) };
        let own = match store.card(&card.id).await {
            Ok(own) => own.file,
            Err(StoreError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let real = |path: &str| Path::new(path).canonicalize().ok();
        Ok(own.is_some_and(|own| real(&own) == real(file)))
    }
}

impl DeleteReport {
    /// Why a session that the caller named was kept; `None` if all of them were deleted. Sessions of sub-agents may have
    /// been kept even then.
    pub fn take_named_kept(&mut self) -> Option<KeptReason> {
        let is_named = |card: &Card| self.requested.iter().any(|named| is_same(card, named));
        let at = self.kept.iter().position(|(card, _)| is_named(card))?;
        Some(self.kept.remove(at).1)
    }

    fn keeps_parent_of(&self, card: &Card) -> bool {
        self.kept.iter().any(|(kept, _)| card.is_subagent_of(kept))
    }
}

fn is_same(card: &Card, other: &Card) -> bool {
    card.store == other.store && card.id == other.id && card.file == other.file
}
