//! The heads of a log, in log order: 64 bytes per entry, with all references to other entries resolved.
//!
//! A `Heads` value is cheap to copy, because copies share their data: a reader keeps its snapshot while the writer
//! appends. Bodies stay in the store; a head has the offset of its line. A store can also keep old heads until they are needed.

mod chunks;
mod id_index;
mod long_ids;

use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::entry::{Entry, EntryKind, EntryReason, MessageRole, flag};
use crate::time::Millis;
use chunks::HeadChunks;
pub use chunks::StoredHeads;
use id_index::IdIndex;
use long_ids::LongIds;

/// The index of an entry in its log, counted from 0. Invalid lines and headers are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seq(NonZeroU32);

impl Seq {
    pub fn new(index: usize) -> Seq {
        let number = u32::try_from(index + 1).expect("a log has fewer than four billion entries");
        Seq(NonZeroU32::new(number).expect("the number is at least one"))
    }

    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The number for a fixed-width record; 0 means none.
    pub fn to_record(seq: Option<Seq>) -> u32 {
        seq.map_or(0, |seq| seq.0.get())
    }

    pub fn from_record(number: u32) -> Option<Seq> {
        NonZeroU32::new(number).map(Seq)
    }
}

impl std::fmt::Debug for Seq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.index())
    }
}

/// An id as a number: its bytes if it has exactly eight, otherwise a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdKey(pub u64);

impl IdKey {
    /// The key of an id, and [`flag::LONG_ID`] if the key is only a hash.
    pub fn from_id(id: &str) -> (IdKey, u8) {
        match <[u8; 8]>::try_from(id.as_bytes()) {
            Ok(bytes) => (IdKey(u64::from_le_bytes(bytes)), 0),
            Err(_) => (IdKey(FxBuildHasher.hash_one(id)), flag::LONG_ID),
        }
    }
}

/// The part of a line that the fold and the selection of entries need. It has many fields because all other parts of a line
/// stay in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub id: IdKey,
    /// `Millis::MIN` if the line has no valid time.
    pub time: Millis,
    /// The position of the line in its store. Only the store interprets it.
    pub offset: u64,
    /// The length of the line, without the line feed.
    pub len: u32,
    pub parent: Option<Seq>,
    /// The entry that it points at (see [`Entry::target`]), if the log has it.
    pub target: Option<Seq>,
    /// The nearest compaction at or above this entry.
    pub compaction: Option<Seq>,
    /// The nearest entry at or above this one that sets the model, and the one that sets the thinking level.
    pub model: Option<Seq>,
    pub thinking: Option<Seq>,
    /// The nearest entry at or above this one that reaches a context. Entries with equal anchors are the same place.
    pub anchor: Option<Seq>,
    /// The number of ancestors.
    pub depth: u32,
    pub kind: EntryKind,
    pub role: MessageRole,
    pub reason: EntryReason,
    pub flags: u8,
    pub calls: u8,
    /// The offset of the message in the line; see the same field of [`Entry`].
    pub message_offset: u16,
}

