//! Some entries with their rows of a tree view. The cost depends on the number of entries, not on the length of the log, and
//! what is returned is bounded.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use osier_protocol::{EntryId, EntryLine, TreeRow, TreeSnapshot};
use osier_tree::projection::preview::EntryPreviews;
use osier_tree::{MessageRole, Seq, SessionTree};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::queries::entries::end_of_path;
use crate::stored::StoredSession;

/// How many bytes of entries are returned. A larger entry is returned alone.
const MAX_BYTES: usize = 16 << 20;

/// Which entries to show.
#[derive(Debug, Clone, Copy)]
pub enum ShownEntries<'a> {
    /// Those with these ids, in this order, each once. Unknown ids are left out.
    Ids(&'a [&'a str]),
    /// The last entries of the path, at most this many.
    LastOfPath(usize),
}

/// Entries of one state of a session.
#[derive(Debug)]
pub struct EntryRows {
    pub entries: Vec<EntryRow>,
    pub leaf_id: Option<EntryId>,
    /// The number of entries of the path before the first one; 0 if people read none of those, or if the entries were named.
    pub hidden_entries: usize,
    /// Named entries that did not fit, in their order. Ask for them again.
    pub omitted: Vec<EntryId>,
}

/// An entry and its row.
#[derive(Debug)]
pub struct EntryRow {
    pub row: TreeRow,
    pub line: EntryLine,
}

impl Engine {
    pub async fn entry_rows(
        &self,
        stored: &StoredSession,
        shown: ShownEntries<'_>,
    ) -> Result<EntryRows, EngineError> {
        let live = self.open_briefly(stored).await?;
        let (session, (state, leaf)) = (live.session(), live.session().main_cursor().state_and_place());
        let tree = &state.tree;
        let (seqs, above) = match shown {
            ShownEntries::Ids(ids) => (find_all(tree, ids), 0),
            ShownEntries::LastOfPath(count) => end_of_path(tree, leaf, Some(count)),
        };
        let mut lines = FittingLines::new(matches!(shown, ShownEntries::LastOfPath(_)));
        let read = |seq: Seq, line: &[u8]| -> Result<(), EngineError> {
            lines.add(seq, line);
            Ok(())
        };
        session.for_each_current_line(&state, &seqs, read).await?;
        let FittingLines { lines, omitted, keeps_last, .. } = lines.without_leading_results(tree);
        let seqs: Vec<Seq> = lines.iter().map(|(seq, _)| *seq).collect();
        let previews = Arc::new(SomePreviews(session.previews_of(&state, &seqs).await?));
        let snapshot = TreeSnapshot::new(tree.clone(), leaf, previews).partial(true);
        let entries =
            lines.into_iter().map(|(seq, line)| EntryRow { row: snapshot.row(seq), line }).collect();
        let (leaf_id, ids) = (leaf.map(|seq| snapshot.id(seq)), |seq: &Seq| snapshot.id(*seq));
        Ok(match keeps_last {
            true => {
                let hidden_entries = omitted.last().map_or(above, |seq| tree.head(*seq).depth as usize + 1);
                EntryRows { entries, leaf_id, hidden_entries, omitted: Vec::new() }
            }
            false => {
                let omitted = omitted.iter().map(ids).collect();
                EntryRows { entries, leaf_id, hidden_entries: 0, omitted }
            }
        })
    }
}

fn find_all(tree: &SessionTree, ids: &[&str]) -> Vec<Seq> {
    let mut seen = FxHashSet::default();
    ids.iter().filter_map(|id| tree.find(id)).filter(|seq| seen.insert(*seq)).collect()
}

/// As many lines as fit, at least one.
#[derive(Debug)]
struct FittingLines {
    lines: VecDeque<(Seq, EntryLine)>,
    bytes: usize,
    /// Keep the last lines instead of the first ones.
    keeps_last: bool,
    omitted: Vec<Seq>,
}

impl FittingLines {
    fn new(keeps_last: bool) -> FittingLines {
        FittingLines { lines: VecDeque::new(), bytes: 0, keeps_last, omitted: Vec::new() }
    }

    fn add(&mut self, seq: Seq, line: &[u8]) {
        let is_full = !self.lines.is_empty() && self.bytes + line.len() > MAX_BYTES;
        if !self.keeps_last && (is_full || !self.omitted.is_empty()) {
            return self.omitted.push(seq);
        }
        self.bytes += line.len();
        self.lines.push_back((seq, EntryLine::from(line)));
        while self.bytes > MAX_BYTES && self.lines.len() > 1 {
            self.omit_first();
        }
    }

    fn omit_first(&mut self) {
        if let Some((seq, line)) = self.lines.pop_front() {
            self.bytes -= line.bytes().len();
            self.omitted.push(seq);
        }
    }

    /// A tool result is read with its call.
    fn without_leading_results(mut self, tree: &SessionTree) -> FittingLines {
        let is_result = |lines: &VecDeque<(Seq, EntryLine)>| {
            lines.len() > 1 && tree.head(lines[0].0).role == MessageRole::ToolResult
        };
        while self.keeps_last && !self.omitted.is_empty() && is_result(&self.lines) {
            self.omit_first();
        }
        self
    }
}

/// The previews of some entries.
#[derive(Debug)]
pub(crate) struct SomePreviews(pub(crate) FxHashMap<Seq, String>);

impl EntryPreviews for SomePreviews {
    fn get(&self, seq: Seq) -> Cow<'_, str> {
        Cow::Borrowed(self.0.get(&seq).map_or("", String::as_str))
    }
}
