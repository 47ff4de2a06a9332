//! Grafts: a graft adds the conclusion of another branch to the current path, with links to the entries it comes from.
//!
//! It is a branch summary that does not move the leaf to another branch. The text quotes the other branch. A model can
//! write a better text, which then goes between the same title and the same lists of files.

use std::fmt::Write;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::backtrack::truncate;
use crate::draft::EntryDraft;
use crate::entry::{Entry, EntryKind, EntryReason, MessageRole, flag};
use crate::files::TouchedFiles;
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::line_consumer::{LineConsumer, feed_all};
use crate::plan::PlanError;
use crate::projection::compare::{EntryBatches, entries_below};
use crate::projection::preview::{full_text, one_line};
use crate::projection::{Lines, context};
use crate::summary::without_file_lists;

/// The maximum length of the conclusion, in characters.
const MAX_CONCLUSION_CHARS: usize = 6_000;

/// The maximum number of user messages quoted.
const MAX_QUESTIONS: usize = 5;
/// The maximum length of each of them, in characters.
const MAX_QUESTION_CHARS: usize = 200;

/// The conclusion of another branch; see the module documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graft {
    /// The end of the other branch.
    pub tip: Seq,
    /// Names the branch, its first and last entry, and where it branched off.
    pub title: String,
    /// The user messages of the branch, and its conclusion.
    pub body: String,
    pub files: TouchedFiles,
}

impl SessionTree {
    /// Builds a graft of the branch that ends in `tip`, for the place `at`. It reads the lines of that branch.
    pub fn graft_builder(&self, at: Place, tip: &str) -> Result<GraftBuilder<'_>, PlanError> {
        let tip = self.require_visible(tip)?;
        let nothing = || PlanError::NothingToGraft { id: self.id(tip).to_string() };
        let end = self.heads().anchor(Some(tip)).ok_or_else(nothing)?;
        let common = self.common_ancestor(at, Some(end));
        let mut entries = entries_below(self, common, Some(end));
        entries.retain(|seq| self.head(*seq).kind.reaches_context());
        let first = *entries.first().ok_or_else(nothing)?;
        let edits = entries.iter().filter(|seq| self.head(**seq).kind == EntryKind::ContextEdit);
        let edits = edits.filter_map(|edit| Some((self.head(*edit).target?, *edit))).collect();
        let title = self.graft_title(end, first, self.heads().anchor(common));
        let (asked, replied, summed, files) = Default::default();
        Ok(GraftBuilder {
            tree: self,
            tip: end,
            title,
            edits,
            stretch: EntryBatches::new(entries),
            questions: asked,
            last_reply: replied,
            last_summary: summed,
            files,
        })
    }

    fn graft_title(&self, tip: Seq, first: Seq, common: Place) -> String {
        let link = |seq: Seq| entry_link(self.id(seq).as_str());
        let branch_point = match common {
            Some(common) => format!("branched off at {}", link(common)),
            None => "with no common ancestor".to_owned(),
        };
        format!("Grafted from {}: entries {} to {}, {branch_point}.", link(tip), link(first), link(tip))
    }
}

/// A link to an entry, as it appears in summaries.
pub fn entry_link(id: &str) -> String {
    format!("[entry {}]", one_line(id, 80))
}

/// The parts of a graft's text that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedGraft<'s> {
    /// The id of the last entry of the other branch.
    pub tip: &'s str,
    pub conclusion: &'s str,
}

/// Parses the summary of a graft. `None` if it is another summary.
pub fn parse_graft(summary: &str) -> Option<ParsedGraft<'_>> {
    let (tip, _) = summary.strip_prefix("Grafted from [entry ")?.split_once(']')?;
    let (_, body) = summary.split_once("\n\n")?;
    let body = without_file_lists(body);
    let (_, rest) =
        body.split_once("\n\n").filter(|_| body.starts_with("Asked there:\n")).unwrap_or(("", body));
    let quoted = rest.strip_prefix("Concluded there [entry ").and_then(|rest| rest.split_once(":\n\n"));
    Some(ParsedGraft { tip, conclusion: quoted.map_or(rest, |(_, conclusion)| conclusion).trim() })
}

/// Builds a graft from the lines of the other branch.
#[derive(Debug)]
pub struct GraftBuilder<'t> {
    tree: &'t SessionTree,
    tip: Seq,
    title: String,
    edits: FxHashMap<Seq, Seq>,
    stretch: EntryBatches,
    /// The user messages, each with a link to its entry.
    questions: Vec<String>,
    last_reply: Option<ConclusionCandidate>,
    last_summary: Option<ConclusionCandidate>,
    files: TouchedFiles,
}

