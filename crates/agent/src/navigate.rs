//! Moving to another position in the tree, optionally with a summary of the branch that is left. One entry
//! does it: the summary below the new position, or a move. A label is stored afterward as a mark. If anything
//! fails or is canceled before that entry is stored, nothing changes.

use std::sync::Arc;

use osier_model::CancellationToken;
use osier_session::{Commit, Outcome, State};
use osier_tree::continuing::Editor;
use osier_tree::leaving::Leaving;
use osier_tree::{Choice, Chosen, Landing, Place, SessionTree, summary};
use serde::Serialize;

use crate::choice::Choice as InForce;
use crate::error::Error;
use crate::gates::{OwnSummary, TreePreparation};
use crate::live::Live;
use crate::saying::Said;
use crate::summarizing::{NoSummary, Written, own_extra};
use crate::workplace::Workplace;

/// Where to move, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Navigation {
    /// The chosen entry; `None` means before the first entry.
    pub target: Option<String>,
    /// Move the leaf to exactly this entry, even if it is a user message.
    pub exact: bool,
    pub summarize: bool,
    pub instructions: Option<String>,
    /// Use `instructions` instead of the default summary prompt, not in addition to it.
    pub replace_instructions: bool,
    pub label: Option<String>,
    /// Stop a running turn first. If false, a running turn is an error.
    pub stop_turn: bool,
}

/// The result of a move.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Navigated {
    /// The text to put into the editor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor: Option<Editor>,
    /// A gate refused the move, or the user canceled it. Nothing changed.
    pub cancelled: bool,
    pub aborted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_entry: Option<Arc<str>>,
    /// The current leaf.
    pub leaf: Option<String>,
    /// Prompts that were queued at the old position. They are not sent at the new one; they go back into the
    /// editor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<Said>,
}

/// The gate's decision about a move.
enum Gated {
    Passed(Box<TreePreparation>, Option<OwnSummary>),
    Refused,
    Stopped,
}

impl Navigation {
    /// Where the move ends, starting from `at`.
    pub(crate) fn land(&self, tree: &SessionTree, at: Place) -> Result<Landing, Error> {
        let Some(target) = self.target.as_deref() else {
            return Ok(tree.land(at, &Choice { chosen: Chosen::Root, ..Choice::default() })?);
        };
        if self.exact {
            let place = Some(tree.require_shown(target)?);
            return Ok(Landing { place, moves: !tree.same_place(at, place), text_of: None });
        }
        Ok(tree.land(at, &Choice::entry(target))?)
    }
}

impl Workplace {
    pub(crate) async fn navigate(
        &self,
        navigation: &Navigation,
        cancel: &CancellationToken,
    ) -> Result<Navigated, Error> {
        let (state, at) = self.here();
        let landing = navigation.land(&state.tree, at)?;
        let text_of: Vec<_> = landing.text_of.into_iter().collect();
        let editor = landing.editor(&self.lines(&state, &text_of).await?);
        if !landing.moves {
            self.put_label(navigation.label.as_deref(), navigation.target.as_deref()).await?;
            return Ok(Navigated { editor, ..self.navigated() });
        }
        self.cursor.check_free(&state.tree, landing.place).await?;
        // Text that returns to the editor is not part of the branch left behind, and neither are tool results
        // at the target.
        let leaving = state.tree.leaving(at, landing.text_of.or(landing.place));
        let (asked, own) = match self.gated(navigation, &state.tree, &leaving, cancel).await {
            Gated::Passed(asked, own) => (asked, own),
            Gated::Refused => return Ok(Navigated { cancelled: true, ..self.navigated() }),
            Gated::Stopped => return Ok(self.aborted()),
        };
        let written = match self.summary_of(&state, &leaving, &asked, own, cancel).await {
            Err(Error::NoSummary(NoSummary::Stopped)) => return Ok(self.aborted()),
            written => written?,
        };
        let choice = self.choice().await?;
        let outcome = match &written {
            None => {
                self.cursor.move_to_entry(landing.place.map(|seq| state.tree.id(seq).to_string())).await?
            }
            Some(written) => self.leave_summary(&state.tree, at, landing.place, written).await?,
        };
        if outcome == Outcome::Cancelled {
            return Ok(Navigated { cancelled: true, ..self.navigated() });
        }
        self.after_jump(choice);
        let summary_entry = outcome.stored().filter(|_| written.is_some()).map(|stored| stored.id);
        let labeled = summary_entry.as_deref().or(asked.target_id.as_deref());
        self.put_label(asked.label.as_deref(), labeled).await?;
        let returned = self.unqueue().await?;
        Ok(Navigated { editor, summary_entry, returned, ..self.navigated() })
    }

