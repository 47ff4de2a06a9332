//! Garbage collection: which lines can be removed with the deleted branches, and the log without them.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use serde_json::json;

use crate::draft::{DraftParent, EntryDraft};
use crate::entry::{EntryKind, parse_entry};
use crate::fold::{Place, SessionTree};
use crate::fork::with_parent;
use crate::heads::Seq;
use crate::projection::Lines;
use crate::projection::usage::{ModelUsage, UsageTotals, entry_usage, usage_entries};
use crate::time::Millis;

/// Which entries are kept.
#[derive(Debug, Clone)]
pub struct GcPlan {
    keep: Vec<bool>,
    /// The removed entries that may have cost tokens or money.
    removed_with_usage: Vec<Seq>,
}

impl GcPlan {
    pub fn removed_count(&self) -> usize {
        self.keep.iter().filter(|stays| !**stays).count()
    }

    pub fn kept(&self) -> impl Iterator<Item = Seq> + '_ {
        (0..self.keep.len()).filter(|at| self.keep[*at]).map(Seq::new)
    }

    /// The entries whose lines [`SessionTree::gc`] needs: the kept ones, and the removed ones that may have a cost.
    pub fn needed_lines(&self) -> impl Iterator<Item = Seq> + '_ {
        self.kept().chain(self.removed_with_usage.iter().copied())
    }

    /// Whether an entry is kept.
    pub fn keeps(&self, seq: Seq) -> bool {
        self.keep[seq.index()]
    }
}

impl SessionTree {
    /// Plans the removal of all deleted branches, except for the path to the leaf, the entries that kept entries point at,
    /// and marks, which apply to the whole session wherever they are. Marks on removed entries are removed too.
    pub fn plan_gc(&self) -> GcPlan {
        let hidden = self.hidden_entries();
        let mut plan = GcPlan { keep: vec![true; self.len()], removed_with_usage: Vec::new() };
        for seq in &hidden {
            plan.keep[seq.index()] = self.head(*seq).kind.is_mark();
        }
        let needed = self.keep_referenced(&hidden, &mut plan);
        for (seq, head) in self.heads().iter().filter(|(_, head)| head.kind.is_mark()) {
            let Some(target) = head.target else { continue };
            // A mark that is kept without its branch becomes visible; a label on that mark must not.
            let was_hidden =
                head.kind == EntryKind::Label && hidden.contains(&target) && self.head(target).kind.is_mark();
            plan.keep[seq.index()] &= plan.keeps(target) && (!was_hidden || needed.contains(&seq));
        }
        plan.removed_with_usage = usage_entries(self).filter(|seq| !plan.keeps(*seq)).collect();
        plan
    }

    /// Keeps the leaf, the entries that kept conversation entries point at, and the ancestors of all of these. Returns the
    /// leaf and the entries pointed at.
    fn keep_referenced(&self, hidden: &FxHashSet<Seq>, plan: &mut GcPlan) -> FxHashSet<Seq> {
        let is_conversation = |seq: &Seq| !self.head(*seq).kind.is_mark();
        let target = |seq: Seq| self.head(seq).target;
        let outside = self.heads().iter().map(|(seq, _)| seq).filter(|seq| !hidden.contains(seq));
        let leaf = self.heads().ancestors(self.leaf()).find(is_conversation);
        // A move at the end of the log defines the leaf.
        let last = self.heads().last_seq().filter(|seq| self.head(*seq).kind == EntryKind::Leaf);
        let mut needed: Vec<Seq> =
            outside.filter(is_conversation).filter_map(target).chain(leaf).chain(last).collect();
        let mut seen = FxHashSet::default();
        while let Some(seq) = needed.pop() {
            if !seen.insert(seq) {
                continue;
            }
            // A mark that is pointed at also keeps its own target.
            needed.extend(target(seq));
            for seq in self.heads().ancestors(Some(seq)).take_while(|seq| hidden.contains(seq)) {
                if std::mem::replace(&mut plan.keep[seq.index()], true) && is_conversation(&seq) {
                    break;
                }
                // The start of a deleted branch must be kept, otherwise kept entries below it become visible.
                let starts_deletion = || self.marks().is_deleted(self.id(seq).as_str());
                match is_conversation(&seq) {
                    true => needed.extend(target(seq)),
                    false => needed.extend(Some(seq).filter(|_| starts_deletion())),
                }
            }
        }
        seen
    }

    /// The lines of the new log: the kept lines, each below its nearest kept ancestor; a usage entry for the cost of each
    /// removed branch; and a move at the end if the leaf would otherwise change. `None` if a needed line is missing from
    /// `lines`.
    pub fn gc(
        &self,
        plan: &GcPlan,
        lines: &impl Lines,
        now: Millis,
        new_id: impl FnMut() -> String,
    ) -> Option<Vec<Vec<u8>>> {
        let mut spent = self.removed_usage(plan, lines)?;
        let mut new = GcWriter {
            tree: self,
            plan,
            new_id,
            minted: FxHashSet::default(),
            lines: Vec::new(),
            leaf: GcLeaf::At(None),
        };
        for (seq, _) in self.heads().iter() {
            if plan.keeps(seq) {
                new.append_kept(seq, lines.line(seq)?);
            }
            for cost in spent.remove(&seq).into_iter().flatten() {
                new.append_usage(seq, &cost, now);
            }
        }
        new.append_move(self.leaf(), now);
        Some(new.lines)
    }

