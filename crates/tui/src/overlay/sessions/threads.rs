//! Orders sessions by thread: each below the session it was forked from.

use osier_protocol::Card;
use rustc_hash::FxHashMap;

/// How many forks of forks are followed.
const MAX_DEPTH: usize = 1000;

/// The sessions in thread order, each with its depth. A thread is placed by its most recent session.
pub(super) fn order_by_thread(cards: &[Card], found: &[usize]) -> Vec<(usize, usize)> {
    let by_id: FxHashMap<&str, usize> = found.iter().map(|at| (cards[*at].id.as_str(), *at)).collect();
    let parent = |at: usize| {
        let wanted = cards[at].parent_session_id.as_deref()?;
        by_id.get(wanted).copied().filter(|above| *above != at)
    };
    let mut below: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for at in found.iter().rev() {
        if let Some(above) = parent(*at) {
            below.entry(above).or_default().push(*at);
        }
    }
    // Sessions whose parents form a cycle have no root; the walk stops at some session of the cycle.
    let root = |at: usize| {
        let (mut root, mut steps) = (at, 0);
        while let Some(above) = parent(root).filter(|_| steps < MAX_DEPTH) {
            (root, steps) = (above, steps + 1);
        }
        root
    };
    let mut rows = Vec::new();
    let mut placed = vec![false; cards.len()];
    for at in found {
        let mut open = if placed[*at] { Vec::new() } else { vec![(root(*at), 0)] };
        while let Some((card, depth)) = open.pop() {
            if !std::mem::replace(&mut placed[card], true) {
                rows.push((card, depth));
                open.extend(below.get(&card).into_iter().flatten().map(|other| (*other, depth + 1)));
            }
        }
    }
    rows
}
