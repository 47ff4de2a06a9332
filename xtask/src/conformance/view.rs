//! Osier's view of a session, in the format that the peer scripts use for pi's view.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::log::SessionLog;
use crate::osier::Osier;

/// Leaf, path, tree, labels, name and context, plus path and context at some other positions.
pub(super) fn osier_view(osier: &Osier, file: &Path, elsewhere: &[&str]) -> Result<Value> {
    let (leaf, context) = context_at(osier, file, None)?;
    let card = osier.card(file)?;
    ensure!(card["leafId"] == leaf, "`show` has leaf {} but `context` has {leaf}", card["leafId"]);
    let tree = rows(&osier.tree(file)?)?;
    let mut at = Vec::new();
    for id in elsewhere {
        let (_, context) = context_at(osier, file, Some(id))?;
        at.push(json!({ "id": id, "path": ids(&osier.path(file, Some(id))?)?, "context": context }));
    }
    Ok(json!({
        "leafId": leaf,
        "path": ids(&osier.path(file, None)?)?,
        "labels": labels(&tree),
        "tree": tree,
        "name": card["name"],
        "context": context,
        "at": at,
    }))
}

/// The leaf, and the rest of the output of `context`.
pub(super) fn context_at(osier: &Osier, file: &Path, at: Option<&str>) -> Result<(Value, Value)> {
    let mut context = osier.context(file, at)?;
    let leaf = context
        .as_object_mut()
        .and_then(|fields| fields.remove("leafId"))
        .context("`context` has no leafId")?;
    Ok((leaf, context))
}

fn ids(entries: &Value) -> Result<Value> {
    let entries = entries.as_array().context("`path` printed no array")?;
    Ok(entries.iter().map(|entry| entry["id"].clone()).collect())
}

/// The nested tree as rows in display order.
fn rows(tree: &Value) -> Result<Value> {
    let mut rows = Vec::new();
    let mut open: Vec<(&Value, usize)> = children(tree)?.map(|node| (node, 0)).collect();
    while let Some((node, depth)) = open.pop() {
        let mut row = json!({ "id": node["entry"]["id"], "depth": depth });
        for key in ["label", "labelTimestamp"] {
            if let Some(value) = node.get(key).filter(|value| !value.is_null()) {
                row[key] = value.clone();
            }
        }
        rows.push(row);
        open.extend(children(&node["children"])?.map(|child| (child, depth + 1)));
    }
    Ok(Value::Array(rows))
}

fn children(nodes: &Value) -> Result<impl Iterator<Item = &Value>> {
    Ok(nodes.as_array().context("`tree` printed a node without children")?.iter().rev())
}

fn labels(rows: &Value) -> Value {
    let labeled = |row: &Value| Some((row["id"].as_str()?.to_owned(), row.get("label")?.clone()));
    Value::Object(rows.as_array().into_iter().flatten().filter_map(labeled).collect::<Map<_, _>>())
}

/// Removes what pi does not know: moves, and everything below a deleted entry. The order of a tree with moves
/// is specific to Osier, so only the path, the labels and the context remain.
pub(super) fn without_osier_entries(seen: &Value, log: &SessionLog) -> Value {
    let path = seen["path"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|id| !id.as_str().is_some_and(|id| log.is_move(id)));
    let labels = seen["labels"].as_object().into_iter().flatten().filter(|(id, _)| !log.is_deleted(id));
    json!({
        "leafId": seen["leafId"].as_str().and_then(|id| log.skip_moves(id)),
        "path": path.cloned().collect::<Value>(),
        "labels": labels.map(|(id, label)| (id.clone(), label.clone())).collect::<Map<_, _>>(),
        "name": seen["name"],
        "context": seen["context"],
    })
}
