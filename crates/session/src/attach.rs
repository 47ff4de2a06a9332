//! What a client gets when it attaches: everything since it last looked, taken in one moment.

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

/// How far above a tool's result its call is looked for. A message makes fewer calls than that.
const CALL_NEARBY: usize = 256;

/// See the module. Entries up to `state.version` are in `state`; all later ones come as events, none twice.
#[derive(Debug)]
pub struct Attached {
    pub state: Arc<State>,
    /// The place in the log from which on entries are new to the client.
    pub since: usize,
    /// What the client had is of another log: it starts from nothing.
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
        let goes_on = |after: &Version| after.generation == now.generation && after.entries <= now.entries;
        let reset = after.is_some_and(|after| !goes_on(&after));
        let since = after.filter(goes_on).map_or(0, |after| after.entries);
        Attached { state, since, reset, drafts, events }
    }

    /// The entries that are new to the client, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = (Seq, Id<'_>, &Head)> {
        let tree = &self.state.tree;
        tree.heads().from(self.since).map(|(seq, head)| (seq, tree.id(seq), head))
    }

    /// One line of text for each of these entries. Lines never change, so this costs the writer nothing and misses nothing.
    /// `home` is the user's home folder, which is written `~`.
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

    /// Older entries with the calls that new ones answer.
    fn calls_before(&self) -> BTreeSet<Seq> {
        let tree = &self.state.tree;
        let results = self.entries().filter(|(_, _, head)| head.role == Role::ToolResult);
        let calls = results.filter_map(|(_, _, head)| {
            tree.heads().up(head.parent).take(CALL_NEARBY).find(|seq| tree.head(*seq).role == Role::Assistant)
        });
        calls.filter(|seq| seq.index() < self.since).collect()
    }
}
