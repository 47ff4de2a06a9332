//! The tree of a session for a tree view: all entries without their content, each with a one-line preview.
//!
//! In this process a snapshot shares the tree of the session. In JSON it is a list of rows, from which a client elsewhere
//! builds an equal tree, so every client decides with the same functions what a view shows and where a move ends.

use std::borrow::Cow;
use std::sync::Arc;

use osier_tree::entry::{Entry, flag, parse_entry};
use osier_tree::projection::preview::EntryPreviews;
use osier_tree::{EntryId, EntryKind, EntryLine, EntryReason, MessageRole, Place, Seq, SessionTree, time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

/// See the module documentation. Clones share the tree.
#[derive(Debug, Clone)]
pub struct TreeSnapshot {
    pub tree: Arc<SessionTree>,
    pub leaf: Place,
    pub previews: Arc<dyn EntryPreviews>,
    /// Only some entries have previews.
    pub is_partial: bool,
}

/// A snapshot in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TreeJson {
    /// In the order of the log. Each has an index, counted from 0.
    rows: Vec<TreeRow>,
    /// The index of the leaf; null before the first entry.
    leaf: Option<usize>,
    /// Only some rows have previews.
    #[serde(default, skip_serializing_if = "is_false")]
    is_partial: bool,
}

/// An entry without its content, as a snapshot in JSON has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TreeRow {
    id: String,
    /// Null for a root, and for an entry whose parent is missing.
    parent_id: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    role: String,
    /// Why a reply stopped, or why the leaf moved.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    /// The entry that it points at, such as the target of a label.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_id: Option<String>,
    /// The label that it sets, if that is the current label of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// A message has text other than white space.
    #[serde(skip_serializing_if = "is_false")]
    has_text: bool,
    /// The number of tool calls, at most 255.
    #[serde(skip_serializing_if = "is_zero")]
    calls: u8,
    /// People do not see it, except in the filter `all`.
    #[serde(skip_serializing_if = "is_false")]
    hidden: bool,
    /// One line.
    preview: String,
}

impl Serialize for TreeSnapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.tree.heads().iter().map(|(seq, _)| self.row(seq)).collect();
        TreeJson { rows, leaf: self.leaf.map(Seq::index), is_partial: self.is_partial }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TreeSnapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TreeSnapshot, D::Error> {
        let TreeJson { rows, leaf, is_partial } = TreeJson::deserialize(deserializer)?;
        if leaf.is_some_and(|leaf| leaf >= rows.len()) {
            return Err(serde::de::Error::custom("the leaf is not one of the rows"));
        }
        let mut tree = SessionTree::default();
        for row in &rows {
            row.append_to(&mut tree).map_err(serde::de::Error::custom)?;
        }
        tree.settle();
        let previews: Vec<String> = rows.into_iter().map(|row| row.preview).collect();
        let leaf = leaf.map(Seq::new);
        Ok(TreeSnapshot::new(Arc::new(tree), leaf, Arc::new(previews)).partial(is_partial))
    }
}

impl JsonSchema for TreeSnapshot {
    fn schema_name() -> Cow<'static, str> {
        "TreeSnapshot".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TreeJson::json_schema(generator)
    }
}

/// Snapshots are equal if clients elsewhere could not tell them apart.
impl PartialEq for TreeSnapshot {
    fn eq(&self, other: &TreeSnapshot) -> bool {
        let rows = |snapshot: &TreeSnapshot| -> Vec<TreeRow> {
            snapshot.tree.heads().iter().map(|(seq, _)| snapshot.row(seq)).collect()
        };
        (self.leaf, self.is_partial) == (other.leaf, other.is_partial) && rows(self) == rows(other)
    }
}

impl TreeSnapshot {
    /// A snapshot with the previews of all entries.
    pub fn new(tree: Arc<SessionTree>, leaf: Place, previews: Arc<dyn EntryPreviews>) -> TreeSnapshot {
        TreeSnapshot { tree, leaf, previews, is_partial: false }
    }

    pub fn partial(self, is_partial: bool) -> TreeSnapshot {
        TreeSnapshot { is_partial, ..self }
    }

