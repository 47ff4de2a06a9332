//! Properties of the projections.

use super::*;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn appending_never_changes_earlier_messages_of_the_context(log in random_logs(false, 0..80)) {
        let mut tree = SessionTree::default();
        for entry in entries(&log) {
            let before = tree.leaf();
            let plan = tree.context_entries(before);
            let seq = tree.append(&entry, 0, 0);
            let continues = tree.head(seq).parent == before;
            if continues && !matches!(entry.kind, EntryKind::Compaction | EntryKind::ContextEdit | EntryKind::Leaf) {
                let after = tree.context_entries(tree.leaf());
                prop_assert!(after.items.starts_with(&plan.items), "{:?} then {:?}", plan, after);
                prop_assert!(entry.kind.reaches_context() || after.items == plan.items);
            }
        }
    }

    #[test]
    fn a_context_contains_entries_of_the_path_in_order(log in random_logs(true, 0..80)) {
        let tree = folded(&log);
        for (seq, _) in tree.heads().iter() {
            let plan = tree.context_entries(Some(seq));
            let path = tree.path(Some(seq));
            let rest = &plan.items[usize::from(plan.compaction.is_some())..];
            let places: Vec<_> = rest.iter().map(|item| path.iter().position(|seq| *seq == item.seq)).collect();
            prop_assert!(places.iter().all(Option::is_some));
            prop_assert!(places.is_sorted());
            let last = path.iter().rev().find(|seq| tree.head(**seq).kind == EntryKind::Compaction);
            prop_assert_eq!(plan.compaction, last.copied());
        }
    }

    #[test]
    fn the_all_filter_shows_every_visible_entry_once(log in random_logs(true, 0..80), deleted: bool) {
        let tree = folded(&log);
        let options = OutlineOptions { filter: OutlineFilter::All, show_deleted: deleted, ..OutlineOptions::default() };
        let outline = outlined(&tree, &log, &options);
        let shown: Vec<Seq> = outline.rows.iter().map(|row| row.seq).collect();
        let hidden = tree.hidden_entries();
        let leaf = tree.leaf();
        let is_shown = |seq: Seq, head: &Head| {
            let only_calls = head.role == MessageRole::Assistant && !head.has_flag(flag::HAS_TEXT)
                && !matches!(head.reason, EntryReason::Error | EntryReason::Aborted | EntryReason::Length)
                && leaf != Some(seq) && tree.heads().anchor(leaf) != Some(seq);
            !head.has_flag(flag::SUPERSEDED) && head.kind != EntryKind::Usage && !only_calls && (deleted || !hidden.contains(&seq))
        };
        let expected: HashSet<Seq> = tree.heads().iter().filter(|(seq, head)| is_shown(*seq, head)).map(|(seq, _)| seq).collect();
        prop_assert_eq!(shown.len(), expected.len());
        prop_assert_eq!(shown.into_iter().collect::<HashSet<_>>(), expected);
    }

    #[test]
    fn the_rows_of_an_outline_form_a_tree(log in random_logs(true, 0..80), filter in 0usize..5, active: bool, words in "(text 1)?", fold_at in 0usize..80, nested: bool) {
        let tree = folded(&log);
        let options = OutlineOptions {
            style: if nested { OutlineStyle::Nested } else { OutlineStyle::Flat },
            filter: OutlineFilter::ALL[filter],
            search: words,
            order: if active { SiblingOrder::ActiveFirst } else { SiblingOrder::OldestFirst },
            folded: (fold_at < tree.len()).then(|| Seq::new(fold_at)).into_iter().collect(),
            show_deleted: false,
        };
        let outline = outlined(&tree, &log, &options);
        for (at, row) in outline.rows.iter().enumerate() {
            let nearest = tree.heads().ancestors(tree.head(row.seq).parent).find_map(|seq| outline.rows.iter().position(|row| row.seq == seq));
            prop_assert_eq!(row.parent(), nearest);
            prop_assert!(nearest.is_none_or(|parent| parent < at));
            prop_assert_eq!(row.children as usize, outline.rows.iter().filter(|child| child.parent() == Some(at)).count());
            prop_assert_eq!(outline.row_of(row.seq), Some(at));
            let drawn = outline.row_parts(at, "", Default::default());
            prop_assert_eq!(drawn.prefix.chars().count(), row.level() as usize * 3);
            prop_assert!(outline.branch_start(at) <= at && outline.branch_end(at) >= at);
        }
        prop_assert!(outline.rows.iter().filter(|row| row.is_leaf).count() <= 1);
    }

    #[test]
    fn nothing_panics_on_damaged_logs(log in random_logs(true, 0..80)) {
        let tree = folded(&log);
        let mut previews = Previews::new(Some("/home/u"));
        let mut meter = UsageMeter::default();
        for entry in entries(&log) {
            let preview = previews.preview(&entry);
            prop_assert!(!preview.contains(char::is_control));
        }
        for seq in usage_entries(&tree) {
            meter.add_entry(seq, &parse_entry(&log.entries[seq.index()]).unwrap());
        }
        for position in std::iter::once(None).chain(tree.heads().iter().map(|(seq, _)| Some(seq))) {
            let report = meter.report(&tree, position);
            prop_assert!(report.path.total_tokens <= report.session.total_tokens);
            let branches: u64 = report.branches.iter().map(|branch| branch.usage.total_tokens).sum();
            prop_assert!(branches <= report.session.total_tokens);
            let models: u64 = report.models.iter().map(|model| model.usage.total_tokens).sum();
            prop_assert_eq!(models + report.subagents.total_tokens, report.session.total_tokens);
            let items = transcript(&tree, position, &log.entries);
            prop_assert!(items.len() <= transcript_entries(&tree, position).len());
            let page = markdown(&items, "x");
            prop_assert!(!page.contains(|ch: char| ch.is_control() && ch != '\n'));
            tree.checkpoints(position);
            tree.awaits_response(position);
        }
        tree.move_history();
    }
}