impl Head {
    pub fn has_flag(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub fn time(&self) -> Option<Millis> {
        (self.time != Millis::MIN).then_some(self.time)
    }

    pub fn is_user(&self) -> bool {
        self.role == MessageRole::User
    }

    /// Whether it counts as a message. The stored system prompt does not count.
    pub fn is_message(&self) -> bool {
        self.kind == EntryKind::Message && self.role != MessageRole::System
    }

    /// Whether it is a message of an extension.
    pub fn is_hook_message(&self) -> bool {
        self.kind == EntryKind::CustomMessage
            || (self.kind == EntryKind::Message && self.role == MessageRole::Custom)
    }

    /// Computes the fields that depend on the parent: nearest entries above, anchor and depth.
    pub fn derive(&mut self, own: Seq, above: Option<&Head>) {
        let nearest = |is_own: bool, get: fn(&Head) -> Option<Seq>| {
            if is_own { Some(own) } else { above.and_then(get) }
        };
        self.compaction = nearest(self.kind == EntryKind::Compaction, |head| head.compaction);
        self.model =
            nearest(self.kind == EntryKind::ModelChange || self.role == MessageRole::Assistant, |head| {
                head.model
            });
        self.thinking = nearest(self.kind == EntryKind::ThinkingLevelChange, |head| head.thinking);
        self.anchor = nearest(self.kind.reaches_context(), |head| head.anchor);
        self.depth = above.map_or(0, |above| above.depth.saturating_add(1));
    }

    /// Whether the fold needs the line in addition to this head.
    pub fn needs_line(&self) -> bool {
        self.kind.folds_body() || self.needs_ids()
    }

    /// Whether ids must be read from the line because the head does not have them: a long id, or the id of a missing entry.
    pub fn needs_ids(&self) -> bool {
        self.has_flag(flag::LONG_ID | flag::ORPHAN | flag::CYCLE_BROKEN)
            || self.target.is_none() && self.kind.has_target()
    }
}

/// The heads of a log; see the module documentation.
#[derive(Clone, Default)]
pub struct Heads {
    chunks: HeadChunks,
    ids: IdIndex,
    long_ids: LongIds,
    /// Ids that lines refer to but that no line has yet.
    missing: Arc<MissingIds>,
    /// Parents that were removed to break a cycle, by entry.
    cycle_parents: Arc<FxHashMap<Seq, Seq>>,
    /// A line changed the meaning of earlier lines; `settle` must recompute all derived fields.
    unsettled: bool,
    /// An id occurs more than once.
    has_repeated_ids: bool,
    /// An entry came before its parent or its parent is missing, or an id occurs more than once.
    out_of_order: bool,
    /// Entries whose id occurred again, with the later entry; emptied by `settle`.
    superseded: Vec<(Seq, Seq)>,
}

/// For each missing id, the entries that refer to it, and how.
type MissingIds = FxHashMap<Box<str>, Vec<(Seq, LinkKind)>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkKind {
    Parent,
    Target,
}

impl std::fmt::Debug for Heads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heads").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Heads {
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// # Panics
    /// If `seq` is not from this log.
    pub fn get(&self, seq: Seq) -> &Head {
        self.chunks.get(seq)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Seq, &Head)> + Clone {
        self.iter_from(0)
    }

    /// The heads starting at `index`.
    pub fn iter_from(&self, index: usize) -> impl DoubleEndedIterator<Item = (Seq, &Head)> + Clone {
        (index..self.len()).map(|index| {
            let seq = Seq::new(index);
            (seq, self.get(seq))
        })
    }

    pub fn last_seq(&self) -> Option<Seq> {
        self.len().checked_sub(1).map(Seq::new)
    }

    /// Where the next entry goes: below the target of a move, or below the last entry.
    pub fn leaf(&self) -> Option<Seq> {
        self.last_seq().and_then(|seq| self.leaf_after(seq))
    }

    /// The leaf if the log ended in `seq`.
    pub fn leaf_after(&self, seq: Seq) -> Option<Seq> {
        let head = self.get(seq);
        if head.kind == EntryKind::Leaf { head.parent } else { Some(seq) }
    }

    /// The entry with this id; if there are several, the last one.
    pub fn find(&self, id: &str) -> Option<Seq> {
        let (key, long) = IdKey::from_id(id);
        let matches = |seq: Seq| {
            let head = self.get(seq);
            head.id == key
                && head.flags & (flag::LONG_ID | flag::SUPERSEDED) == long
                && (long == 0 || self.long_ids.get(seq) == Some(id))
        };
        let key_of = |seq: Seq| {
            Some(self.get(seq)).filter(|head| !head.has_flag(flag::SUPERSEDED)).map(|head| head.id)
        };
        self.ids.find(key, matches, key_of)
    }

