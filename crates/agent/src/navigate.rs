//! Going to another place of the tree, with a summary of what is left if it is wanted. One entry does it: the summary below the
//! new place, or a move; a label comes after it as a mark. Whatever fails or is stopped before that entry changes nothing.

use std::sync::Arc;

use osier_model::CancellationToken;
use osier_session::{Commit, Outcome};
use osier_tree::continuing::Editor;
use osier_tree::leaving::Leaving;
use osier_tree::{Choice, Chosen, Landing, Place, SessionTree, summary};
use serde::Serialize;

use crate::error::Error;
use crate::gates::TreePreparation;
use crate::live::Live;
use crate::summarizing::{NoSummary, own_extra};
use crate::workplace::Workplace;

/// Where to, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Navigation {
    /// The chosen entry; none is before the first one.
    pub target: Option<String>,
    /// The leaf goes to that very entry, whatever it is.
    pub exact: bool,
    pub summarize: bool,
    pub instructions: Option<String>,
    /// The instructions are all the model is told, instead of being added.
    pub replace_instructions: bool,
    pub label: Option<String>,
    /// A turn that runs is stopped first. Without this it is an error.
    pub stop_turn: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Navigated {
    /// What the editor is filled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor: Option<Editor>,
    /// A gate refused, or the user stopped it. Nothing changed.
    pub cancelled: bool,
    pub aborted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_entry: Option<Arc<str>>,
    /// Where one stands now.
    pub leaf: Option<String>,
}

impl Workplace {
    pub(crate) async fn navigate(
        &self,
        wish: &Navigation,
        cancel: &CancellationToken,
    ) -> Result<Navigated, Error> {
        let (state, at) = self.here();
        let landing = land(&state.tree, at, wish)?;
        let text_of: Vec<_> = landing.text_of.into_iter().collect();
        let editor = landing.editor(&self.lines(&state, &text_of).await?);
        if !landing.moves {
            return Ok(Navigated { editor, ..self.navigated() });
        }
        let chosen = wish.target.as_deref().and_then(|id| state.tree.find(id));
        let leaving = state.tree.leaving(at, chosen);
        let mut asked = preparation(&state.tree, wish, &leaving);
        let answer = self.parts.gates.before_tree(&asked, cancel).await;
        if answer.cancel {
            return Ok(Navigated { cancelled: true, ..self.navigated() });
        }
        asked.custom_instructions = answer.custom_instructions.or(asked.custom_instructions);
        asked.replace_instructions = answer.replace_instructions.unwrap_or(asked.replace_instructions);
        asked.label = answer.label.or(asked.label);
        let choice = self.choice().await?;
        let wants_summary = wish.summarize && !leaving.entries.is_empty();
        let summary_entry = match (wants_summary, answer.summary) {
            (false, _) => {
                let target = landing.place;
                if self.cursor.move_to(target).await? == Outcome::Cancelled {
                    return Ok(Navigated { cancelled: true, ..self.navigated() });
                }
                None
            }
            (true, own) => {
                let written = match own {
                    Some(own) => (own.summary, own_extra(own.details.as_ref())),
                    None => match self.summarize_branch(&state, &leaving, &asked, cancel).await {
                        Err(Error::NoSummary(NoSummary::Stopped)) => {
                            return Ok(Navigated { cancelled: true, aborted: true, ..self.navigated() });
                        }
                        written => written?,
                    },
                };
                match self.leave_summary(&state.tree, at, landing.place, written).await? {
                    Some(entry) => Some(entry),
                    None => return Ok(Navigated { cancelled: true, ..self.navigated() }),
                }
            }
        };
        if !self.parts.restore_on_move {
            let mut now = self.now();
            now.model.get_or_insert(choice.model);
            now.thinking.get_or_insert(choice.thinking);
        }
        let labelled = summary_entry.as_deref().or(asked.target_id.as_deref());
        if let (Some(label), Some(target)) = (&asked.label, labelled) {
            self.session.label(target, Some(label)).await?;
        }
        Ok(Navigated { editor, summary_entry, ..self.navigated() })
    }

    fn navigated(&self) -> Navigated {
        let (state, at) = self.here();
        let leaf = at.map(|seq| state.tree.id(seq).to_string());
        Navigated { leaf, ..Navigated::default() }
    }

    async fn summarize_branch(
        &self,
        state: &osier_session::State,
        leaving: &Leaving,
        asked: &TreePreparation,
        cancel: &CancellationToken,
    ) -> Result<(String, serde_json::Map<String, serde_json::Value>), Error> {
        self.teller.tell(Live::SummaryStarted { of: "branch" });
        let mut summarizer = self.summarizer(cancel).await?;
        let mut preparing = leaving.preparing(&state.tree, summarizer.budget());
        self.answer_all(state, &mut preparing).await?;
        let left = preparing.finish();
        if left.text.is_empty() {
            return Ok((summary::NOTHING_SAID.to_owned(), summarizer.extra(&left.files)));
        }
        let (own, replace) = (asked.custom_instructions.as_deref(), asked.replace_instructions);
        let text = summarizer.write(summary::ask_branch(&left.text, own, replace)).await?;
        Ok((summary::finish_branch(&text, &left.files), summarizer.extra(&left.files)))
    }

    /// Stores a summary below `to`, and thereby goes there. `None` if a gate refused the entry.
    async fn leave_summary(
        &self,
        tree: &SessionTree,
        from: Place,
        to: Place,
        (text, extra): (String, serde_json::Map<String, serde_json::Value>),
    ) -> Result<Option<Arc<str>>, Error> {
        let id = |place: Place| place.map(|seq| tree.id(seq).to_string());
        let (from_id, to_id) = (id(from), id(to));
        let commit = Commit::new(move |tree, _| {
            let place = |id: &Option<String>| id.as_deref().map(|id| tree.require(id)).transpose();
            Ok(tree.plan_branch_summary(place(&to_id)?, place(&from_id)?, &text, &extra))
        });
        match self.cursor.commit(commit.expecting(from)).await? {
            Outcome::Stored(stored) => Ok(Some(stored.id)),
            Outcome::Nothing | Outcome::Cancelled => Ok(None),
        }
    }
}

fn land(tree: &SessionTree, at: Place, wish: &Navigation) -> Result<Landing, Error> {
    let Some(target) = wish.target.as_deref() else {
        return Ok(tree.land(at, &Choice { chosen: Chosen::Root, ..Choice::default() })?);
    };
    if wish.exact {
        let place = Some(tree.require_shown(target)?);
        return Ok(Landing { place, moves: !tree.same_place(at, place), text_of: None });
    }
    Ok(tree.land(at, &Choice::entry(target))?)
}

fn preparation(tree: &SessionTree, wish: &Navigation, leaving: &Leaving) -> TreePreparation {
    let id = |place: Place| place.map(|seq| tree.id(seq).to_string());
    TreePreparation {
        target_id: wish.target.clone(),
        old_leaf_id: id(leaving.from),
        common_ancestor_id: id(leaving.ancestor),
        entries_to_summarize: leaving.entries.iter().map(|seq| tree.id(*seq).to_string()).collect(),
        user_wants_summary: wish.summarize,
        custom_instructions: wish.instructions.clone(),
        replace_instructions: wish.replace_instructions,
        label: wish.label.clone(),
    }
}