/// A text that may be the conclusion.
#[derive(Debug)]
struct ConclusionCandidate {
    id: String,
    text: String,
    /// Whether the reply failed, was aborted or was cut off at its length limit.
    is_incomplete: bool,
}

impl LineConsumer for GraftBuilder<'_> {
    fn needed_lines(&self) -> Vec<Seq> {
        let batch = self.stretch.peek_batch(self.tree);
        let edits = batch.iter().filter_map(|seq| self.edits.get(seq));
        batch.iter().chain(edits).copied().collect()
    }

    fn feed(&mut self, lines: &dyn Lines) {
        for seq in self.stretch.next_batch(self.tree) {
            if let Some(entry) = lines.entry(seq) {
                let edit = self.edits.get(&seq).and_then(|edit| lines.entry(*edit));
                self.add_entry(&entry, edit.as_ref());
            }
        }
    }
}

impl GraftBuilder<'_> {
    fn add_entry(&mut self, entry: &Entry<'_>, edit: Option<&Entry<'_>>) {
        if let Some(message) = entry.message {
            self.files.add_message(message);
        }
        if entry.flags & flag::NOT_SENT != 0 {
            return;
        }
        let candidate = |text: String, broken| ConclusionCandidate {
            id: entry.id.to_string(),
            text,
            is_incomplete: broken,
        };
        match (entry.kind, entry.role) {
            (EntryKind::Message, MessageRole::User) => {
                let text = one_line(&context::text_and_images(entry, edit).0, MAX_QUESTION_CHARS);
                self.questions
                    .extend((!text.is_empty()).then(|| format!("- {text} {}", entry_link(&entry.id))));
            }
            (EntryKind::Message, MessageRole::Assistant) => {
                let text = context::text_and_images(entry, edit).0;
                let broken =
                    matches!(entry.reason, EntryReason::Error | EntryReason::Aborted | EntryReason::Length);
                let replaces = |previous: &ConclusionCandidate| previous.is_incomplete || !broken;
                if !text.is_empty() && self.last_reply.as_ref().is_none_or(replaces) {
                    self.last_reply = Some(candidate(text, broken));
                }
            }
            (EntryKind::BranchSummary | EntryKind::Compaction, _) => {
                if entry.kind == EntryKind::BranchSummary {
                    self.files.add_summary(entry);
                }
                let text = full_text(entry).trim().to_owned();
                self.last_summary =
                    (!text.is_empty()).then(|| candidate(text, false)).or(self.last_summary.take());
            }
            _ => {}
        }
    }

    pub fn finish(self) -> Graft {
        let mut body = String::new();
        let left_out = self.questions.len().saturating_sub(MAX_QUESTIONS);
        if !self.questions.is_empty() {
            body += "Asked there:\n";
            if left_out > 0 {
                writeln!(body, "- ({left_out} earlier ones omitted)")
                    .expect("writing to a String cannot fail");
            }
            body += &self.questions[left_out..].join("\n");
            body += "\n\n";
        }
        body += &match self.last_reply.or(self.last_summary) {
            None => "The branch has no conclusion.".to_owned(),
            Some(conclusion) => {
                let broken = if conclusion.is_incomplete { ", incomplete" } else { "" };
                format!(
                    "Concluded there {}{broken}:\n\n{}",
                    entry_link(&conclusion.id),
                    truncate(&conclusion.text, MAX_CONCLUSION_CHARS)
                )
            }
        };
        Graft { tip: self.tip, title: self.title, body, files: self.files }
    }
}

impl Graft {
    /// The text of the summary. `written` replaces the body if a model wrote a summary of the branch.
    pub fn text(&self, written: Option<&str>) -> String {
        format!("{}\n\n{}{}", self.title, written.unwrap_or(&self.body).trim(), self.files.summary_blocks())
    }

    /// The draft of the graft's entry below `at`.
    pub fn to_draft(
        &self,
        tree: &SessionTree,
        at: Place,
        written: Option<&str>,
        extra: &Map<String, Value>,
    ) -> EntryDraft {
        let mut extra = extra.clone();
        extra.entry("details").or_insert_with(|| self.files.details());
        tree.plan_branch_summary(at, Some(self.tip), &self.text(written), &extra)
    }
}

/// Builds a graft when all lines are available.
pub fn build_graft(tree: &SessionTree, at: Place, tip: &str, lines: &dyn Lines) -> Result<Graft, PlanError> {
    let mut grafting = tree.graft_builder(at, tip)?;
    feed_all(&mut grafting, lines);
    Ok(grafting.finish())
}
