//! The outline: what a tree view draws, as rows. It decides from heads alone and asks for texts only to search them.
//!
//! The cost is linear in the log however deep or wide the tree is; nothing recurses, and a row holds no copy of the
//! lines that run past it (see [`Row::gutter`]).

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

/// How the user wants to see the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub filter: Filter,
    /// Words that all must occur in the label or the text of an entry, in any order and case.
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
    /// At each branch point the child on the way to the leaf comes first.
    ActiveFirst,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    pub rows: Vec<Row>,
    /// The row that stands for the leaf: its own, or that of its nearest shown ancestor.
    pub leaf: Option<usize>,
    /// For each entry the number of its row or that of its nearest shown ancestor, from 1; 0 for none.
    stands_in: Vec<u32>,
}

/// One shown entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub seq: Seq,
    /// The row of the nearest shown ancestor.
    pub parent: Option<u32>,
    /// How many rows have this one as parent.
    pub children: u32,
    pub label: Option<Box<str>>,
    /// It lies on the path to the leaf.
    pub on_path: bool,
    /// It stands for the leaf.
    pub is_leaf: bool,
    pub folded: bool,
    /// It lies in a deleted branch.
    pub deleted: bool,
    placed: Placed,
}

/// What the layout adds to a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Placed {
    level: u32,
    gutter: Option<u32>,
    connector: Connector,
    foldable: bool,
}

/// What ties a row to its parent: something only for children of a branch point.
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
    /// Levels of indentation, the connector's included.
    pub fn level(&self) -> u32 {
        self.placed.level
    }

    pub fn connector(&self) -> Connector {
        self.placed.connector
    }

    /// The nearest row above that has a connector. If that is a [`Connector::Tee`], a vertical line runs past this row
    /// one level left of that row's text; and so on from there.
    pub fn gutter(&self) -> Option<u32> {
        self.placed.gutter
    }

    /// It can be folded: it has children, and begins a branch or is a root.
    pub fn is_foldable(&self) -> bool {
        self.placed.foldable
    }
}

impl Outline {
    /// `texts` gives what a search looks at (see [`search_text`](super::preview::search_text)); labels are added here.
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

/// Visits all entries, parents first.
struct Walk<'a> {
    tree: &'a SessionTree,
    options: &'a Options,
    any_deleted: bool,
    on_path: Vec<bool>,
    open: Vec<(Seq, Above)>,
    outline: Outline,
}

/// What lies above an entry.
#[derive(Clone, Copy, Default)]
struct Above {
    /// The number of the nearest row, from 1.
    row: u32,
    /// Something is folded, or deleted and not asked for.
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
