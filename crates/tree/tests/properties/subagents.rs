//! Properties of the projection of sub-agents, on random batches.

use osier_tree::projection::subagents::{
    BatchLiveness, ProjectionSource, SubagentProjection, subagent_entries, subagent_projections,
};
use serde_json::{Value, json};

use super::*;

/// A value that may stand where a result should be.
fn rows() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => ("[abc]", 0u64..4, prop_oneof![Just("completed"), Just("failed"), Just("running")], ".{0,8}").prop_map(
            |(id, order, status, text)| json!({
                "id": id, "sortOrder": order, "status": status, "summary": text, "usage": { "input": order, "output": 1 },
                "resultPayload": { "processEvents": [{ "type": "run_start", "timestamp": order }], "evidenceSummary": [{ "kind": text }] },
            })
        ),
        1 => Just(json!({ "status": "completed" })),
        1 => Just(json!({ "id": 7, "goal": "numbered" })),
        1 => Just(Value::Null),
        1 => Just(json!([1])),
    ]
}

/// A log of batches, results, updates and tool messages, in any order.
fn batch_logs() -> impl Strategy<Value = Vec<Value>> {
    let list = || prop::collection::vec(rows(), 0..5);
    let entry =
        (0usize..4, 0usize..2, list(), prop_oneof![Just("completed"), Just("failed"), Just("cancelled")]);
    prop::collection::vec(entry, 1..8).prop_map(|entries| {
        let mut log = vec![json!({ "type": "message", "message": { "role": "assistant", "content": [{ "type": "toolCall", "id": "c", "name": "task", "arguments": {} }] } })];
        for (kind, batch, rows, status) in entries {
            let id = format!("b{batch}");
            log.push(match kind {
                0 => json!({ "type": "subagent_batch", "content": { "batchId": id, "status": "running", "tasks": rows, "toolCallId": "c" } }),
                1 => json!({ "type": "subagent_result", "content": { "batchId": id, "status": status, "results": rows },
                    "metadata": { "processEvents": [{ "type": "run_end", "timestamp": 9 }, { "type": "run_start", "timestamp": 1 }], "subagentProjection": { "version": 0 } } }),
                2 => json!({ "type": "message", "message": { "role": "toolResult", "toolCallId": "c", "toolName": "task", "content": [], "details": { "batchId": id, "results": rows } } }),
                _ => json!({ "type": "custom", "customType": "osier.entry_update", "data": { "targetId": "00000001", "status": status, "payload": { "results": rows } } }),
            });
        }
        for (at, entry) in log.iter_mut().enumerate() {
            entry["id"] = json!(format!("{at:08x}"));
            entry["parentId"] = at.checked_sub(1).map_or(Value::Null, |above| json!(format!("{above:08x}")));
        }
        log
    })
}

fn projected(
    log: &[Value],
    liveness: BatchLiveness,
) -> (SessionTree, Vec<Vec<u8>>, Vec<(Seq, SubagentProjection)>) {
    let lines: Vec<Vec<u8>> = log.iter().map(|entry| entry.to_string().into_bytes()).collect();
    let mut tree = SessionTree::default();
    for line in &lines {
        tree.append(&parse_entry(line).unwrap(), 0, 0);
    }
    let projections = subagent_projections(&tree, &lines, |_| liveness).into_iter().collect();
    (tree, lines, projections)
}

