//! The heads of a log, in log order: sixty-four bytes an entry, with every reference already looked up.
//!
//! A `Heads` value is cheap to copy: copies share what they have in common, so a reader keeps the state it saw while
//! the writer goes on. Bodies are not here; a head tells the store where its line lies.

mod ids;
mod long_ids;

use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::entry::{Entry, Kind, Role, Why, flag};
use crate::time::Millis;
use ids::Ids;
use long_ids::LongIds;

/// The place of an entry in its log, counted from 0. Bad lines and headers are not counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seq(NonZeroU32);

impl Seq {
    pub fn new(index: usize) -> Seq {
        let number = u32::try_from(index + 1).expect("a log has fewer than four billion entries");
        Seq(NonZeroU32::new(number).expect("one was added"))
    }

    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// For files of fixed-width records: 0 stands for none.
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

/// An id as a number: its own eight bytes, or a hash if it is shorter or longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdKey(pub u64);

impl IdKey {
    /// The key of an id, and [`flag::LONG_ID`] if it is only a hash.
    pub fn of(id: &str) -> (IdKey, u8) {
        match <[u8; 8]>::try_from(id.as_bytes()) {
            Ok(bytes) => (IdKey(u64::from_le_bytes(bytes)), 0),
            Err(_) => (IdKey(FxBuildHasher.hash_one(id)), flag::LONG_ID),
        }
    }
}

/// What the fold and the choice of entries need of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub id: IdKey,
    /// `Millis::MIN` where the line has no readable time.
    pub time: Millis,
    /// Where the line lies in its store. Only the store gives it a meaning.
    pub offset: u64,
    /// Its length, line feed not counted.
    pub len: u32,
    pub parent: Option<Seq>,
    /// The entry it points at (see [`Entry::target`]), if the log has it.
    pub target: Option<Seq>,
    /// The nearest compaction, model and thinking level at or above this entry.
    pub compaction: Option<Seq>,
    pub model: Option<Seq>,
    pub thinking: Option<Seq>,
    /// The nearest entry at or above this one that reaches a context: equal anchors are the same place.
    pub anchor: Option<Seq>,
    /// The number of entries above it.
    pub depth: u32,
    pub kind: Kind,
    pub role: Role,
    pub why: Why,
    pub flags: u8,
    pub calls: u8,
    /// See [`Entry::body`].
    pub body: u16,
}

impl Head {
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub fn time(&self) -> Option<Millis> {
        (self.time != Millis::MIN).then_some(self.time)
    }

    pub fn is_user(&self) -> bool {
        self.role == Role::User
    }

    /// Whether it counts as a message. The stored system prompt does not.
    pub fn is_message(&self) -> bool {
        self.kind == Kind::Message && self.role != Role::System
    }

    /// Works out what follows from the parent: nearest entries above, depth, place.
    pub fn derive(&mut self, own: Seq, above: Option<&Head>) {
        let nearest =
            |is_one: bool, of: fn(&Head) -> Option<Seq>| if is_one { Some(own) } else { above.and_then(of) };
        self.compaction = nearest(self.kind == Kind::Compaction, |head| head.compaction);
        self.model =
            nearest(self.kind == Kind::ModelChange || self.role == Role::Assistant, |head| head.model);
        self.thinking = nearest(self.kind == Kind::ThinkingLevelChange, |head| head.thinking);
        self.anchor = nearest(self.kind.reaches_context(), |head| head.anchor);
        self.depth = above.map_or(0, |above| above.depth.saturating_add(1));
    }

    /// The fold cannot go on from this head alone; it wants to see the line.
    pub fn wants_line(&self) -> bool {
        self.kind.folds_body() || self.wants_ids()
    }

    /// Ids that the line holds are not in the head: a long one, or one that no entry has.
    pub fn wants_ids(&self) -> bool {
        self.has(flag::LONG_ID | flag::ORPHAN | flag::CUT) || self.target.is_none() && self.kind.has_target()
    }
}

const CHUNK: usize = 256;

