//! Deleting sessions, with the sessions of their sub-agents. A session that is in use is kept, and so are those below it.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use osier_protocol::SessionRef;
use osier_session::UnavailableStore;
use osier_store::{DeleteResult, SessionFilter, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::short_ids::has_prefix;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operations::kept_files::KeptFiles;
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
    /// The ids of sessions that no longer exist. What a deletion that was interrupted left of them is removed.
    pub missing: Vec<String>,
    /// Stores that did not answer.
    pub unavailable: Vec<UnavailableStore>,
}

impl DeletePlan {
    /// All sessions.
    pub fn sessions(&self) -> impl Iterator<Item = &Card> {
        self.named.iter().chain(&self.subagents)
    }

    /// Whether a session above this one is such a session.
    fn has_ancestor(&self, card: &Card, is_it: impl Fn(&Card) -> bool) -> bool {
        let (mut below, mut searched) = (card, 0);
        // Headers come from files, which may name each other in a circle.
        while let Some(parent) = self.sessions().find(|other| below.is_subagent_of(other))
            && searched < self.subagents.len() + 1
        {
            if is_it(parent) {
                return true;
            }
            (below, searched) = (parent, searched + 1);
        }
        false
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
        Ok(DeletePlan { requested, named, subagents, unavailable, missing: Vec::new() })
    }

    /// The same, also for sessions that no longer exist, by their ids or what these begin with: if their deletion was interrupted,
    /// this finds what it left.
    pub async fn plan_delete_with_missing(
        &self,
        mut named: Vec<Card>,
        missing: &[String],
    ) -> Result<DeletePlan, EngineError> {
        if missing.is_empty() {
            return self.plan_delete(named).await;
        }
        let listed = self.listed_stores(None).list(&SessionFilter::default()).await?;
        // A session in a store that does not answer only seems to be missing.
        if !listed.unavailable.is_empty() {
            return self.plan_delete(named).await;
        }
        let missing = self.missing_sessions(missing, &listed.page.cards)?;
        let is_left = |card: &Card| {
            let parent = card.parent_session_id.as_ref();
            card.is_subagent() && parent.is_some_and(|parent| missing.contains(parent))
        };
        named.extend(listed.page.cards.into_iter().filter(is_left));
        let mut plan = self.plan_delete(named).await?;
        let (left, named) = plan.named.into_iter().partition(is_left);
        plan.named = named;
        plan.subagents = [left, plan.subagents].concat();
        plan.missing = missing;
        Ok(plan)
    }

    /// The ids of sessions that no longer exist, from what is left of them. `words` are such ids, or what they begin with.
    fn missing_sessions(&self, words: &[String], cards: &[Card]) -> Result<Vec<String>, EngineError> {
        let parents =
            cards.iter().filter(|card| card.is_subagent()).filter_map(|card| card.parent_session_id.clone());
        let explores = self.list_explores().into_iter().map(|explore| explore.session_id.to_string());
        let outputs = self.config().tool_outputs.iter().flat_map(fs::read_dir).flatten().flatten();
        let outputs = outputs.filter_map(|folder| folder.file_name().into_string().ok());
        let mut left: BTreeSet<String> = parents.chain(explores).chain(outputs).collect();
        left.retain(|id| !cards.iter().any(|card| card.id == *id));
        let mut missing = Vec::new();
        for word in words {
            let ids: Vec<&String> = left.iter().filter(|id| has_prefix(id, word)).collect();
            match ids[..] {
                [] => {}
                [id] => missing.push(id.clone()),
                _ if left.contains(word) => missing.push(word.clone()),
                _ => {
                    let ids = ids.into_iter().cloned().collect();
                    return Err(EngineError::AmbiguousSession { name: word.clone(), ids });
                }
            }
        }
        Ok(missing)
    }

    /// Deletes the sessions of a plan, and then their kept files. With `force`, also those that are in use.
    ///
    /// The sessions of sub-agents go after the named ones, the most deeply nested first: whatever is left when the process dies
    /// has an ancestor that is left or was named, so that repeating the deletion finds it.
    pub async fn delete(&self, plan: &DeletePlan, force: bool) -> Result<DeleteReport, EngineError> {
        let mut report = DeleteReport { requested: plan.requested.clone(), ..DeleteReport::default() };
        let listed = match plan.sessions().any(|card| self.has_outputs(&card.id)) {
            true => Some(self.listed_stores(None).list(&SessionFilter::default()).await?),
            false => None,
        };
        let listed = listed.as_ref();
        let mut with_files: Vec<KeptFiles> =
            plan.missing.iter().map(|id| self.kept_files_of_missing(id)).collect();
        for card in &plan.named {
            let files = self.kept_files(card, plan, listed).await?;
            if self.delete_card(card, force, &mut report).await? {
                with_files.push(files);
            }
        }
        let in_use = if force { Vec::new() } else { self.subagents_in_use(plan).await? };
        for card in plan.subagents.iter().rev() {
            let is_kept = |above: &Card| {
                let kept = report.kept.iter().map(|(kept, _)| kept);
                kept.chain(in_use.iter().copied()).any(|kept| is_same(kept, above))
            };
            match plan.has_ancestor(card, is_kept) {
                true => report.kept.push((card.clone(), KeptReason::ParentKept)),
                false => {
                    let files = self.kept_files(card, plan, listed).await?;
                    if self.delete_card(card, force, &mut report).await? {
                        // Nothing names it any more if the process dies.
                        self.remove_kept_files(files, &mut report).await;
                    }
                }
            }
        }
        for files in with_files {
            self.remove_kept_files(files, &mut report).await;
        }
        Ok(report)
    }

    /// The sessions of sub-agents that are in use now. What is below them is kept.
    async fn subagents_in_use<'a>(&self, plan: &'a DeletePlan) -> Result<Vec<&'a Card>, EngineError> {
        let has_tasks = |card: &&Card| plan.subagents.iter().any(|other| other.is_subagent_of(card));
        let mut in_use = Vec::new();
        for card in plan.subagents.iter().filter(has_tasks) {
            if self.require_store(&card.store, &card.id)?.is_in_use(card_key(card)).await? {
                in_use.push(card);
            }
        }
        Ok(in_use)
    }

    /// Returns whether it was deleted.
    async fn delete_card(
        &self,
        card: &Card,
        force: bool,
        report: &mut DeleteReport,
    ) -> Result<bool, EngineError> {
        match self.delete_one(card, force).await {
            Ok(deleted) => {
                tracing::info!(session = %card.id, store = %card.store, "deleted a session");
                report.deleted.push((card.clone(), deleted));
                Ok(true)
            }
            Err(error @ StoreError::Busy { .. }) => {
                report.kept.push((card.clone(), KeptReason::InUse(error)));
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn delete_one(&self, card: &Card, force: bool) -> Result<DeleteResult, StoreError> {
        let (store, key) = (self.require_store(&card.store, &card.id)?, card_key(card));
        if force { store.delete_in_use(key).await } else { store.delete(key).await }
    }

    /// Whether a card is the session that its store opens by id, not a copy of its file. Sub-agents belong to that one only.
    pub(super) async fn is_original(&self, card: &Card) -> Result<bool, StoreError> {
        let by_id = SessionRef { store: card.store.as_str().into(), key: card.id.clone() };
        self.leads_to(&by_id, &card.store, card.file.as_deref().map(Path::new)).await
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
}

pub(super) fn is_same(card: &Card, other: &Card) -> bool {
    card.store == other.store && card.id == other.id && card.file == other.file
}
