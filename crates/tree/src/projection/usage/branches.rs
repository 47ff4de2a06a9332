//! The usage of each branch, without the part that it shares with other branches.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::{EntryKind, MessageRole, flag};
use crate::fold::{Place, SessionTree};
use crate::heads::{Heads, Seq};

use super::UsageTotals;
use crate::projection::preview::one_line;

/// The usage of the part of a path after its last branch point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BranchUsage {
    /// The last entry of the branch that is part of the conversation.
    pub tip: String,
    /// The first entry that belongs to this branch alone.
    pub first: String,
    /// The number of conversation entries in the branch.
    pub entries: usize,
    /// The leaf is in this branch.
    pub active: bool,
    pub deleted: bool,
    /// The label of the branch, or the first thing that the user said on it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The entry whose text is the title if there is no label.
    #[serde(skip)]
    pub title_entry: Option<Seq>,
    #[serde(flatten)]
    pub usage: UsageTotals,
}

/// The branches, by age of their tips, oldest first. Marks and moves do not start a branch; their usage counts for the entry
/// above them.
pub(super) fn branches(
    tree: &SessionTree,
    leaf: Place,
    spent: &BTreeMap<Seq, UsageTotals>,
) -> Vec<BranchUsage> {
    let heads = tree.heads();
    let mut costs: BTreeMap<Seq, UsageTotals> = BTreeMap::new();
    for (seq, usage) in spent {
        if let Some(anchor) = heads.anchor(Some(*seq)) {
            costs.entry(anchor).or_default().add(usage);
        }
    }
    let children = count_children(heads);
    let hidden = tree.hidden_entries();
    let active = heads.anchor(leaf);
    let tips = heads.iter().filter(|(seq, head)| {
        is_in_conversation(head.anchor, *seq, head.flags) && children[seq.index()] == 0
    });
    tips.map(|(tip, _)| {
        let (mut first, mut entries, mut usage) = (tip, 0, UsageTotals::default());
        let (mut active_here, mut title_entry) = (false, None);
        for seq in own_entries(heads, &children, tip) {
            first = seq;
            entries += 1;
            active_here |= Some(seq) == active;
            if heads.get(seq).kind == EntryKind::Message && heads.get(seq).role == MessageRole::User {
                title_entry = Some(seq);
            }
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
            title: tree
                .label(tip)
                .map(|label| format!("[{}]", one_line(&label.text, 80)))
                .unwrap_or_default(),
            title_entry,
            usage,
        }
    })
    .collect()
}

/// Whether an entry is part of the conversation and not replaced by a later line.
fn is_in_conversation(anchor: Option<Seq>, seq: Seq, flags: u8) -> bool {
    anchor == Some(seq) && flags & flag::SUPERSEDED == 0
}

/// The number of conversation entries that continue each entry.
fn count_children(heads: &Heads) -> Vec<u32> {
    let mut children = vec![0; heads.len()];
    for (seq, head) in heads.iter() {
        if is_in_conversation(head.anchor, seq, head.flags)
            && let Some(above) = heads.anchor(head.parent)
        {
            children[above.index()] += 1;
        }
    }
    children
}

/// The entries from a tip up to, but not including, the last branch point.
fn own_entries<'a>(heads: &'a Heads, children: &'a [u32], tip: Seq) -> impl Iterator<Item = Seq> + 'a {
    std::iter::successors(Some(tip), |seq| heads.anchor(heads.get(*seq).parent))
        .take_while(move |seq| *seq == tip || children[seq.index()] == 1)
}
