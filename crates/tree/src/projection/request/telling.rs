//! Builds the messages of a request line by line, so that not all lines have to be in memory at once.

use super::{Piece, Told, told};
use crate::entry::{Kind, Role, read_entry};
use crate::heads::Seq;
use crate::projection::context;
use crate::scan::Raw;
use crate::walk::{ContextPlan, Item};

/// Collects the messages of a request. Add the lines in the order of `needed_lines`.
#[derive(Debug)]
pub struct Telling<M> {
    plan: ContextPlan,
    /// The number of plan items already processed.
    past: usize,
    /// A line that waits for its edit.
    held: Option<(Item, Vec<u8>)>,
    said: Vec<Piece<M>>,
    /// The compaction that contains the full system prompt of its time, including all earlier changes.
    prompted: Option<Seq>,
}

impl<M: Told> Telling<M> {
    pub fn new(plan: ContextPlan) -> Telling<M> {
        let said = Vec::with_capacity(plan.items.len());
        Telling { plan, past: 0, held: None, said, prompted: None }
    }

    /// The lines to add, in order.
    pub fn wanted(&self) -> Vec<Seq> {
        self.plan.items.iter().flat_map(|item| std::iter::once(item.seq).chain(item.edit)).collect()
    }

    /// Adds the next line. Skip lines that are unavailable.
    pub fn take(&mut self, seq: Seq, line: &[u8]) {
        if let Some((item, held)) = self.held.take() {
            let edit = (item.edit == Some(seq)).then_some(line);
            self.tell(item, &held, edit);
            if edit.is_some() {
                return;
            }
        }
        let Some(at) = self.plan.items[self.past..].iter().position(|item| item.seq == seq) else { return };
        let item = self.plan.items[self.past + at];
        self.past += at + 1;
        match item.edit {
            Some(_) => self.held = Some((item, line.to_vec())),
            None => self.tell(item, line, None),
        }
    }

    fn tell(&mut self, item: Item, line: &[u8], edit: Option<&[u8]>) {
        let Ok(entry) = read_entry(line) else { return };
        let edit = edit.and_then(|edit| read_entry(edit).ok());
        if entry.role == Role::System && self.prompted.is_some_and(|compaction| item.seq < compaction) {
            return;
        }
        if entry.kind == Kind::Compaction && entry.get("systemMessage").is_some_and(Raw::is_object) {
            self.prompted = Some(item.seq);
        }
        context::messages(&entry, edit.as_ref(), &mut |message| {
            self.said.extend(told(message).and_then(M::read).map(|message| (Some(item.seq), message)));
        });
    }

    pub(super) fn finish(mut self) -> (ContextPlan, Vec<Piece<M>>) {
        if let Some((item, held)) = self.held.take() {
            self.tell(item, &held, None);
        }
        (self.plan, self.said)
    }
}
