//! A graft: the conclusion of another branch, told here, with links to the entries it comes from.
//!
//! It is a branch summary that moves nobody. The text is put together from what was said; a model may write a better one
//! between the same title and the same lists of files.

use std::fmt::Write;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::asking::{Asks, answer};
use crate::draft::Draft;
use crate::entry::{Entry, Kind, Role, Why, flag};
use crate::files::Files;
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::note::cut;
use crate::plan::PlanError;
use crate::projection::compare::{Stretch, below};
use crate::projection::preview::{full_text, one_line};
use crate::projection::{Lines, context};
use crate::summary::without_files;

/// How many characters of the conclusion are told.
const CONCLUSION: usize = 6_000;

/// How many of the things that the user asked there, and how much of each.
const ASKED: usize = 5;
const QUESTION: usize = 200;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graft {
    /// The end of the other branch.
    pub tip: Seq,
    /// Which branch, where it begins and where it parted from here.
    pub title: String,
    /// What was asked there, and what came of it.
    pub body: String,
    pub files: Files,
}

impl SessionTree {
    /// Brings the conclusion of the branch that ends in `tip` to a place; it asks for the lines of that branch.
    pub fn grafting(&self, at: Place, tip: &str) -> Result<Grafting<'_>, PlanError> {
        let tip = self.require_shown(tip)?;
        let nothing = || PlanError::NothingToGraft { id: self.id(tip).to_string() };
        let end = self.heads().anchor(Some(tip)).ok_or_else(nothing)?;
        let common = self.common_ancestor(at, Some(end));
        let mut entries = below(self, common, Some(end));
        entries.retain(|seq| self.head(*seq).kind.reaches_context());
        let first = *entries.first().ok_or_else(nothing)?;
        let edits = entries.iter().filter(|seq| self.head(**seq).kind == Kind::ContextEdit);
        let edits = edits.filter_map(|edit| Some((self.head(*edit).target?, *edit))).collect();
        let title = self.graft_title(end, first, self.heads().anchor(common));
        let (asked, replied, summed, files) = Default::default();
        Ok(Grafting {
            tree: self,
            tip: end,
            title,
            edits,
            stretch: Stretch::new(entries),
            asked,
            replied,
            summed,
            files,
        })
    }

    fn graft_title(&self, tip: Seq, first: Seq, common: Place) -> String {
        let link = |seq: Seq| link(self.id(seq).as_str());
        let parted = match common {
            Some(common) => format!("parted from here at {}", link(common)),
            None => "with nothing in common".to_owned(),
        };
        format!("Grafted from {}: entries {} to {}, {parted}.", link(tip), link(first), link(tip))
    }
}

/// How a text points at an entry.
pub fn link(id: &str) -> String {
    format!("[entry {}]", one_line(id, 80))
}

/// A graft as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grafted<'s> {
    /// The id of the end of the other branch.
    pub tip: &'s str,
    pub conclusion: &'s str,
}

/// Reads the text of a graft's summary; none if it is the summary of something else.
pub fn read_graft(summary: &str) -> Option<Grafted<'_>> {
    let (tip, _) = summary.strip_prefix("Grafted from [entry ")?.split_once(']')?;
    let (_, body) = summary.split_once("\n\n")?;
    let body = without_files(body);
    let (_, told) =
        body.split_once("\n\n").filter(|_| body.starts_with("Asked there:\n")).unwrap_or(("", body));
    let quoted = told.strip_prefix("Concluded there [entry ").and_then(|told| told.split_once(":\n\n"));
    Some(Grafted { tip, conclusion: quoted.map_or(told, |(_, conclusion)| conclusion).trim() })
}

/// A graft in the making.
#[derive(Debug)]
pub struct Grafting<'t> {
    tree: &'t SessionTree,
    tip: Seq,
    title: String,
    edits: FxHashMap<Seq, Seq>,
    stretch: Stretch,
    /// With the links to where they were said.
    asked: Vec<String>,
    replied: Option<Told>,
    summed: Option<Told>,
    files: Files,
}

