//! The outline: the rows of a tree view. It is computed from heads alone and needs texts only for searching.
//!
//! The cost is linear in the size of the log, however deep or wide the tree is. Nothing recurses, and a row does not store
//! the vertical lines that pass it (see `OutlineRow::gutter`).

mod draw;
mod filter;
mod layout;
mod select;

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::fold::{Place, SessionTree};
use crate::heads::Seq;

use filter::Sieve;

pub use draw::{Glyphs, Pieces};
pub use filter::Filter;
pub use select::Leap;

/// What to show, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub filter: Filter,
    /// Words that must all occur in the label or the text of an entry, in any order, ignoring case.
    pub search: String,
    /// Entries whose descendants are not shown.
    pub folded: FxHashSet<Seq>,
    pub order: Order,
    /// Also show deleted branches.
    pub deleted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    #[default]
    OldestFirst,
    /// At each branch point, the child on the path to the leaf comes first.
    ActiveFirst,
}

/// The rows of a tree view.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    pub rows: Vec<Row>,
    /// The row of the leaf, or of its nearest shown ancestor.
    pub leaf: Option<usize>,
    /// For each entry, the 1-based row of it or of its nearest shown ancestor; 0 for none.
    stands_in: Vec<u32>,
}

/// One shown entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub seq: Seq,
    /// The row of the nearest shown ancestor.
    pub parent: Option<u32>,
    /// The number of shown children.
    pub children: u32,
    pub label: Option<Box<str>>,
    /// It is on the path to the leaf.
    pub on_path: bool,
    /// It represents the leaf.
    pub is_leaf: bool,
    pub folded: bool,
    /// It is in a deleted branch.
    pub deleted: bool,
    placed: Placed,
}

/// The layout of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Placed {
    level: u32,
    gutter: Option<u32>,
    connector: Connector,
    foldable: bool,
}

/// The line that connects a row to its parent. Only children of a branch point have one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Connector {
    #[default]
    None,
    /// `├─`: siblings follow.
    Tee,
    /// `└─`: the last of its siblings.
    Corner,
}

impl Row {
    /// The indentation levels, including the connector's.
    pub fn level(&self) -> u32 {
        self.placed.level
    }

    pub fn connector(&self) -> Connector {
        self.placed.connector
    }

    /// The nearest ancestor row with a connector. If that is a [`Connector::Tee`], a vertical line passes this row one level
    /// left of that ancestor's text. Follow the ancestor's own gutter for the next line.
    pub fn gutter(&self) -> Option<u32> {
        self.placed.gutter
    }

    /// Whether the row can be folded: it has children, and starts a branch or is a root.
    pub fn is_foldable(&self) -> bool {
        self.placed.foldable
    }
}

impl Outline {
    /// `texts` returns the text to search (see [`search_text`](super::preview::search_text)). Labels are searched as well.
    pub fn new<'t>(
        tree: &SessionTree,
        leaf: Place,
        options: &Options,
        texts: &dyn Fn(Seq) -> Cow<'t, str>,
    ) -> Outline {
        let sieve = Sieve::new(tree, leaf, options.filter, &options.search, texts);
        let mut walk = Walk::new(tree, leaf, options);
        while let Some((seq, above)) = walk.open.pop() {
            walk.take(seq, above, &sieve);
        }
        let mut outline = walk.outline;
        layout::lay_out(&mut outline.rows);
        outline.leaf = leaf.and_then(|leaf| outline.row_of(leaf));
        if let Some(at) = outline.leaf {
            outline.rows[at].is_leaf = true;
        }
        outline
    }

    /// The row of an entry, or of its nearest shown ancestor.
    pub fn row_of(&self, seq: Seq) -> Option<usize> {
        (*self.stands_in.get(seq.index())? as usize).checked_sub(1)
    }
}

/// Walks all entries, parents first.
struct Walk<'a> {
    tree: &'a SessionTree,
    options: &'a Options,
    any_deleted: bool,
    on_path: Vec<bool>,
    open: Vec<(Seq, Above)>,
    outline: Outline,
}

/// The state inherited from the ancestors of an entry.
#[derive(Clone, Copy, Default)]
struct Above {
    /// The 1-based nearest row.
    row: u32,
    /// An ancestor is folded, or deleted while deleted branches are not shown.
    covered: bool,
    deleted: bool,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a SessionTree, leaf: Place, options: &'a Options) -> Walk<'a> {
        let mut on_path = vec![false; tree.len()];
        for seq in tree.heads().up(leaf) {
            on_path[seq.index()] = true;
        }
        let outline = Outline { stands_in: vec![0; tree.len()], ..Outline::default() };
        let any_deleted = tree.marks().deleted().next().is_some();
        let mut walk = Walk { tree, options, any_deleted, on_path, open: Vec::new(), outline };
        walk.descend(None, Above::default());
        walk
    }

    fn take(&mut self, seq: Seq, mut above: Above, sieve: &Sieve<'_, '_>) {
        above.deleted |= self.any_deleted && self.tree.marks().is_deleted(self.tree.id(seq).as_str());
        above.covered |= above.deleted && !self.options.deleted;
        let folded = self.options.folded.contains(&seq);
        if !above.covered && sieve.shows(seq) {
            self.outline.rows.push(Row {
                seq,
                parent: above.row.checked_sub(1),
                children: 0,
                label: self.tree.label(seq).map(|label| label.text.as_str().into()),
                on_path: self.on_path[seq.index()],
                is_leaf: false,
                folded,
                deleted: above.deleted,
                placed: Placed::default(),
            });
            above.row = self.outline.rows.len() as u32;
        }
        self.outline.stands_in[seq.index()] = above.row;
        above.covered |= folded;
        self.descend(Some(seq), above);
    }

    fn descend(&mut self, from: Place, above: Above) {
        let children = self.tree.children().below(from);
        self.open.extend(children.iter().rev().map(|seq| (*seq, above)));
        if self.options.order == Order::ActiveFirst && children.len() > 1 {
            let begin = self.open.len() - children.len();
            let siblings = &mut self.open[begin..];
            if let Some(active) = siblings.iter().position(|(seq, _)| self.on_path[seq.index()]) {
                siblings[active..].rotate_left(1);
            }
        }
    }
}
