//! Properties of compactions and abandoned branches.

use osier_tree::compaction_cut::{Cut, NothingToCompact};
use osier_tree::walk::ContextItem;
use serde_json::Map;

use super::*;

/// Scripts of turns with tools, custom messages, edits and compactions.
fn scripts() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((0u8..20, 1u8..60), 1..50)
}

fn played(steps: &[(u8, u8)]) -> ScriptedSession {
    let mut script = ScriptedSession::default();
    for (number, (what, size)) in steps.iter().enumerate() {
        play(&mut script, number, *what, *size);
    }
    script
}

fn play(script: &mut ScriptedSession, n: usize, what: u8, size: u8) {
    let open =
        |script: &ScriptedSession| script.tree.awaits_response(script.tree.leaf()) && last_calls(script) > 0;
    let target = script.tree.path(script.tree.leaf()).into_iter().nth(size as usize);
    let target = target.map(|seq| script.tree.id(seq).to_string()).unwrap_or_default();
    match what {
        0..3 => script.run_steps(&format!("say q{n} ~{size}")),
        3..6 => script.run_steps(&format!("reply a{n} ~{size}")),
        6..9 => {
            script.run_steps(&format!("reply c{n} ~{size} calls read f{n}, edit g{n}"));
            script.run_steps(&format!("result r{n} ~{size}"));
            if size.is_multiple_of(3) {
                script.run_steps(&format!("note t between{n} ~{size}"));
            }
            script.run_steps(&format!("result s{n} ~{size}"));
        }
        9 => script.run_steps(&format!("reply c{n} calls bash ls")),
        10 if open(script) => script.run_steps(&format!("result late{n} ~{size}")),
        11 => script.run_steps(&format!("note t n{n} ~{size}")),
        12 => script.run_steps(&format!("bash b{n} ~{size}")),
        13 => script.run_steps(&format!("aside b{n} ~{size}")),
        14 => script.run_steps(&format!("fail f{n}")),
        15 => script.run_steps(&format!("custom state{n}; summarize s{n} ~{size}")),
        16 | 17 if !target.is_empty() => {
            let entry = json_line("context_edit", "targetId", &target, r#","replacement":null"#);
            script.run_steps(&entry);
        }
        18 if !target.is_empty() => {
            script.run_steps(&json_line(
                "compaction",
                "firstKeptEntryId",
                &target,
                r#","summary":"so far","tokensBefore":1"#,
            ));
        }
        _ => script.run_steps(&format!("model p/m{n}")),
    }
}

fn json_line(kind: &str, key: &str, target: &str, rest: &str) -> String {
    format!(r#"entry {{"type":"{kind}","{key}":"{target}"{rest}}}"#)
}

fn last_calls(script: &ScriptedSession) -> u8 {
    let leaf = script.tree.leaf().and_then(|seq| script.tree.heads().anchor(Some(seq)));
    leaf.map_or(0, |seq| script.tree.head(seq).calls)
}

/// The same log, with line lengths so large that lines are requested one by one.
fn with_huge_lines(script: &ScriptedSession) -> SessionTree {
    let mut tree = SessionTree::default();
    for line in &script.lines {
        tree.append(&parse_entry(line).unwrap(), 0, u32::MAX);
    }
    tree
}

fn cut(script: &ScriptedSession, keep: u64) -> Result<Cut, NothingToCompact> {
    script.tree.find_cut(script.tree.leaf(), keep, &script.lines)
}

/// The entries of the context, without the compaction.
fn context(script: &ScriptedSession) -> Vec<Seq> {
    let plan = script.tree.context_entries(script.tree.leaf());
    plan.items.iter().map(|item| item.seq).filter(|seq| Some(*seq) != plan.compaction).collect()
}

fn compacted(script: &ScriptedSession, cut: &Cut) -> ScriptedSession {
    let mut after = script.clone();
    let kept = after.tree.id(cut.first_kept).to_string();
    let draft =
        after.tree.plan_compaction(after.tree.leaf(), "sum", &kept, cut.tokens_before, &Map::new()).unwrap();
    after.append(&draft, "compaction");
    after
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_cut_keeps_or_summarizes_every_context_entry(steps in scripts(), keep in 1u64..400) {
        let script = played(&steps);
        let Ok(cut) = cut(&script, keep) else { return Ok(()) };
        let after = compacted(&script, &cut);
        let kept = context(&after);
        let summarized: Vec<Seq> = cut.history.iter().chain(&cut.turn_prefix).map(|item: &ContextItem| item.seq).collect();
        let before = context(&script);
        prop_assert!(!summarized.is_empty());
        prop_assert!(before.ends_with(&kept), "{before:?} then {kept:?}");
        prop_assert_eq!(&before[..before.len() - kept.len()], &summarized[..]);
    }

    #[test]
    fn a_cut_never_separates_a_call_from_its_result(steps in scripts(), keep in 1u64..400) {
        let script = played(&steps);
        let Ok(cut) = cut(&script, keep) else { return Ok(()) };
        let repairs = |script: &ScriptedSession| {
            let plan = script.tree.context_entries(script.tree.leaf());
            script.tree.prepare_request(&plan, &script.lines, false).repairs
        };
        let (before, after) = (repairs(&script), repairs(&compacted(&script, &cut)));
        prop_assert!(after.stray_results <= before.stray_results, "{before:?} then {after:?}");
    }

    #[test]
    fn a_cut_keeps_the_unanswered_message(steps in scripts(), keep in 1u64..400) {
        let mut script = played(&steps);
        script.run_steps("say the question ~50; fail overflow");
        let question = script.seq("the question");
        let Ok(cut) = cut(&script, keep) else { return Ok(()) };
        prop_assert!(context(&compacted(&script, &cut)).contains(&question));
    }

    #[test]
    fn a_cut_does_not_depend_on_how_lines_are_fetched(steps in scripts(), keep in 1u64..400) {
        let script = played(&steps);
        let tree = with_huge_lines(&script);
        prop_assert_eq!(cut(&script, keep), tree.find_cut(tree.leaf(), keep, &script.lines));
    }

    #[test]
    fn the_text_of_a_branch_excludes_the_shared_part(log in random_logs(true, 1..60), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), budget in 0u64..40) {
        let tree = folded(&log);
        prop_assume!(!tree.is_empty());
        let position = |index: prop::sample::Index| Some(Seq::new(index.index(tree.len())));
        let (from, to) = (position(from), position(to));
        let branch = tree.abandoned_branch(from, to);
        let left = branch.collect_text(&tree, budget, &log.entries);
        let common = tree.path(to);
        prop_assert!(left.entries.iter().all(|seq| !common.contains(seq) && branch.entries.contains(seq)));
        prop_assert!(left.entries.is_sorted_by_key(|seq| tree.head(*seq).depth) || tree.context_entries(from).compaction.is_some());
        let path = tree.path(from);
        prop_assert_eq!(&path[path.len() - branch.entries.len()..], &branch.entries[..]);
    }

    #[test]
    fn a_cut_works_on_damaged_logs(log in random_logs(true, 0..60), keep in 0u64..60) {
        let tree = folded(&log);
        for (seq, _) in tree.heads().iter() {
            if let Ok(cut) = tree.find_cut(Some(seq), keep, &log.entries) {
                prop_assert!(tree.heads().is_ancestor(cut.first_kept, Some(seq)));
                cut.collect_text(&tree, 3, &log.entries);
            }
        }
    }
}
