//! Builds the messages of a request line by line, so that not all lines have to be in memory at once.

use super::{RequestMessage, SourcedMessage, read_message};
use crate::entry::{EntryKind, MessageRole, parse_entry};
use crate::heads::Seq;
use crate::projection::context;
use crate::scan::RawJson;
use crate::walk::{ContextItem, ContextPlan};

/// Collects the messages of a request. Add the lines in the order of `needed_lines`.
#[derive(Debug)]
pub struct RequestBuilder<M> {
    plan: ContextPlan,
    /// The number of plan items already processed.
    processed: usize,
    /// A line that waits for its edit.
    waiting_for_edit: Option<(ContextItem, Vec<u8>)>,
    messages: Vec<SourcedMessage<M>>,
    /// The compaction that contains the full system prompt of its time, including all earlier changes.
    prompt_compaction: Option<Seq>,
}

impl<M: RequestMessage> RequestBuilder<M> {
    pub fn new(plan: ContextPlan) -> RequestBuilder<M> {
        let said = Vec::with_capacity(plan.items.len());
        RequestBuilder { plan, processed: 0, waiting_for_edit: None, messages: said, prompt_compaction: None }
    }

    /// The lines to add, in order.
    pub fn needed_lines(&self) -> Vec<Seq> {
        self.plan.items.iter().flat_map(|item| std::iter::once(item.seq).chain(item.edit)).collect()
    }

    /// Adds the next line. Skip lines that are unavailable.
    pub fn add_line(&mut self, seq: Seq, line: &[u8]) {
        if let Some((item, held)) = self.waiting_for_edit.take() {
            let edit = (item.edit == Some(seq)).then_some(line);
            self.add_messages(item, &held, edit);
            if edit.is_some() {
                return;
            }
        }
        let Some(at) = self.plan.items[self.processed..].iter().position(|item| item.seq == seq) else {
            return;
        };
        let item = self.plan.items[self.processed + at];
        self.processed += at + 1;
        match item.edit {
            Some(_) => self.waiting_for_edit = Some((item, line.to_vec())),
            None => self.add_messages(item, line, None),
        }
    }

    fn add_messages(&mut self, item: ContextItem, line: &[u8], edit: Option<&[u8]>) {
        let Ok(entry) = parse_entry(line) else { return };
        let edit = edit.and_then(|edit| parse_entry(edit).ok());
        if entry.role == MessageRole::System
            && self.prompt_compaction.is_some_and(|compaction| item.seq < compaction)
        {
            return;
        }
        if entry.kind == EntryKind::Compaction && entry.get("systemMessage").is_some_and(RawJson::is_object) {
            self.prompt_compaction = Some(item.seq);
        }
        context::emit_messages(&entry, edit.as_ref(), &mut |message| {
            self.messages.extend(read_message(message).map(|message| (Some(item.seq), message)));
        });
    }

    /// The messages, as they are stored and edited.
    pub fn finish(mut self) -> (ContextPlan, Vec<SourcedMessage<M>>) {
        if let Some((item, held)) = self.waiting_for_edit.take() {
            self.add_messages(item, &held, None);
        }
        (self.plan, self.messages)
    }
}