    /// The cost of the removed entries by model, keyed by the first removed entry of each branch.
    fn removed_usage(&self, plan: &GcPlan, lines: &impl Lines) -> Option<BTreeMap<Seq, Vec<ModelUsage>>> {
        let mut first: BTreeMap<Place, Seq> = BTreeMap::new();
        let mut spent: BTreeMap<Seq, Vec<ModelUsage>> = BTreeMap::new();
        for seq in &plan.removed_with_usage {
            let entry = lines.line(*seq).and_then(|line| parse_entry(line).ok())?;
            let Some(cost) = entry_usage(&entry) else { continue };
            let branch = *first.entry(plan.nearest_kept(self, Some(*seq))).or_insert(*seq);
            let costs = spent.entry(branch).or_default();
            match costs.iter_mut().find(|sum| (&sum.provider, &sum.model) == (&cost.provider, &cost.model)) {
                Some(sum) => sum.usage.add(&cost.usage),
                None => costs.push(cost),
            }
        }
        Some(spent)
    }
}

impl GcPlan {
    fn nearest_kept(&self, tree: &SessionTree, at: Place) -> Place {
        tree.heads().ancestors(at).find(|seq| self.keeps(*seq))
    }

    /// The nearest kept entry that reaches a context. Places with equal anchors are the same place in the new log.
    fn anchor(&self, tree: &SessionTree, at: Place) -> Place {
        tree.heads().ancestors(at).find(|seq| self.keeps(*seq) && tree.head(*seq).kind.reaches_context())
    }
}

/// The new log while it is written.
struct GcWriter<'a, M> {
    tree: &'a SessionTree,
    plan: &'a GcPlan,
    new_id: M,
    minted: FxHashSet<String>,
    lines: Vec<Vec<u8>>,
    /// The leaf of the new log, as an entry of the old log.
    leaf: GcLeaf,
}

/// The leaf of the new log.
#[derive(Clone, Copy)]
enum GcLeaf {
    At(Place),
    /// At a usage entry below this place. It belongs to no path of the old log.
    AtUsageEntry(Place),
}

impl<M: FnMut() -> String> GcWriter<'_, M> {
    fn append_kept(&mut self, seq: Seq, line: &[u8]) {
        let parent = self.tree.head(seq).parent;
        let nearest = self.plan.nearest_kept(self.tree, parent);
        self.lines.push(match parse_entry(line) {
            Ok(entry) if nearest != parent => with_parent(&entry, self.id_of(nearest).as_deref(), None),
            _ => line.to_vec(),
        });
        self.leaf = GcLeaf::At(self.tree.heads().leaf_after(seq));
    }

    /// Appends a usage entry, so that the totals of the session do not change.
    fn append_usage(&mut self, gone: Seq, cost: &ModelUsage, now: Millis) {
        let parent = self.plan.nearest_kept(self.tree, Some(gone));
        let time = self.tree.head(gone).time().unwrap_or(now);
        let draft = with_usage(
            EntryDraft::new(EntryKind::Usage, DraftParent::CurrentLeaf).with("kind", "deleted"),
            cost,
        );
        self.append_draft(&draft, parent, time);
        self.leaf = GcLeaf::AtUsageEntry(parent);
    }

    fn append_move(&mut self, leaf: Place, now: Millis) {
        let anchor = |position| self.plan.anchor(self.tree, position);
        let is_above_leaf =
            |position: Place| position.is_none_or(|seq| self.tree.heads().is_ancestor(seq, leaf));
        let from = match self.leaf {
            GcLeaf::At(position) if anchor(position) == anchor(leaf) && is_above_leaf(position) => return,
            GcLeaf::At(position) | GcLeaf::AtUsageEntry(position) => {
                self.id_of(self.plan.nearest_kept(self.tree, position))
            }
        };
        let data = json!({ "fromId": from, "why": "move" });
        let draft = EntryDraft::new(EntryKind::Leaf, DraftParent::CurrentLeaf).with_value("data", &data);
        self.append_draft(&draft, self.plan.nearest_kept(self.tree, leaf), now);
    }

    fn append_draft(&mut self, draft: &EntryDraft, parent: Place, time: Millis) {
        let mut id = (self.new_id)();
        while self.tree.find(&id).is_some() || !self.minted.insert(id.clone()) {
            id = (self.new_id)();
        }
        let parent = self.id_of(parent);
        self.lines.push(draft.to_line(&id, parent.as_deref(), time));
    }

    fn id_of(&self, position: Place) -> Option<String> {
        position.map(|seq| self.tree.id(seq).to_string())
    }
}

fn with_usage(draft: EntryDraft, cost: &ModelUsage) -> EntryDraft {
    let named = [("provider", &cost.provider), ("model", &cost.model)];
    let draft = named.into_iter().fold(draft, |draft, (key, name)| match name {
        Some(name) => draft.with(key, name),
        None => draft,
    });
    let UsageTotals { input, output, cache_read, cache_write, total_tokens, requests, cost } = cost.usage;
    let usage = json!({
        "input": input, "output": output, "cacheRead": cache_read, "cacheWrite": cache_write,
        "totalTokens": total_tokens, "requests": requests, "cost": { "total": cost },
    });
    draft.with_value("usage", &usage)
}
