//! The tree as JSON, written without recursion: a chain may be a million entries deep.

use anyhow::Result;
use osier_session::Session;
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::{Place, Seq, SessionTree, time};
use rustc_hash::FxHashSet;
use serde_json::json;

use crate::out::Out;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum JsonLayout {
    /// Each node contains its children.
    Nested,
    /// Each node has its depth.
    Flat,
}

/// Writes all nodes; without `deleted`, only those outside deleted branches.
pub(super) async fn write(
    session: &Session,
    leaf: Place,
    deleted: bool,
    form: JsonLayout,
    out: &mut Out,
) -> Result<()> {
    let (state, _) = session.main_cursor().state_and_place();
    let tree = &*state.tree;
    let hidden = if deleted { FxHashSet::default() } else { tree.hidden_entries() };
    let order = depth_first(tree, &hidden);
    let path: FxHashSet<Seq> = tree.heads().ancestors(leaf).collect();
    out.raw(b"[")?;
    let mut nodes = NodeWriter { tree, open: Vec::new(), needs_comma: false, out };
    session
        .for_each_current_line(&state, &order, |seq, line| match form {
            JsonLayout::Nested => nodes.write_nested(seq, line),
            JsonLayout::Flat => nodes.write_flat(seq, line, path.contains(&seq)),
        })
        .await?;
    nodes.close_to_depth(0)?;
    out.raw(b"]\n")
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

struct NodeWriter<'a> {
    tree: &'a SessionTree,
    /// The nodes whose children are currently written.
    open: Vec<Seq>,
    /// A sibling was already written.
    needs_comma: bool,
    out: &'a mut Out,
}

impl NodeWriter<'_> {
    fn write_nested(&mut self, seq: Seq, line: &[u8]) -> Result<()> {
        self.close_to_depth(self.tree.head(seq).depth as usize)?;
        self.start_node(line)?;
        self.out.raw(b",\"children\":[")?;
        self.open.push(seq);
        self.needs_comma = false;
        Ok(())
    }

    fn write_flat(&mut self, seq: Seq, line: &[u8], on_path: bool) -> Result<()> {
        self.start_node(line)?;
        self.out.raw(format!(",\"depth\":{}", self.tree.head(seq).depth).as_bytes())?;
        if on_path {
            self.out.raw(b",\"onPath\":true")?;
        }
        self.end_node(seq)
    }

    /// Starts a node.
    fn start_node(&mut self, line: &[u8]) -> Result<()> {
        if self.needs_comma {
            self.out.raw(b",\n")?;
        }
        self.out.raw(b"{\"entry\":")?;
        match parse_entry(line) {
            Ok(entry) => self.out.raw(&entry_json(&entry)),
            Err(_) => self.out.raw(b"null"),
        }
    }

    /// Closes the open nodes at or below a depth.
    fn close_to_depth(&mut self, depth: usize) -> Result<()> {
        while self.open.len() > depth {
            let Some(seq) = self.open.pop() else { break };
            self.out.raw(b"]")?;
            self.end_node(seq)?;
        }
        Ok(())
    }

    /// Closes a node with its label.
    fn end_node(&mut self, seq: Seq) -> Result<()> {
        if let Some(label) = self.tree.label(seq) {
            self.out.raw(format!(",\"label\":{}", json!(label.text)).as_bytes())?;
            if let Some(millis) = self.tree.head(label.set_by).time() {
                self.out.raw(format!(",\"labelTimestamp\":{}", json!(time::format(millis))).as_bytes())?;
            }
        }
        self.needs_comma = true;
        self.out.raw(b"}")
    }
}