    pub fn preview(&self, seq: Seq) -> Cow<'_, str> {
        self.previews.get(seq)
    }

    pub fn id(&self, seq: Seq) -> EntryId {
        self.tree.id(seq).to_entry_id()
    }

    /// The entry that a line stores.
    pub fn find_line(&self, line: &EntryLine) -> Option<Seq> {
        self.tree.find(&parse_entry(line.bytes()).ok()?.id)
    }

    /// One row of the snapshot in JSON.
    pub fn row(&self, seq: Seq) -> TreeRow {
        let (tree, head) = (&self.tree, self.tree.head(seq));
        let target = head.target.map(|target| tree.id(target).to_string());
        let label = target.as_deref().and_then(|target| tree.marks().label(target));
        TreeRow {
            id: tree.id(seq).to_string(),
            parent_id: head.parent.map(|parent| tree.id(parent).to_string()),
            kind: head.kind.name().to_owned(),
            role: head.role.name().to_owned(),
            reason: head.reason.name().to_owned(),
            timestamp: head.time().map(time::format),
            label: label.filter(|label| label.set_by == seq).map(|label| label.text.clone()),
            target_id: target,
            has_text: head.has_flag(flag::HAS_TEXT),
            calls: head.calls,
            hidden: head.has_flag(flag::NOT_SHOWN),
            preview: self.preview(seq).into_owned(),
        }
    }
}

impl TreeRow {
    fn append_to(&self, tree: &mut SessionTree) -> Result<(), String> {
        // The fold reads only the label from the body.
        let body = json!({ "type": self.kind, "id": self.id, "label": self.label }).to_string();
        let entry = parse_entry(body.as_bytes()).map_err(|_| format!("not an entry: {body}"))?;
        let (kind, text) = (EntryKind::from_name(&self.kind), |text: &Option<String>| {
            text.as_ref().map(|text| Cow::Owned(text.clone()))
        });
        let flags = [(self.has_text, flag::HAS_TEXT), (self.hidden, flag::NOT_SHOWN)];
        let entry = Entry {
            kind,
            role: if self.role.is_empty() { MessageRole::None } else { MessageRole::parse(&self.role) },
            reason: EntryReason::from_name(&self.reason),
            flags: flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag),
            calls: self.calls,
            parent: text(&self.parent_id),
            target: text(&self.target_id),
            time: self.timestamp.as_deref().and_then(time::parse),
            ..entry
        };
        tree.append_unsettled(&entry, 0, 0);
        Ok(())
    }
}

fn is_false(yes: &bool) -> bool {
    !*yes
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use osier_testkit::{RandomLog, ScriptedSession, random_logs};
    use osier_tree::projection::outline::{Outline, OutlineFilter, OutlineOptions};
    use osier_tree::projection::preview::Previews;
    use proptest::prelude::*;

    use super::*;

    fn snapshot(lines: &[Vec<u8>]) -> TreeSnapshot {
        let (mut tree, mut previews, mut texts) = (SessionTree::default(), Previews::new(None), Vec::new());
        for line in lines {
            let entry = parse_entry(line).unwrap();
            tree.append(&entry, 0, 0);
            texts.push(previews.preview(&entry));
        }
        let leaf = tree.leaf();
        TreeSnapshot::new(Arc::new(tree), leaf, Arc::new(texts))
    }

    fn over_a_wire(snapshot: &TreeSnapshot) -> TreeSnapshot {
        serde_json::from_str(&serde_json::to_string(snapshot).unwrap()).unwrap()
    }

    /// What a tree view shows with a filter.
    fn rows(snapshot: &TreeSnapshot, filter: OutlineFilter) -> String {
        let options = OutlineOptions { filter, show_deleted: true, ..OutlineOptions::default() };
        let outline = Outline::new(&snapshot.tree, snapshot.leaf, &options, &|seq| snapshot.preview(seq));
        let row = |row: &osier_tree::projection::outline::OutlineRow| {
            let label = snapshot.tree.label(row.seq);
            let time = label.and_then(|label| snapshot.tree.head(label.set_by).time());
            format!("{row:?} {time:?} {}\n", snapshot.preview(row.seq))
        };
        outline.rows.iter().map(row).collect()
    }

    #[test]
    fn a_label_and_a_deleted_branch_survive_the_wire() {
        let script = ScriptedSession::run("say a; reply b; label a = good; move a; say c; delete c");
        let here = snapshot(&script.lines);
        let there = over_a_wire(&here);
        assert_eq!(there, here);
        assert_eq!(rows(&there, OutlineFilter::All), rows(&here, OutlineFilter::All));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_view_elsewhere_shows_the_same_rows(log in random_logs(false, 1..60)) {
            let RandomLog { entries, .. } = log;
            let here = snapshot(&entries);
            let there = over_a_wire(&here);
            for filter in OutlineFilter::ALL {
                prop_assert_eq!(rows(&there, filter), rows(&here, filter));
            }
        }
    }
}
