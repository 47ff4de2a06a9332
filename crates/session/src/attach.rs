//! What a client receives when it attaches: everything since its last state, as one consistent snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use osier_store::Version;
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::{Head, Id, Role, Seq};

use crate::draft::OpenDraft;
use crate::error::Error;
use crate::event::Events;
use crate::handle::Session;
use crate::state::State;

/// How far above a tool result its call is searched. No message has this many calls.
const CALL_NEARBY: usize = 256;

/// An attached client. Entries up to `state.version` are in `state`; all later ones arrive as events, each once.
#[derive(Debug)]
pub struct Attached {
    pub state: Arc<State>,
    /// The index of the first entry that is new to the client.
    pub since: usize,
    /// Whether the client's state belongs to another log, so that it must start from scratch.
    pub reset: bool,
    pub drafts: Vec<OpenDraft>,
    pub events: Events,
}

impl Attached {
    pub(crate) fn new(
        state: Arc<State>,
        after: Option<Version>,
        drafts: Vec<OpenDraft>,
        events: Events,
    ) -> Attached {
        let now = state.version;
        let is_earlier = |after: &Version| after.generation == now.generation && after.entries <= now.entries;
        let reset = after.is_some_and(|after| !is_earlier(&after));
        let since = after.filter(is_earlier).map_or(0, |after| after.entries);
        Attached { state, since, reset, drafts, events }
    }

    /// The entries that are new to the client, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = (Seq, Id<'_>, &Head)> {
        let tree = &self.state.tree;
        tree.heads().from(self.since).map(|(seq, head)| (seq, tree.id(seq), head))
    }

    /// One line of text for each of these entries. Stored lines never change, so this does not involve the writer.
    /// `home` is the user's home folder, shown as `~`.
    pub async fn previews(&self, session: &Session, home: Option<&str>) -> Result<Vec<String>, Error> {
        let new = self.entries().map(|(seq, ..)| seq);
        let wanted: Vec<Seq> = self.calls_before().into_iter().chain(new).collect();
        let mut previews = Previews::new(home);
        let mut texts = Vec::with_capacity(wanted.len());
        session
            .each_line(self.state.version, &wanted, |seq, line| {
                let text = read_entry(line).map(|entry| previews.preview(&entry)).unwrap_or_default();
                texts.extend(Some(text).filter(|_| seq.index() >= self.since));
                Ok::<_, Error>(())
            })
            .await?;
        Ok(texts)
    }

    /// Older entries with the tool calls of new results.
    fn calls_before(&self) -> BTreeSet<Seq> {
        let tree = &self.state.tree;
        let results = self.entries().filter(|(_, _, head)| head.role == Role::ToolResult);
        let calls = results.filter_map(|(_, _, head)| {
            tree.heads().up(head.parent).take(CALL_NEARBY).find(|seq| tree.head(*seq).role == Role::Assistant)
        });
        calls.filter(|seq| seq.index() < self.since).collect()
    }
}