fn bytes(projections: &[(Seq, SubagentProjection)]) -> String {
    let plain: Vec<_> = projections.iter().map(|(seq, projection)| (seq.index(), projection)).collect();
    serde_json::to_string(&plain).unwrap()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_projection_is_a_pure_function_of_its_entries(log in batch_logs()) {
        let (tree, lines, projections) = projected(&log, BatchLiveness::Idle);
        let again = subagent_projections(&tree, &lines, |_| BatchLiveness::Idle);
        prop_assert_eq!(bytes(&projections), bytes(&again.into_iter().collect::<Vec<_>>()));
        // Only the lines that it names are needed.
        let named: rustc_hash::FxHashMap<Seq, Vec<u8>> =
            subagent_entries(&tree).into_iter().map(|seq| (seq, lines[seq.index()].clone())).collect();
        let from_named: Vec<_> = subagent_projections(&tree, &named, |_| BatchLiveness::Idle).into_iter().collect();
        prop_assert_eq!(bytes(&projections), bytes(&from_named));
    }

    #[test]
    fn counts_panels_and_sources_agree(log in batch_logs()) {
        for (_, projection) in projected(&log, BatchLiveness::Idle).2 {
            let facts = &projection.diagnostics;
            prop_assert!(facts.raw_result_count >= facts.deduped_result_count);
            prop_assert_eq!(facts.deduped_result_count, facts.projected_task_count + facts.skipped_result_count);
            prop_assert_eq!(facts.projected_task_count, projection.task_panels.len());
            prop_assert_eq!(facts.skipped_result_count, facts.skipped_results.len());
            prop_assert!(facts.skipped_results.iter().all(|skipped| !skipped.reason.is_empty()));
            prop_assert_eq!(facts.fallback_used, facts.selected_source != ProjectionSource::SubagentResult);
            if let Some(first) = facts.input_sources.first() {
                prop_assert_eq!(*first, facts.selected_source);
            }
            let keys: HashSet<&String> = projection.task_panels.iter().map(|panel| &panel.key).collect();
            prop_assert_eq!(keys.len(), projection.task_panels.len());
            let order: Vec<_> = projection.task_panels.iter().map(|panel| (panel.sort_order, panel.task_id.clone())).collect();
            prop_assert!(order.is_sorted());
            prop_assert_ne!(&projection.status, "running");
            prop_assert!(projection.task_panels.iter().all(|panel| panel.status != "running"));
            prop_assert_eq!(projection.version, 1);
        }
    }

    #[test]
    fn damaged_logs_have_projections_too(log in random_logs(true, 0..80)) {
        let tree = folded(&log);
        for (seq, projection) in subagent_projections(&tree, &log.entries, |_| BatchLiveness::TurnRuns) {
            prop_assert!(seq.index() < tree.len());
            prop_assert_eq!(projection.source, "backend-projection");
        }
    }
}

/// A record of another program: a batch and the result of its call, without `subagent_result`.
#[test]
fn old_records_without_a_result_have_the_same_shape() {
    let batch = json!({ "type": "subagent_batch", "id": "00000001", "parentId": "00000000", "content": { "batchId": "b", "status": "completed", "tasks": [{ "id": "t1", "prompt": "look" }, { "id": "t2", "prompt": "count" }] } });
    let answer =
        json!({ "batchId": "b", "results": [{ "id": "t1", "status": "completed", "summary": "found" }] })
            .to_string();
    let log = [
        json!({ "type": "message", "id": "00000000", "parentId": null, "message": { "role": "assistant", "content": [] } }),
        batch.clone(),
        json!({ "type": "message", "id": "00000002", "parentId": "00000001", "message": { "role": "tool", "toolCallId": "x", "content": answer } }),
    ];
    let (_, _, projections) = projected(&log, BatchLiveness::Idle);
    let (seq, projection) = &projections[0];
    assert_eq!((seq.index(), projections.len()), (1, 1));
    assert_eq!(projection.diagnostics.selected_source, ProjectionSource::ToolMessage);
    assert!(projection.diagnostics.fallback_used);
    let panels: Vec<(&str, &str, &str)> =
        projection.task_panels.iter().map(|panel| (&*panel.goal, &*panel.status, &*panel.summary)).collect();
    assert_eq!(panels, [("look", "completed", "found"), ("count", "completed", "")]);

    let (_, _, alone) = projected(&[log[0].clone(), batch], BatchLiveness::Idle);
    assert_eq!(alone[0].1.diagnostics.selected_source, ProjectionSource::MetadataFallback);
    let keys = |projection: &SubagentProjection| match serde_json::to_value(projection).unwrap() {
        Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>(),
        other => panic!("{other}"),
    };
    assert_eq!(keys(&alone[0].1), keys(projection));
}