    fn navigated(&self) -> Navigated {
        let (state, at) = self.here();
        let leaf = at.map(|seq| state.tree.id(seq).to_string());
        Navigated { leaf, ..Navigated::default() }
    }

    fn aborted(&self) -> Navigated {
        Navigated { cancelled: true, aborted: true, ..self.navigated() }
    }

    /// Keeps the model and thinking level of the old position if the configuration says so.
    pub(crate) fn after_jump(&self, choice: InForce) {
        if !self.parts.restore_on_move {
            self.keep_choice(choice);
        }
    }

    async fn put_label(&self, label: Option<&str>, target: Option<&str>) -> Result<(), Error> {
        if let (Some(label), Some(target)) = (label, target) {
            self.session.label(target, Some(label)).await?;
        }
        Ok(())
    }

    /// Asks the gate, which may change the move.
    async fn gated(
        &self,
        navigation: &Navigation,
        tree: &SessionTree,
        leaving: &Leaving,
        cancel: &CancellationToken,
    ) -> Gated {
        let mut asked = TreePreparation {
            user_wants_summary: navigation.summarize,
            custom_instructions: navigation.instructions.clone(),
            replace_instructions: navigation.replace_instructions,
            label: navigation.label.clone(),
            ..TreePreparation::new(tree, navigation.target.clone(), leaving)
        };
        let answer = self.asked(self.parts.gates.before_tree(&asked, cancel), cancel).await;
        let Some(answer) = answer else { return Gated::Stopped };
        if answer.cancel {
            return Gated::Refused;
        }
        asked.custom_instructions = answer.custom_instructions.or(asked.custom_instructions);
        asked.replace_instructions = answer.replace_instructions.unwrap_or(asked.replace_instructions);
        asked.label = answer.label.or(asked.label);
        Gated::Passed(Box::new(asked), answer.summary)
    }

    /// The summary to store, if the user asked for one and the branch has content.
    async fn summary_of(
        &self,
        state: &State,
        leaving: &Leaving,
        asked: &TreePreparation,
        own: Option<OwnSummary>,
        cancel: &CancellationToken,
    ) -> Result<Option<Written>, Error> {
        match own {
            _ if !asked.user_wants_summary => Ok(None),
            Some(own) if own.summary.trim().is_empty() => Ok(None),
            Some(own) => Ok(Some(Written { text: own.summary, extra: own_extra(own.details.as_ref()) })),
            None if leaving.entries.is_empty() => Ok(None),
            None => self.summarize_branch(state, leaving, asked, cancel).await.map(Some),
        }
    }

    async fn summarize_branch(
        &self,
        state: &State,
        leaving: &Leaving,
        asked: &TreePreparation,
        cancel: &CancellationToken,
    ) -> Result<Written, Error> {
        self.teller.tell(Live::SummaryStarted { of: "branch" });
        let mut summarizer = self.summarizer(cancel).await?;
        let mut preparing = leaving.preparing(&state.tree, summarizer.budget());
        self.answer_all(state, &mut preparing).await?;
        let left = preparing.finish();
        let text = match left.text.as_str() {
            "" => summary::NOTHING_SAID.to_owned(),
            text => {
                let (own, replace) = (asked.custom_instructions.as_deref(), asked.replace_instructions);
                let text = summarizer.write(summary::ask_branch(text, own, replace)).await?;
                summary::finish_branch(&text, &left.files)
            }
        };
        Ok(Written { text, extra: summarizer.extra(&left.files) })
    }

    /// Stores a summary below `to`, which also moves the leaf there.
    async fn leave_summary(
        &self,
        tree: &SessionTree,
        from: Place,
        to: Place,
        written: &Written,
    ) -> Result<Outcome, Error> {
        let id = |place: Place| place.map(|seq| tree.id(seq).to_string());
        let (from_id, to_id, written) = (id(from), id(to), written.clone());
        let commit = Commit::new(move |tree, _| {
            let to = to_id.as_deref().map(|id| tree.require_shown(id)).transpose()?;
            let from = from_id.as_deref().map(|id| tree.require(id)).transpose()?;
            Ok(tree.plan_branch_summary(to, from, &written.text, &written.extra))
        });
        Ok(self.cursor.commit(commit.expecting(tree, from)).await?)
    }
}
