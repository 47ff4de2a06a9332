//! Random logs contain every kind of entry and every kind of damage.

use std::collections::BTreeSet;

use osier_testkit::{RandomLog, fold};
use osier_tree::entry::{flag, parse_entry};
use osier_tree::{EntryKind, MessageRole};

#[test]
fn a_longer_log_starts_with_the_shorter_one() {
    for damaged in [false, true] {
        let (short, long) = (RandomLog::new(7, 50, damaged), RandomLog::new(7, 90, damaged));
        assert_eq!(short.lines, long.lines[..50]);
    }
}

#[test]
fn valid_logs_contain_all_kinds_and_no_damage() {
    let mut kinds = BTreeSet::new();
    for seed in 0..40 {
        let log = RandomLog::new(seed, 100, false);
        assert_eq!(log.lines, log.entries);
        let tree = fold(&log.lines);
        assert!(
            tree.heads()
                .iter()
                .all(|(_, head)| head.flags & (flag::ORPHAN | flag::CYCLE_BROKEN | flag::SUPERSEDED) == 0)
        );
        kinds.extend(tree.heads().iter().map(|(_, head)| head.kind.name()));
    }
    let all: BTreeSet<_> =
        EntryKind::ALL.into_iter().filter(|kind| *kind != EntryKind::Unknown).map(EntryKind::name).collect();
    assert_eq!(kinds, all);
}

#[test]
fn damaged_logs_contain_every_kind_of_damage() {
    let (mut flags, mut bad_lines, mut late_parents, mut long_cycles, mut unknown_kinds) = (0, 0, 0, 0, 0);
    for seed in 0..40 {
        let log = RandomLog::new(seed, 100, true);
        let tree = fold(&log.lines);
        bad_lines += log.lines.len() - log.entries.len();
        for (seq, head) in tree.heads().iter() {
            flags |= head.flags;
            late_parents += usize::from(head.parent.is_some_and(|parent| parent > seq));
            unknown_kinds +=
                usize::from(head.kind == EntryKind::Unknown || head.role == MessageRole::Unknown);
            let entry = parse_entry(&log.entries[seq.index()]).expect("log.entries contains only entries");
            long_cycles += usize::from(head.has_flag(flag::CYCLE_BROKEN) && entry.parent != Some(entry.id));
        }
    }
    let damage = flag::ORPHAN | flag::CYCLE_BROKEN | flag::SUPERSEDED | flag::LONG_ID | flag::NO_CONTENT;
    assert_eq!(flags & damage, damage);
    for (what, seen) in [
        ("bad lines", bad_lines),
        ("late parents", late_parents),
        ("cycles", long_cycles),
        ("unknown kinds", unknown_kinds),
    ] {
        assert!(seen >= 20, "only {seen} {what}");
    }
}