/// See the module.
#[derive(Clone, Default)]
pub struct Heads {
    full: Arc<Vec<Arc<[Head]>>>,
    last: Arc<Vec<Head>>,
    ids: Ids,
    long_ids: LongIds,
    /// Ids that lines name and no line has, so far.
    missing: Arc<Missing>,
    /// Parents that were taken away to break a circle.
    cut: Arc<FxHashMap<Seq, Seq>>,
    /// A line changed what earlier lines mean; everything derived is worked out again by `settle`.
    unsettled: bool,
    /// Some id occurs more than once.
    repeats: bool,
    /// Some entry came before its parent or has none that could be found, or some id occurs more than once.
    astray: bool,
    superseded: Vec<(Seq, Seq)>,
}

/// By id, the entries that name it, and as what.
type Missing = FxHashMap<Box<str>, Vec<(Seq, Link)>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
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
        self.full.len() * CHUNK + self.last.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// # Panics
    /// If `seq` is not of this log.
    pub fn get(&self, seq: Seq) -> &Head {
        let index = seq.index();
        match self.full.get(index / CHUNK) {
            Some(chunk) => &chunk[index % CHUNK],
            None => &self.last[index - self.full.len() * CHUNK],
        }
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Seq, &Head)> + Clone {
        self.from(0)
    }

    /// The heads from `index` on.
    pub fn from(&self, index: usize) -> impl DoubleEndedIterator<Item = (Seq, &Head)> + Clone {
        (index..self.len()).map(|index| {
            let seq = Seq::new(index);
            (seq, self.get(seq))
        })
    }

    pub fn last_seq(&self) -> Option<Seq> {
        self.len().checked_sub(1).map(Seq::new)
    }

    /// Where the next entry goes: below a move's target, or below the last line.
    pub fn leaf(&self) -> Option<Seq> {
        self.last_seq().and_then(|seq| self.leaf_after(seq))
    }

    /// Where the log stood once it ended in `seq`.
    pub fn leaf_after(&self, seq: Seq) -> Option<Seq> {
        let head = self.get(seq);
        if head.kind == Kind::Leaf { head.parent } else { Some(seq) }
    }

    /// The entry with this id; of several the last.
    pub fn find(&self, id: &str) -> Option<Seq> {
        let (key, long) = IdKey::of(id);
        self.ids.find(key, |seq| {
            let head = self.get(seq);
            head.id == key
                && head.flags & (flag::LONG_ID | flag::SUPERSEDED) == long
                && (long == 0 || self.long_ids.get(seq) == Some(id))
        })
    }

    pub fn id(&self, seq: Seq) -> Id<'_> {
        let head = self.get(seq);
        match head.has(flag::LONG_ID) {
            true => Id::Long(self.long_ids.get(seq).unwrap_or_default()),
            false => Id::Short(head.id.0.to_le_bytes()),
        }
    }

    /// The nearest entry at or above `at` that reaches a context.
    pub fn anchor(&self, at: Option<Seq>) -> Option<Seq> {
        at.and_then(|seq| self.get(seq).anchor)
    }

    /// Whether two leaves stand for the same place in the conversation.
    pub fn same_place(&self, a: Option<Seq>, b: Option<Seq>) -> bool {
        self.anchor(a) == self.anchor(b)
    }

    /// Whether `above` lies on the path of `at` (or is it).
    pub fn is_ancestor(&self, above: Seq, at: Option<Seq>) -> bool {
        let depth = self.get(above).depth;
        self.up(at).take_while(|seq| self.get(*seq).depth >= depth).any(|seq| seq == above)
    }

    /// From `at` up to its root.
    pub fn up(&self, at: Option<Seq>) -> impl Iterator<Item = Seq> + '_ {
        std::iter::successors(at, |seq| self.get(*seq).parent)
    }

    /// From the root down to `at`.
    pub fn path(&self, at: Option<Seq>) -> Vec<Seq> {
        let mut path = Vec::with_capacity(at.map_or(0, |seq| self.get(seq).depth as usize + 1));
        path.extend(self.up(at));
        path.reverse();
        path
    }

    /// No line of the log contradicts another or names what is not there. In any other log a line that comes later may
    /// change what an earlier head says.
    pub fn is_regular(&self) -> bool {
        self.missing.is_empty() && self.cut.is_empty() && !self.repeats
    }

    /// Every entry came after the parent it names, and no id came twice: what was worked out from the heads while they
    /// arrived is what would be worked out now.
    pub fn is_in_order(&self) -> bool {
        !self.astray
    }

    /// Takes the next entry in. Call [`Heads::settle`] after the last of a batch.
    pub fn append(&mut self, entry: &Entry<'_>, offset: u64, len: u32) -> Seq {
        let seq = Seq::new(self.len());
        let (id, long) = IdKey::of(&entry.id);
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
            why: entry.why,
            flags: entry.flags & !(flag::ORPHAN | flag::CUT | flag::SUPERSEDED | flag::LONG_ID) | long,
            calls: entry.calls,
            body: entry.body,
        };
        if long != 0 {
            self.long_ids.push(seq, &entry.id);
        }
        let earlier = self.find(&entry.id);
        self.link_parent(&mut head, seq, entry);
        self.link_target(&mut head, seq, entry);
        self.derive(&mut head, seq);
        self.push(head);
        self.ids.insert(id, seq, earlier, |seq| self_key(&self.full, &self.last, seq));
        if let Some(earlier) = earlier {
            self.supersede(earlier, seq);
        }
        self.resolve_missing(&entry.id, seq);
        seq
    }

    fn link_parent(&mut self, head: &mut Head, seq: Seq, entry: &Entry<'_>) {
        let Some(parent) = &entry.parent else { return };
        if *parent == entry.id {
            head.flags |= flag::CUT;
            self.astray = true;
            return;
        }
        head.parent = self.find(parent);
        if head.parent.is_none() {
            head.flags |= flag::ORPHAN;
            self.astray = true;
            self.miss(parent, seq, Link::Parent);
        }
    }

    fn link_target(&mut self, head: &mut Head, seq: Seq, entry: &Entry<'_>) {
        let Some(target) = &entry.target else { return };
        head.target = if *target == entry.id { Some(seq) } else { self.find(target) };
        if head.target.is_none() {
            self.miss(target, seq, Link::Target);
        }
    }

    fn miss(&mut self, id: &str, seq: Seq, link: Link) {
        Arc::make_mut(&mut self.missing).entry(id.into()).or_default().push((seq, link));
    }

    fn push(&mut self, head: Head) {
        let last = Arc::make_mut(&mut self.last);
        last.push(head);
        if last.len() == CHUNK {
            let chunk: Arc<[Head]> = std::mem::take(last).into();
            Arc::make_mut(&mut self.full).push(chunk);
            last.reserve(CHUNK);
        }
    }

    fn update(&mut self, seq: Seq, change: impl FnOnce(&mut Head)) {
        let (chunk, at) = (seq.index() / CHUNK, seq.index() % CHUNK);
        if chunk < self.full.len() {
            change(&mut Arc::make_mut(&mut Arc::make_mut(&mut self.full)[chunk])[at]);
        } else {
            change(&mut Arc::make_mut(&mut self.last)[at]);
        }
    }

    fn derive(&self, head: &mut Head, seq: Seq) {
        let above = head.parent.map(|parent| self.get(parent));
        head.derive(seq, above);
    }

    fn supersede(&mut self, earlier: Seq, seq: Seq) {
        self.update(earlier, |head| head.flags |= flag::SUPERSEDED);
        self.superseded.push((earlier, seq));
        self.repeats = true;
        self.astray = true;
        self.unsettled = true;
    }

    fn resolve_missing(&mut self, id: &str, seq: Seq) {
        if !self.missing.contains_key(id) {
            return;
        }
        let Some(waiting) = Arc::make_mut(&mut self.missing).remove(id) else { return };
        for (child, link) in waiting {
            self.update(child, |head| match link {
                Link::Parent => {
                    head.parent = Some(seq);
                    head.flags &= !flag::ORPHAN;
                }
                Link::Target => head.target = Some(seq),
            });
        }
        self.unsettled = true;
    }

    /// Works out again what a late parent or a repeated id changed. Linear in the log, and only for damaged ones.
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
        for (seq, parent) in Arc::make_mut(&mut self.cut).drain() {
            heads[seq.index()].parent = Some(parent);
            heads[seq.index()].flags &= !flag::CUT;
        }
        for (index, head) in heads.iter_mut().enumerate() {
            let own = Seq::new(index);
            head.target = head.target.map(|target| if target == own { own } else { follow(target) });
            head.parent = head.parent.map(follow);
            if head.parent == Some(own) {
                head.parent = None;
                head.flags |= flag::CUT;
            }
        }
        let order = self.break_circles(&mut heads);
        self.rebuild(heads, &order);
    }

    /// Cuts each circle of parents at its earliest line, and orders all lines so that parents come first.
    fn break_circles(&mut self, heads: &mut [Head]) -> Vec<Seq> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; heads.len()];
        let mut order = Vec::with_capacity(heads.len());
        let mut trail = Vec::new();
        for start in 0..heads.len() {
            let mut at = Some(Seq::new(start));
            while let Some(seq) = at.filter(|seq| marks[seq.index()] == Mark::New) {
                marks[seq.index()] = Mark::Open;
                trail.push(seq);
                at = heads[seq.index()].parent;
            }
            if let Some(back) = at.filter(|seq| marks[seq.index()] == Mark::Open) {
                let from = trail.iter().rposition(|seq| *seq == back).expect("an open entry is on the trail");
                let root_at = (from..trail.len()).min_by_key(|at| trail[*at]).expect("a circle has members");
                let root = trail[root_at];
                let parent = heads[root.index()].parent.take().expect("members of a circle have parents");
                heads[root.index()].flags |= flag::CUT;
                Arc::make_mut(&mut self.cut).insert(root, parent);
                // The members below the cut now hang under those that were above it on the trail.
                trail[from..].rotate_left(root_at - from + 1);
            }
            for seq in trail.drain(..).rev() {
                marks[seq.index()] = Mark::Done;
                order.push(seq);
            }
        }
        order
    }

    fn rebuild(&mut self, heads: Vec<Head>, order: &[Seq]) {
        self.full = Arc::default();
        self.last = Arc::default();
        for head in heads {
            self.push(head);
        }
        for seq in order {
            let mut head = *self.get(*seq);
            self.derive(&mut head, *seq);
            self.update(*seq, |old| *old = head);
        }
    }

    /// Takes in a head that a store kept, with the line if [`Head::wants_line`] says so. Call `settle` afterwards.
    pub fn restore(&mut self, head: Head, entry: Option<&Entry<'_>>) -> Seq {
        let seq = Seq::new(self.len());
        self.push(head);
        if let Some(entry) = entry {
            if head.has(flag::LONG_ID) {
                self.long_ids.push(seq, &entry.id);
            }
            if let Some(parent) = entry.parent.as_ref().filter(|_| head.has(flag::ORPHAN)) {
                self.miss(parent, seq, Link::Parent);
            }
            if let Some(target) = entry.target.as_ref().filter(|_| head.target.is_none()) {
                self.miss(target, seq, Link::Target);
            }
        }
        self.repeats |= head.has(flag::SUPERSEDED);
        self.astray |= head.has(flag::SUPERSEDED | flag::ORPHAN | flag::CUT) || head.parent >= Some(seq);
        if !head.has(flag::SUPERSEDED) {
            self.ids.insert(head.id, seq, None, |seq| self_key(&self.full, &self.last, seq));
        }
        seq
    }

    /// Gives back the parents that a circle cost, once all heads are restored.
    pub fn restore_cuts(&mut self, cuts: impl IntoIterator<Item = (Seq, String)>) {
        for (seq, parent) in cuts {
            if let Some(parent) = self.find(&parent).filter(|parent| *parent != seq) {
                Arc::make_mut(&mut self.cut).insert(seq, parent);
            }
        }
    }
}

fn self_key(full: &[Arc<[Head]>], last: &[Head], seq: Seq) -> IdKey {
    let index = seq.index();
    match full.get(index / CHUNK) {
        Some(chunk) => chunk[index % CHUNK].id,
        None => last[index - full.len() * CHUNK].id,
    }
}

/// An entry's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id<'a> {
    Short([u8; 8]),
    Long(&'a str),
}

impl Id<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            Id::Short(bytes) => {
                std::str::from_utf8(bytes).expect("a short id was made from text of eight bytes")
            }
            Id::Long(text) => text,
        }
    }
}

impl std::fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
