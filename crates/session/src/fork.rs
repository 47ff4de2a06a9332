//! Forks: a path of one session becomes the start of another. The source is only read and never held in memory.

use async_trait::async_trait;
use osier_store::{LineBatch, LineSource, LogVersion, Store, StoreError};
use osier_tree::entry::parse_entry;
use osier_tree::fork::ForkWriter;
use osier_tree::{Header, Place, Seq, SessionTree};
use rustc_hash::FxHashMap;

use crate::error::SessionError;
use crate::handle::Session;

/// The lines of a fork, read on demand.
#[derive(Debug)]
pub struct ForkLines<'s> {
    session: &'s Session,
    version: LogVersion,
    /// `None` once everything was read.
    fork: Option<ForkWriter>,
    entries: Vec<Seq>,
    next_index: usize,
    name: Option<String>,
}

impl Session {
    /// The lines of a new session with the path to a position: the same entries, their labels, the settings, and
    /// optionally a name.
    pub fn fork_lines(&self, at: Place, name: Option<&str>) -> ForkLines<'_> {
        let state = self.state();
        let fork = ForkWriter::new(SessionTree::clone(&state.tree), at);
        let (entries, name) = (fork.entries(), name.map(str::to_owned));
        ForkLines { session: self, version: state.version, fork: Some(fork), entries, next_index: 0, name }
    }

    /// The header of a fork in `store`. It has this session as its parent, and the same agent.
    pub async fn fork_header(&self, store: &dyn Store) -> Result<Header, SessionError> {
        let (source, env) = (self.header(), self.env());
        let id = Session::new_session_id(store, env).await?;
        Ok(Header {
            parent_session: self.file().map(|file| file.display().to_string()),
            parent_session_id: Some(source.id.clone()),
            parent_store: Some(self.store().name().to_owned()),
            agent_id: source.agent_id.clone(),
            ..Header::new(id, env.clock.now(), &source.cwd)
        })
    }
}

#[async_trait]
impl LineSource for ForkLines<'_> {
    async fn next_lines(&mut self) -> Result<Vec<Vec<u8>>, StoreError> {
        while let (Some(fork), Some(rest)) =
            (&mut self.fork, self.entries.get(self.next_index..).filter(|rest| !rest.is_empty()))
        {
            let mut batch = LineBatch::default();
            let store = self.session.store();
            store.lines(self.session.key(), self.version.generation, rest, &mut batch).await?;
            let read =
                rest.iter().zip(batch.iter()).filter_map(|(seq, line)| Some((*seq, parse_entry(line).ok()?)));
            let lines: Vec<Vec<u8>> = read.map(|(seq, entry)| fork.line(seq, &entry)).collect();
            self.next_index += batch.len().max(1);
            if !lines.is_empty() {
                return Ok(lines);
            }
        }
        self.tail().await
    }
}

impl ForkLines<'_> {
    /// The lines after the path. Empty at the second call.
    async fn tail(&mut self) -> Result<Vec<Vec<u8>>, StoreError> {
        let Some(fork) = self.fork.take() else { return Ok(Vec::new()) };
        let mut updates: FxHashMap<Seq, Vec<u8>> = FxHashMap::default();
        let keep = |seq, line: &[u8]| {
            updates.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        };
        self.session.for_each_line(self.version, &fork.tail_entries(), keep).await?;
        let env = self.session.env();
        let mint = |taken: &dyn Fn(&str) -> bool| {
            std::iter::repeat_with(|| env.ids.entry()).find(|id| !taken(id)).unwrap_or_default()
        };
        Ok(fork.tail(&updates, self.name.as_deref(), env.clock.now(), mint))
    }
}
