//! Properties of the fold: the tree does not depend on how the log was read.

use super::*;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn folding_line_by_line_equals_folding_in_one_batch(log in random_logs(true, 0..40)) {
        let entries = entries(&log);
        let mut tree = SessionTree::default();
        for (at, entry) in entries.iter().enumerate() {
            tree.append(entry, 0, entry.line.len() as u32);
            prop_assert_eq!(tree_state(&tree), tree_state(&in_one_batch(&entries[..=at])));
        }
    }

    #[test]
    fn a_tree_restored_from_its_heads_equals_the_fold_and_continues_like_it(log in random_logs(true, 0..50), cut in 0usize..50) {
        let entries = entries(&log);
        let (first, rest) = entries.split_at(cut.min(entries.len()));
        let mut folded = in_one_batch(first);
        let mut again = restored(&folded, &log);
        prop_assert_eq!(tree_state(&again), tree_state(&folded));
        for entry in rest {
            folded.append(entry, 0, 0);
            again.append(entry, 0, 0);
            prop_assert_eq!(tree_state(&again), tree_state(&folded));
        }
    }

    #[test]
    fn a_copy_keeps_its_state(log in random_logs(true, 0..60), cut in 0usize..60) {
        let entries = entries(&log);
        let (first, rest) = entries.split_at(cut.min(entries.len()));
        let mut tree = in_one_batch(first);
        let copy = tree.clone();
        let before = tree_state(&copy);
        tree.extend(rest.iter().map(|entry| (entry.clone(), 0, 0)));
        prop_assert_eq!(tree_state(&copy), before);
    }

    #[test]
    fn every_path_ends_at_a_root_and_matches_the_depth(log in random_logs(true, 0..120)) {
        let tree = folded(&log);
        prop_assert_eq!(tree.len(), log.entries.len());
        for (seq, head) in tree.heads().iter() {
            let path = tree.path(Some(seq));
            prop_assert_eq!(path.len(), head.depth as usize + 1);
            prop_assert_eq!(tree.head(path[0]).parent, None);
            prop_assert_eq!(path.last(), Some(&seq));
            prop_assert_eq!(path.iter().collect::<HashSet<_>>().len(), path.len());
            prop_assert!(!tree.head(path[0]).has_flag(flag::SUPERSEDED) || path.len() == 1);
        }
    }

    #[test]
    fn every_entry_is_a_child_or_root_exactly_once(log in random_logs(true, 0..120)) {
        let tree = folded(&log);
        let mut seen = HashSet::new();
        let mut open = tree.children().roots().to_vec();
        while let Some(seq) = open.pop() {
            prop_assert!(seen.insert(seq));
            open.extend_from_slice(tree.children().of_entry(seq));
        }
        let counted = tree.heads().iter().filter(|(_, head)| !head.has_flag(flag::SUPERSEDED)).count();
        prop_assert_eq!(seen.len(), counted);
    }

    #[test]
    fn same_place_is_an_equivalence_that_marks_preserve(log in random_logs(true, 1..40)) {
        let tree = folded(&log);
        let places: Vec<Place> = std::iter::once(None).chain(tree.heads().iter().map(|(seq, _)| Some(seq))).collect();
        for a in &places {
            prop_assert!(tree.same_place(*a, *a));
            if let Some(seq) = a {
                let head = tree.head(*seq);
                prop_assert_eq!(tree.same_place(*a, head.parent), !head.kind.reaches_context());
            }
            for b in &places {
                prop_assert_eq!(tree.same_place(*a, *b), tree.same_place(*b, *a));
                if tree.same_place(*a, *b) {
                    prop_assert_eq!(tree.context_entries(*a).items, tree.context_entries(*b).items);
                    for c in &places {
                        prop_assert_eq!(tree.same_place(*a, *c), tree.same_place(*b, *c));
                    }
                }
            }
        }
    }

    #[test]
    fn the_common_ancestor_is_the_last_shared_entry(log in random_logs(true, 1..40)) {
        let tree = folded(&log);
        for (a, _) in tree.heads().iter() {
            for (b, _) in tree.heads().iter() {
                let shared = tree.path(Some(a)).into_iter().zip(tree.path(Some(b))).take_while(|(a, b)| a == b).last();
                prop_assert_eq!(tree.common_ancestor(Some(a), Some(b)), shared.map(|(seq, _)| seq));
            }
        }
    }

    #[test]
    fn undo_and_redo_walk_through_all_moves(log in random_logs(false, 1..60)) {
        let mut script = ScriptedSession::from_lines(&log.entries);
        let mut places = Vec::new();
        while let Some(back) = script.tree.move_history().back.last().copied() {
            places.push(script.tree.leaf());
            script.run_steps("undo");
            prop_assert!(script.tree.same_place(script.tree.leaf(), back));
            prop_assert!(places.len() <= log.entries.len());
        }
        while let Some(position) = places.pop() {
            script.run_steps("redo");
            prop_assert!(script.tree.same_place(script.tree.leaf(), position));
        }
    }
}

/// Long enough for several chunks of heads and several id tables, with readers that keep old states.
#[test]
fn large_logs_fold_the_same_while_readers_keep_copies() {
    for seed in 0..4 {
        let log = RandomLog::new(seed, 2500, seed % 2 == 1);
        let entries = entries(&log);
        let mut tree = SessionTree::default();
        let mut copies = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            tree.append(entry, 0, entry.line.len() as u32);
            if at % 97 == 0 {
                copies.push((at + 1, tree.clone()));
            }
        }
        assert_eq!(tree_state(&tree), tree_state(&in_one_batch(&entries)), "seed {seed}");
        assert_eq!(tree_state(&restored(&tree, &log)), tree_state(&tree), "seed {seed}");
        for (len, copy) in copies.iter().step_by(5) {
            assert_eq!(
                tree_state(copy),
                tree_state(&in_one_batch(&entries[..*len])),
                "seed {seed}, {len} entries"
            );
        }
    }
}