    pub fn id(&self, seq: Seq) -> EntryIdRef<'_> {
        let head = self.get(seq);
        match head.has_flag(flag::LONG_ID) {
            true => EntryIdRef::Long(self.long_ids.get(seq).unwrap_or_default()),
            false => EntryIdRef::Short(head.id.0.to_le_bytes()),
        }
    }

    /// The nearest entry at or above `at` that reaches a context.
    pub fn anchor(&self, at: Option<Seq>) -> Option<Seq> {
        at.and_then(|seq| self.get(seq).anchor)
    }

    /// Whether two leaves are the same place in the conversation.
    pub fn same_place(&self, a: Option<Seq>, b: Option<Seq>) -> bool {
        self.anchor(a) == self.anchor(b)
    }

    /// Whether `above` is on the path to `at` (or is `at`).
    pub fn is_ancestor(&self, above: Seq, at: Option<Seq>) -> bool {
        let depth = self.get(above).depth;
        self.ancestors(at).take_while(|seq| self.get(*seq).depth >= depth).any(|seq| seq == above)
    }

    /// From `at` up to its root.
    pub fn ancestors(&self, at: Option<Seq>) -> impl Iterator<Item = Seq> + '_ {
        std::iter::successors(at, |seq| self.get(*seq).parent)
    }

    /// From the root down to `at`.
    pub fn path(&self, at: Option<Seq>) -> Vec<Seq> {
        let mut path = Vec::with_capacity(at.map_or(0, |seq| self.get(seq).depth as usize + 1));
        path.extend(self.ancestors(at));
        path.reverse();
        path
    }

    /// Whether no line contradicts another one or refers to a missing entry. In any other log, a later line can change an
    /// earlier head.
    pub fn is_regular(&self) -> bool {
        self.missing.is_empty() && self.cycle_parents.is_empty() && !self.has_repeated_ids
    }

    /// Whether every entry came after its parent, and no id occurs twice. Then anything derived from the heads while they
    /// were appended is still correct.
    pub fn is_in_order(&self) -> bool {
        !self.out_of_order
    }

    /// Appends the next entry. Call [`Heads::settle`] after the last one of a batch.
    pub fn append(&mut self, entry: &Entry<'_>, offset: u64, len: u32) -> Seq {
        let seq = Seq::new(self.len());
        let (id, long) = IdKey::from_id(&entry.id);
        let mut head = Head {
            id,
            time: entry.time.unwrap_or(Millis::MIN),
            offset,
            len,
            parent: None,
            target: None,
            compaction: None,
            model: None,
            thinking: None,
            anchor: None,
            depth: 0,
            kind: entry.kind,
            role: entry.role,
            reason: entry.reason,
            flags: entry.flags & !(flag::ORPHAN | flag::CYCLE_BROKEN | flag::SUPERSEDED | flag::LONG_ID)
                | long,
            calls: entry.calls,
            message_offset: entry.message_offset,
        };
        if long != 0 {
            self.long_ids.push(seq, &entry.id);
        }
        let earlier = self.find(&entry.id);
        self.link_parent(&mut head, seq, entry);
        self.link_target(&mut head, seq, entry);
        self.derive(&mut head, seq);
        self.chunks.push(head);
        self.ids.insert(id, seq, earlier, |seq| self.chunks.get(seq).id);
        if let Some(earlier) = earlier {
            self.supersede(earlier, seq);
        }
        self.resolve_missing(&entry.id, seq);
        seq
    }

    fn link_parent(&mut self, head: &mut Head, seq: Seq, entry: &Entry<'_>) {
        let Some(parent) = &entry.parent else { return };
        if *parent == entry.id {
            head.flags |= flag::CYCLE_BROKEN;
            self.out_of_order = true;
            return;
        }
        // Nearly every parent is the entry before.
        let last = self.last_seq().filter(|last| self.id(*last).as_str() == parent);
        head.parent = last.or_else(|| self.find(parent));
        if head.parent.is_none() {
            head.flags |= flag::ORPHAN;
            self.out_of_order = true;
            self.record_missing(parent, seq, LinkKind::Parent);
        }
    }

    fn link_target(&mut self, head: &mut Head, seq: Seq, entry: &Entry<'_>) {
        let Some(target) = &entry.target else { return };
        head.target = if *target == entry.id { Some(seq) } else { self.find(target) };
        if head.target.is_none() {
            self.record_missing(target, seq, LinkKind::Target);
        }
    }

    fn record_missing(&mut self, id: &str, seq: Seq, link: LinkKind) {
        Arc::make_mut(&mut self.missing).entry(id.into()).or_default().push((seq, link));
    }

    fn derive(&self, head: &mut Head, seq: Seq) {
        let above = head.parent.map(|parent| self.get(parent));
        head.derive(seq, above);
    }

    fn supersede(&mut self, earlier: Seq, seq: Seq) {
        self.chunks.update(earlier, |head| head.flags |= flag::SUPERSEDED);
        self.superseded.push((earlier, seq));
        self.has_repeated_ids = true;
        self.out_of_order = true;
        self.unsettled = true;
    }

    fn resolve_missing(&mut self, id: &str, seq: Seq) {
        if !self.missing.contains_key(id) {
            return;
        }
        let Some(waiting) = Arc::make_mut(&mut self.missing).remove(id) else { return };
        for (child, link) in waiting {
            self.chunks.update(child, |head| match link {
                LinkKind::Parent => {
                    head.parent = Some(seq);
                    head.flags &= !flag::ORPHAN;
                }
                LinkKind::Target => head.target = Some(seq),
            });
        }
        self.unsettled = true;
    }

    /// Recomputes what a late parent or a repeated id changed. Linear in the size of the log, and needed only for damaged
    /// logs.
    pub fn settle(&mut self) {
        if !self.unsettled {
            return;
        }
        self.unsettled = false;
        let newest: FxHashMap<Seq, Seq> = std::mem::take(&mut self.superseded).into_iter().collect();
        let follow = |mut seq: Seq| {
            while let Some(next) = newest.get(&seq) {
                seq = *next;
            }
            seq
        };
        let mut heads: Vec<Head> = self.iter().map(|(_, head)| *head).collect();
        for (seq, parent) in Arc::make_mut(&mut self.cycle_parents).drain() {
            heads[seq.index()].parent = Some(parent);
            heads[seq.index()].flags &= !flag::CYCLE_BROKEN;
        }
        for (index, head) in heads.iter_mut().enumerate() {
            let own = Seq::new(index);
            head.target = head.target.map(|target| if target == own { own } else { follow(target) });
            head.parent = head.parent.map(follow);
            if head.parent == Some(own) {
                head.parent = None;
                head.flags |= flag::CYCLE_BROKEN;
            }
        }
        let order = self.break_cycles(&mut heads);
        self.rebuild(&heads, &order);
    }

    /// Breaks each cycle of parents at its earliest line, and returns all entries with parents first.
    fn break_cycles(&mut self, heads: &mut [Head]) -> Vec<Seq> {
        #[derive(Clone, Copy, PartialEq)]
        enum VisitState {
            New,
            Open,
            Done,
        }
        let mut states = vec![VisitState::New; heads.len()];
        let mut order = Vec::with_capacity(heads.len());
        let mut trail = Vec::new();
        for start in 0..heads.len() {
            let mut at = Some(Seq::new(start));
            while let Some(seq) = at.filter(|seq| states[seq.index()] == VisitState::New) {
                states[seq.index()] = VisitState::Open;
                trail.push(seq);
                at = heads[seq.index()].parent;
            }
            if let Some(back) = at.filter(|seq| states[seq.index()] == VisitState::Open) {
                let from = trail.iter().rposition(|seq| *seq == back).expect("an open entry is on the trail");
                let root_at = (from..trail.len()).min_by_key(|at| trail[*at]).expect("a cycle is not empty");
                let root = trail[root_at];
                let parent = heads[root.index()].parent.take().expect("entries of a cycle have parents");
                heads[root.index()].flags |= flag::CYCLE_BROKEN;
                Arc::make_mut(&mut self.cycle_parents).insert(root, parent);
                // Entries after the break on the trail are now descendants of those before it.
                trail[from..].rotate_left(root_at - from + 1);
            }
            for seq in trail.drain(..).rev() {
                states[seq.index()] = VisitState::Done;
                order.push(seq);
            }
        }
        order
    }

    fn rebuild(&mut self, heads: &[Head], order: &[Seq]) {
        self.chunks = HeadChunks::default();
        self.chunks.extend(heads);
        for seq in order {
            let mut head = *self.get(*seq);
            self.derive(&mut head, *seq);
            self.chunks.update(*seq, |old| *old = head);
        }
    }

    /// Heads that a store keeps and that are read on first use. They must be in order, contradict nothing, and need no line
    /// ([`Heads::is_regular`], [`Heads::is_in_order`], [`Head::needs_ids`]).
    pub fn from_stored(source: Arc<dyn StoredHeads>) -> Heads {
        let mut heads = Heads { chunks: HeadChunks::from_stored(source), ..Heads::default() };
        heads.ids.restore(0, heads.len());
        heads
    }

    /// The entries whose bodies the fold reads, in log order.
    pub fn entries_with_folded_body(&self) -> Vec<Seq> {
        self.chunks.entries_with_folded_body()
    }

    /// Appends a head that a store saved, with its entry if the head needs the line. Call `settle` afterwards.
    pub fn restore(&mut self, head: Head, entry: Option<&Entry<'_>>) -> Seq {
        let seq = Seq::new(self.len());
        self.chunks.push(head);
        if let Some(entry) = entry {
            if head.has_flag(flag::LONG_ID) {
                self.long_ids.push(seq, &entry.id);
            }
            if let Some(parent) = entry.parent.as_ref().filter(|_| head.has_flag(flag::ORPHAN)) {
                self.record_missing(parent, seq, LinkKind::Parent);
            }
            if let Some(target) = entry.target.as_ref().filter(|_| head.target.is_none()) {
                self.record_missing(target, seq, LinkKind::Target);
            }
        }
        self.has_repeated_ids |= head.has_flag(flag::SUPERSEDED);
        self.out_of_order |=
            head.has_flag(flag::SUPERSEDED | flag::ORPHAN | flag::CYCLE_BROKEN) || head.parent >= Some(seq);
        if !self.ids.restore(seq.index(), 1) && !head.has_flag(flag::SUPERSEDED) {
            self.ids.insert(head.id, seq, None, |seq| self.chunks.get(seq).id);
        }
        seq
    }

    /// Appends heads that a store saved and that need no line ([`Head::needs_ids`]).
    pub fn restore_all(&mut self, heads: &[Head]) {
        let first = self.len();
        for (at, head) in heads.iter().enumerate() {
            let superseded = head.has_flag(flag::SUPERSEDED);
            self.has_repeated_ids |= superseded;
            self.out_of_order |= superseded || head.parent >= Some(Seq::new(first + at));
        }
        self.chunks.extend(heads);
        if self.ids.restore(first, heads.len()) {
            return;
        }
        for (at, head) in heads.iter().enumerate().filter(|(_, head)| !head.has_flag(flag::SUPERSEDED)) {
            self.ids.insert(head.id, Seq::new(first + at), None, |seq| self.chunks.get(seq).id);
        }
    }

    /// Restores the parents that were removed to break cycles. Call it after all heads are restored.
    pub fn restore_cycle_parents(&mut self, cuts: impl IntoIterator<Item = (Seq, String)>) {
        for (seq, parent) in cuts {
            if let Some(parent) = self.find(&parent).filter(|parent| *parent != seq) {
                Arc::make_mut(&mut self.cycle_parents).insert(seq, parent);
            }
        }
    }
}

/// An entry's id, borrowed from the heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryIdRef<'a> {
    Short([u8; 8]),
    Long(&'a str),
}

impl EntryIdRef<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            EntryIdRef::Short(bytes) => {
                std::str::from_utf8(bytes).expect("a short id was created from eight bytes of text")
            }
            EntryIdRef::Long(text) => text,
        }
    }
}

impl std::fmt::Display for EntryIdRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
