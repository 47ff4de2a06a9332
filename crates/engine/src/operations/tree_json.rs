//! The tree as JSON, written without recursion: a chain may be a million entries deep.

use std::borrow::Cow;
use std::convert::Infallible;

use osier_session::{Session, SessionState};
use osier_store::StoreError;
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::{Place, Seq, SessionTree, time};
use rustc_hash::FxHashSet;
use serde_json::json;

use crate::operations::tree::TreeJsonOptions;

/// How nodes are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JsonLayout {
    /// Each node contains its children.
    #[default]
    Nested,
    /// Each node has its depth.
    Flat,
}

/// Writes the nodes of a state.
pub(super) async fn write_tree<E: From<StoreError>>(
    session: &Session,
    state: &SessionState,
    leaf: Place,
    options: &TreeJsonOptions<'_>,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let tree = &*state.tree;
    let hidden = if options.deleted { FxHashSet::default() } else { tree.hidden_entries() };
    let order = depth_first(tree, &hidden);
    let path: FxHashSet<Seq> = tree.heads().ancestors(leaf).collect();
    write(b"[")?;
    let separator = b",\n";
    let mut nodes = NodeWriter { tree, open: Vec::new(), needs_comma: false, separator, write: &mut write };
    session
        .for_each_current_line(state, &order, |seq, line| {
            let entry = parse_entry(line);
            let json = entry.as_ref().map_or(Cow::Borrowed(&b"null"[..]), entry_json);
            match options.layout {
                JsonLayout::Nested => nodes.write_nested(seq, &json),
                JsonLayout::Flat => nodes.write_flat(seq, &json, path.contains(&seq)),
            }
        })
        .await?;
    nodes.close_to_depth(0)?;
    write(b"]\n")
}

/// The tree as nested nodes on one line. `entry` returns the JSON of an entry.
pub fn nested_tree_json<'a>(tree: &SessionTree, entry: impl Fn(Seq) -> &'a [u8]) -> Vec<u8> {
    let mut json = b"[".to_vec();
    let mut write = |bytes: &[u8]| -> Result<(), Infallible> {
        json.extend_from_slice(bytes);
        Ok(())
    };
    let mut nodes =
        NodeWriter { tree, open: Vec::new(), needs_comma: false, separator: b",", write: &mut write };
    for seq in depth_first(tree, &tree.hidden_entries()) {
        let Ok(()) = nodes.write_nested(seq, entry(seq));
    }
    let Ok(()) = nodes.close_to_depth(0);
    json.push(b']');
    json
}

/// All shown entries depth-first: roots in log order, children oldest first.
fn depth_first(tree: &SessionTree, hidden: &FxHashSet<Seq>) -> Vec<Seq> {
    let shown = |seqs: &[Seq]| -> Vec<Seq> {
        seqs.iter().rev().copied().filter(|seq| !hidden.contains(seq)).collect()
    };
    let mut order = Vec::new();
    let mut open = shown(tree.children().roots());
    while let Some(seq) = open.pop() {
        order.push(seq);
        open.extend(shown(tree.children().of_entry(seq)));
    }
    order
}

struct NodeWriter<'a, W> {
    tree: &'a SessionTree,
    /// The nodes whose children are currently written.
    open: Vec<Seq>,
    /// A sibling was already written.
    needs_comma: bool,
    separator: &'static [u8],
    write: &'a mut W,
}

impl<E, W: FnMut(&[u8]) -> Result<(), E>> NodeWriter<'_, W> {
    fn write_nested(&mut self, seq: Seq, entry: &[u8]) -> Result<(), E> {
        self.close_to_depth(self.tree.head(seq).depth as usize)?;
        self.start_node(entry)?;
        (self.write)(b",\"children\":[")?;
        self.open.push(seq);
        self.needs_comma = false;
        Ok(())
    }

    fn write_flat(&mut self, seq: Seq, entry: &[u8], on_path: bool) -> Result<(), E> {
        self.start_node(entry)?;
        (self.write)(format!(",\"depth\":{}", self.tree.head(seq).depth).as_bytes())?;
        if on_path {
            (self.write)(b",\"onPath\":true")?;
        }
        self.end_node(seq)
    }

    /// Starts a node.
    fn start_node(&mut self, entry: &[u8]) -> Result<(), E> {
        if self.needs_comma {
            (self.write)(self.separator)?;
        }
        (self.write)(b"{\"entry\":")?;
        (self.write)(entry)
    }

    /// Closes the open nodes at or below a depth.
    fn close_to_depth(&mut self, depth: usize) -> Result<(), E> {
        while self.open.len() > depth {
            let Some(seq) = self.open.pop() else { break };
            (self.write)(b"]")?;
            self.end_node(seq)?;
        }
        Ok(())
    }

    /// Closes a node with its label.
    fn end_node(&mut self, seq: Seq) -> Result<(), E> {
        if let Some(label) = self.tree.label(seq) {
            (self.write)(format!(",\"label\":{}", json!(label.text)).as_bytes())?;
            if let Some(millis) = self.tree.head(label.set_by).time() {
                (self.write)(format!(",\"labelTimestamp\":{}", json!(time::format(millis))).as_bytes())?;
            }
        }
        self.needs_comma = true;
        (self.write)(b"}")
    }
}