/// Something that may be the conclusion.
#[derive(Debug)]
struct Told {
    id: String,
    text: String,
    /// The reply broke off.
    broken: bool,
}

impl Asks for Grafting<'_> {
    fn wants(&self) -> Vec<Seq> {
        let batch = self.stretch.batch(self.tree);
        let edits = batch.iter().filter_map(|seq| self.edits.get(seq));
        batch.iter().chain(edits).copied().collect()
    }

    fn give(&mut self, lines: &dyn Lines) {
        for seq in self.stretch.take(self.tree) {
            if let Some(entry) = lines.entry(seq) {
                let edit = self.edits.get(&seq).and_then(|edit| lines.entry(*edit));
                self.take(&entry, edit.as_ref());
            }
        }
    }
}

impl Grafting<'_> {
    fn take(&mut self, entry: &Entry<'_>, edit: Option<&Entry<'_>>) {
        if let Some(message) = entry.message {
            self.files.add_message(message);
        }
        if entry.flags & flag::NOT_SENT != 0 {
            return;
        }
        let told = |text: String, broken| Told { id: entry.id.to_string(), text, broken };
        match (entry.kind, entry.role) {
            (Kind::Message, Role::User) => {
                let text = one_line(&context::said(entry, edit).0, QUESTION);
                self.asked.extend((!text.is_empty()).then(|| format!("- {text} {}", link(&entry.id))));
            }
            (Kind::Message, Role::Assistant) => {
                let text = context::said(entry, edit).0;
                let broken = matches!(entry.why, Why::Error | Why::Aborted | Why::Length);
                let better = |had: &Told| had.broken || !broken;
                if !text.is_empty() && self.replied.as_ref().is_none_or(better) {
                    self.replied = Some(told(text, broken));
                }
            }
            (Kind::BranchSummary | Kind::Compaction, _) => {
                if entry.kind == Kind::BranchSummary {
                    self.files.add_summary(entry);
                }
                let text = full_text(entry).trim().to_owned();
                self.summed = (!text.is_empty()).then(|| told(text, false)).or(self.summed.take());
            }
            _ => {}
        }
    }

    pub fn finish(self) -> Graft {
        let mut body = String::new();
        let left_out = self.asked.len().saturating_sub(ASKED);
        if !self.asked.is_empty() {
            body += "Asked there:\n";
            if left_out > 0 {
                writeln!(body, "- ({left_out} earlier left out)").expect("a String takes every text");
            }
            body += &self.asked[left_out..].join("\n");
            body += "\n\n";
        }
        body += &match self.replied.or(self.summed) {
            None => "Nothing was concluded there.".to_owned(),
            Some(told) => {
                let broken = if told.broken { ", which broke off" } else { "" };
                format!("Concluded there {}{broken}:\n\n{}", link(&told.id), cut(&told.text, CONCLUSION))
            }
        };
        Graft { tip: self.tip, title: self.title, body, files: self.files }
    }
}

impl Graft {
    /// The text of the summary. `written` is what a model made of the branch, if one was asked.
    pub fn text(&self, written: Option<&str>) -> String {
        format!("{}\n\n{}{}", self.title, written.unwrap_or(&self.body).trim(), self.files.blocks())
    }

    /// The entry that brings it to a place.
    pub fn plan(
        &self,
        tree: &SessionTree,
        at: Place,
        written: Option<&str>,
        extra: &Map<String, Value>,
    ) -> Draft {
        let mut extra = extra.clone();
        extra.entry("details").or_insert_with(|| self.files.details());
        tree.plan_branch_summary(at, Some(self.tip), &self.text(written), &extra)
    }
}

/// A graft with all lines at hand.
pub fn graft(tree: &SessionTree, at: Place, tip: &str, lines: &dyn Lines) -> Result<Graft, PlanError> {
    let mut grafting = tree.grafting(at, tip)?;
    answer(&mut grafting, lines);
    Ok(grafting.finish())
}
