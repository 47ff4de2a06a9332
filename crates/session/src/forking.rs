//! Forks: a path of one session as the beginning of another. The source is only read.

use osier_store::{Store, StoreError};
use osier_tree::{Header, Place, Seq};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::handle::Session;

impl Session {
    /// The lines of a new session with the path to a place: the same entries, their labels, and the settings.
    pub async fn fork_lines(&self, at: Place) -> Result<Vec<Vec<u8>>, Error> {
        let state = self.state();
        let mut lines: FxHashMap<Seq, Vec<u8>> = FxHashMap::default();
        self.each_line(state.version, &state.tree.fork_entries(at), |seq, line| {
            lines.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
        let env = self.env();
        let mint = |taken: &dyn Fn(&str) -> bool| {
            std::iter::repeat_with(|| env.ids.entry()).find(|id| !taken(id)).unwrap_or_default()
        };
        Ok(state.tree.fork(at, &lines, env.clock.now(), mint))
    }

    /// The header of a new session in `store` that begins with a path of this one. It names this one as its parent, and
    /// belongs to the same agent.
    pub async fn fork_header(&self, store: &dyn Store) -> Result<Header, Error> {
        let (source, env) = (self.header(), self.env());
        let id = Session::fresh_id(store, env).await?;
        Ok(Header {
            parent_session: self.file().map(|file| file.display().to_string()),
            parent_session_id: Some(source.id.clone()),
            parent_store: Some(self.store().name().to_owned()),
            agent_id: source.agent_id.clone(),
            ..Header::new(id, env.clock.now(), &source.cwd)
        })
    }
}
