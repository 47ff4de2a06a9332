//! What each branch took that no other path shares.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::entry::flag;
use crate::fold::{Place, SessionTree};
use crate::heads::{Heads, Seq};

use super::Usage;

/// The part of a path from its last branch point to its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchUsage {
    /// The last entry of the branch that is part of the conversation.
    pub tip: String,
    /// The first entry that belongs to this branch alone.
    pub first: String,
    /// How many entries of the conversation that are.
    pub entries: usize,
    /// The leaf stands on it.
    pub active: bool,
    pub deleted: bool,
    #[serde(flatten)]
    pub usage: Usage,
}

/// The branches by their ends, oldest end first. Marks and moves make no branch; what they cost counts where they hang.
pub(super) fn branches(tree: &SessionTree, leaf: Place, spent: &BTreeMap<Seq, Usage>) -> Vec<BranchUsage> {
    let heads = tree.heads();
    let mut costs: BTreeMap<Seq, Usage> = BTreeMap::new();
    for (seq, usage) in spent {
        if let Some(anchor) = heads.anchor(Some(*seq)) {
            costs.entry(anchor).or_default().add(usage);
        }
    }
    let children = count_children(heads);
    let hidden = tree.hidden();
    let active = heads.anchor(leaf);
    let tips = heads
        .iter()
        .filter(|(seq, head)| is_told(head.anchor, *seq, head.flags) && children[seq.index()] == 0);
    tips.map(|(tip, _)| {
        let (mut first, mut entries, mut usage) = (tip, 0, Usage::default());
        let mut active_here = false;
        for seq in alone(heads, &children, tip) {
            first = seq;
            entries += 1;
            active_here |= Some(seq) == active;
            if let Some(cost) = costs.get(&seq) {
                usage.add(cost);
            }
        }
        BranchUsage {
            tip: tree.id(tip).to_string(),
            first: tree.id(first).to_string(),
            entries,
            active: active_here,
            deleted: hidden.contains(&tip),
            usage,
        }
    })
    .collect()
}

/// Part of the conversation, and not replaced by a later line.
fn is_told(anchor: Option<Seq>, seq: Seq, flags: u8) -> bool {
    anchor == Some(seq) && flags & flag::SUPERSEDED == 0
}

/// For each entry of the conversation how many others go on from it.
fn count_children(heads: &Heads) -> Vec<u32> {
    let mut children = vec![0; heads.len()];
    for (seq, head) in heads.iter() {
        if is_told(head.anchor, seq, head.flags)
            && let Some(above) = heads.anchor(head.parent)
        {
            children[above.index()] += 1;
        }
    }
    children
}

/// From a tip up to the last branch point, that one not included.
fn alone<'a>(heads: &'a Heads, children: &'a [u32], tip: Seq) -> impl Iterator<Item = Seq> + 'a {
    std::iter::successors(Some(tip), |seq| heads.anchor(heads.get(*seq).parent))
        .take_while(move |seq| *seq == tip || children[seq.index()] == 1)
}
