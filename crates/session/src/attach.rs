//! What a client receives when it attaches: everything since its last state, as one consistent snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use osier_store::LogVersion;
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::{EntryIdRef, Head, MessageRole, Seq, SessionTree};

use crate::draft::OpenDraft;
use crate::error::SessionError;
use crate::event::SessionEvents;
use crate::handle::Session;
use crate::state::SessionState;

/// How far above a tool result its call is searched. No message has this many calls.
const MAX_CALL_DISTANCE: usize = 256;

/// An attached client. Entries up to `state.version` are in `state`; all later ones arrive as events, each once.
#[derive(Debug)]
pub struct Attached {
    pub state: Arc<SessionState>,
    /// The index of the first entry that is new to the client.
    pub since: usize,
    /// Whether the client's state belongs to another log, so that it must start from scratch.
    pub reset: bool,
    pub drafts: Vec<OpenDraft>,
    pub events: SessionEvents,
}

impl Attached {
    pub(crate) fn new(
        state: Arc<SessionState>,
        after: Option<LogVersion>,
        drafts: Vec<OpenDraft>,
        events: SessionEvents,
    ) -> Attached {
        let now = state.version;
        let is_earlier =
            |after: &LogVersion| after.generation == now.generation && after.entries <= now.entries;
        let reset = after.is_some_and(|after| !is_earlier(&after));
        let since = after.filter(is_earlier).map_or(0, |after| after.entries);
        Attached { state, since, reset, drafts, events }
    }

    /// The entries that are new to the client, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = (Seq, EntryIdRef<'_>, &Head)> {
        let tree = &self.state.tree;
        tree.heads().iter_from(self.since).map(|(seq, head)| (seq, tree.id(seq), head))
    }

    /// One line of text for each of these entries. Stored lines never change, so this does not involve the writer.
    /// `home` is the user's home folder, shown as `~`.
    pub async fn previews(&self, session: &Session, home: Option<&str>) -> Result<Vec<String>, SessionError> {
        let new = self.entries().map(|(seq, ..)| seq);
        let seqs: Vec<Seq> = self.earlier_calls().into_iter().chain(new).collect();
        let mut previews = Previews::new(home);
        let mut texts = Vec::with_capacity(seqs.len());
        session
            .for_each_line(self.state.version, &seqs, |seq, line| {
                let text = parse_entry(line).map(|entry| previews.preview(&entry)).unwrap_or_default();
                texts.extend(Some(text).filter(|_| seq.index() >= self.since));
                Ok::<_, SessionError>(())
            })
            .await?;
        Ok(texts)
    }

    /// Older entries with the tool calls of new results.
    fn earlier_calls(&self) -> BTreeSet<Seq> {
        let calls = self.entries().filter_map(|(seq, ..)| message_with_call(&self.state.tree, seq));
        calls.filter(|seq| seq.index() < self.since).collect()
    }
}

/// The message with the call of a tool result.
pub(crate) fn message_with_call(tree: &SessionTree, result: Seq) -> Option<Seq> {
    let head = Some(tree.head(result)).filter(|head| head.role == MessageRole::ToolResult)?;
    let mut above = tree.heads().ancestors(head.parent).take(MAX_CALL_DISTANCE);
    above.find(|seq| tree.head(*seq).role == MessageRole::Assistant)
}
