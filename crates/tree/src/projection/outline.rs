//! The outline: the rows of a tree view. It is computed from heads alone and needs texts only for searching.
//!
//! The cost is linear in the size of the log, however deep or wide the tree is. Nothing recurses, and a row does not store
//! the vertical lines that pass it (see `OutlineRow::gutter`).

mod draw;
mod filter;
mod layout;
mod navigate;

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::fold::{Place, SessionTree};
use crate::heads::Seq;

use filter::EntryFilter;

pub use draw::{Glyphs, RowParts};
pub use filter::OutlineFilter;
pub use navigate::BranchJump;

/// What to show, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutlineOptions {
    pub filter: OutlineFilter,
    /// Words that must all occur in the label or the text of an entry, in any order, ignoring case.
    pub search: String,
    /// Entries whose descendants are not shown.
    pub folded: FxHashSet<Seq>,
    pub order: SiblingOrder,
    /// Also show deleted branches.
    pub show_deleted: bool,
    pub style: OutlineStyle,
}

/// How the rows are indented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutlineStyle {
    /// A chain stays flat; only branches are indented.
    #[default]
    Flat,
    /// Every generation is indented one step below its parent.
    Nested,
}

impl OutlineStyle {
    /// By its name in the settings.
    pub fn from_name(name: &str) -> Option<OutlineStyle> {
        match name {
            "flat" => Some(OutlineStyle::Flat),
            "nested" => Some(OutlineStyle::Nested),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SiblingOrder {
    #[default]
    OldestFirst,
    /// At each branch point, the child on the path to the leaf comes first.
    ActiveFirst,
}

/// The rows of a tree view.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    pub rows: Vec<OutlineRow>,
    /// The row of the leaf, or of its nearest shown ancestor.
    pub leaf: Option<usize>,
    /// For each entry, the 1-based row of it or of its nearest shown ancestor; 0 for none.
    row_by_entry: Vec<u32>,
    /// The labels, by row. Few rows have one.
    labels: FxHashMap<usize, Box<str>>,
}

/// One shown entry. A tree can have a million of them, so a row is 28 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineRow {
    pub seq: Seq,
    /// The 1-based row of the nearest shown ancestor; 0 for none.
    above: u32,
    /// The number of shown children.
    pub children: u32,
    /// It is on the path to the leaf.
    pub on_path: bool,
    /// It represents the leaf.
    pub is_leaf: bool,
    pub folded: bool,
    /// It is in a deleted branch.
    pub deleted: bool,
    layout: RowLayout,
}

/// The layout of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RowLayout {
    level: u32,
    /// 1-based; 0 for none.
    gutter: u32,
    connector: Connector,
    foldable: bool,
}

/// The line that connects a row to its parent. In a flat outline, only children of a branch point have one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Connector {
    #[default]
    None,
    /// `├─`: siblings follow.
    Tee,
    /// `└─`: the last of its siblings.
    Corner,
}

impl OutlineRow {
    /// The row of the nearest shown ancestor.
    pub fn parent(&self) -> Option<usize> {
        (self.above as usize).checked_sub(1)
    }

    /// The indentation levels, including the connector's.
    pub fn level(&self) -> u32 {
        self.layout.level
    }

    pub fn connector(&self) -> Connector {
        self.layout.connector
    }

    /// The nearest ancestor row with a connector. If that is a [`Connector::Tee`], a vertical line passes this row one level
    /// left of that ancestor's text. Follow the ancestor's own gutter for the next line.
    pub fn gutter(&self) -> Option<usize> {
        (self.layout.gutter as usize).checked_sub(1)
    }

    /// Whether the row can be folded: it has children, and starts a branch or is a root.
    pub fn is_foldable(&self) -> bool {
        self.layout.foldable
    }
}

impl Outline {
    /// `texts` returns the text to search (see [`search_text`](super::preview::search_text)). Labels are searched as well.
    pub fn new<'t>(
        tree: &SessionTree,
        leaf: Place,
        options: &OutlineOptions,
        texts: &dyn Fn(Seq) -> Cow<'t, str>,
    ) -> Outline {
        let filter = EntryFilter::new(tree, leaf, options.filter, &options.search, texts);
        let mut walk = OutlineWalk::new(tree, leaf, options);
        while let Some((seq, above)) = walk.pending.pop() {
            walk.visit(seq, above, &filter);
        }
        let mut outline = walk.outline;
        layout::lay_out(&mut outline.rows, options.style);
        outline.leaf = leaf.and_then(|leaf| outline.row_of(leaf));
        if let Some(at) = outline.leaf {
            outline.rows[at].is_leaf = true;
        }
        outline
    }

    /// The row of an entry, or of its nearest shown ancestor.
    pub fn row_of(&self, seq: Seq) -> Option<usize> {
        (*self.row_by_entry.get(seq.index())? as usize).checked_sub(1)
    }
}

/// Walks all entries, parents first.
struct OutlineWalk<'a> {
    tree: &'a SessionTree,
    options: &'a OutlineOptions,
    any_deleted: bool,
    on_path: Vec<bool>,
    pending: Vec<(Seq, AncestorState)>,
    outline: Outline,
}

/// The state inherited from the ancestors of an entry.
#[derive(Clone, Copy, Default)]
struct AncestorState {
    /// The 1-based nearest row.
    row: u32,
    /// An ancestor is folded, or deleted while deleted branches are not shown.
    hidden: bool,
    deleted: bool,
}

impl<'a> OutlineWalk<'a> {
    fn new(tree: &'a SessionTree, leaf: Place, options: &'a OutlineOptions) -> OutlineWalk<'a> {
        let mut on_path = vec![false; tree.len()];
        for seq in tree.heads().ancestors(leaf) {
            on_path[seq.index()] = true;
        }
        let rows = Vec::with_capacity(tree.len());
        let outline = Outline { rows, row_by_entry: vec![0; tree.len()], ..Outline::default() };
        let any_deleted = tree.marks().deleted().next().is_some();
        let mut walk = OutlineWalk { tree, options, any_deleted, on_path, pending: Vec::new(), outline };
        walk.push_children(None, AncestorState::default());
        walk
    }

    fn visit(&mut self, seq: Seq, mut above: AncestorState, filter: &EntryFilter<'_, '_>) {
        above.deleted |= self.any_deleted && self.tree.marks().is_deleted(self.tree.id(seq).as_str());
        above.hidden |= above.deleted && !self.options.show_deleted;
        let folded = self.options.folded.contains(&seq);
        if !above.hidden && filter.shows(seq) {
            if let Some(label) = self.tree.label(seq) {
                self.outline.labels.insert(self.outline.rows.len(), label.text.as_str().into());
            }
            self.outline.rows.push(OutlineRow {
                seq,
                above: above.row,
                children: 0,
                on_path: self.on_path[seq.index()],
                is_leaf: false,
                folded,
                deleted: above.deleted,
                layout: RowLayout::default(),
            });
            above.row = self.outline.rows.len() as u32;
        }
        self.outline.row_by_entry[seq.index()] = above.row;
        above.hidden |= folded;
        self.push_children(Some(seq), above);
    }

    fn push_children(&mut self, from: Place, above: AncestorState) {
        let children = self.tree.children().below(from);
        self.pending.extend(children.iter().rev().map(|seq| (*seq, above)));
        if self.options.order == SiblingOrder::ActiveFirst && children.len() > 1 {
            let begin = self.pending.len() - children.len();
            let siblings = &mut self.pending[begin..];
            if let Some(active) = siblings.iter().position(|(seq, _)| self.on_path[seq.index()]) {
                siblings[active..].rotate_left(1);
            }
        }
    }
}
