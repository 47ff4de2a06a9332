//! Garbage collection: which lines a log can do without once its deleted branches shall go, and the log without them.

use rustc_hash::FxHashSet;
use serde_json::json;

use crate::draft::{Draft, Under};
use crate::entry::{Kind, read_entry};
use crate::fold::{Place, SessionTree};
use crate::fork::rechain;
use crate::heads::Seq;
use crate::projection::Lines;
use crate::time::Millis;

/// Which entries stay.
#[derive(Debug, Clone)]
pub struct GcPlan {
    stays: Vec<bool>,
}

impl GcPlan {
    pub fn removed(&self) -> usize {
        self.stays.iter().filter(|stays| !**stays).count()
    }

    pub fn kept(&self) -> impl Iterator<Item = Seq> + '_ {
        (0..self.stays.len()).filter(|at| self.stays[*at]).map(Seq::new)
    }

    fn has(&self, seq: Seq) -> bool {
        self.stays[seq.index()]
    }
}

impl SessionTree {
    /// Deleted branches go, but for what an entry outside points at, and for facts about the whole session that were
    /// written inside.
    pub fn plan_gc(&self) -> GcPlan {
        let hidden = self.hidden();
        let mut plan = GcPlan { stays: vec![true; self.len()] };
        for seq in &hidden {
            let kind = self.head(*seq).kind;
            plan.stays[seq.index()] =
                matches!(kind, Kind::SessionInfo | Kind::Config | Kind::Usage | Kind::Label);
        }
        self.keep_what_is_pointed_at(&hidden, &mut plan);
        for (seq, head) in self.heads().iter() {
            let about_nothing = head.kind.is_mark()
                && head.kind.has_target()
                && head.target.is_none_or(|target| !plan.has(target));
            if about_nothing {
                plan.stays[seq.index()] = false;
            }
        }
        plan
    }

    fn keep_what_is_pointed_at(&self, hidden: &FxHashSet<Seq>, plan: &mut GcPlan) {
        let pointing =
            self.heads().iter().filter(|(seq, head)| !hidden.contains(seq) && !head.kind.is_mark());
        let targets: Vec<Seq> =
            pointing.filter_map(|(_, head)| head.target).filter(|target| hidden.contains(target)).collect();
        for target in targets {
            for seq in self.heads().up(Some(target)).take_while(|seq| hidden.contains(seq)) {
                plan.stays[seq.index()] = true;
            }
        }
    }

    /// The lines that stay, each below its nearest ancestor that stays, and a move behind them if the log would otherwise
    /// stand elsewhere.
    pub fn gc(
        &self,
        plan: &GcPlan,
        lines: &impl Lines,
        now: Millis,
        mut mint: impl FnMut() -> String,
    ) -> Vec<Vec<u8>> {
        let nearest = |at: Place| self.heads().up(at).find(|seq| plan.has(*seq));
        let mut out = Vec::new();
        let mut last = None;
        for seq in plan.kept() {
            let Some(entry) = lines.line(seq).and_then(|line| read_entry(line).ok()) else { continue };
            let parent = nearest(self.head(seq).parent).map(|parent| self.id(parent).to_string());
            out.push(rechain(&entry, parent.as_deref(), None));
            last = Some(seq);
        }
        let leaf = nearest(self.leaf());
        let stands = last.and_then(|seq| nearest(self.heads().leaf_after(seq)));
        if !self.same_place(leaf, stands) {
            let id = std::iter::repeat_with(&mut mint).find(|id| self.find(id).is_none()).unwrap_or_default();
            let leaf = leaf.map(|seq| self.id(seq).to_string());
            let data = json!({ "fromId": last.map(|seq| self.id(seq).to_string()), "why": "move" });
            let draft = Draft::new(Kind::Leaf, Under::Log).with_value("data", &data);
            out.push(draft.line(&id, leaf.as_deref(), now));
        }
        out
    }
}
