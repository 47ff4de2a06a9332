//! Garbage collection: rewrites a log without its deleted branches. The store keeps a backup of the old log.

use osier_session::Session;
use osier_store::{Lease, StoreError};
use osier_tree::gc::GcPlan;
use osier_tree::{Seq, SessionTree};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::reading::read_lines;
use crate::stored::StoredSession;

/// How often to retry if another process appends at the same time.
const MAX_ATTEMPTS: usize = 5;

#[derive(Debug, Clone, Copy, Default)]
pub struct GcOptions {
    /// Only count; change nothing.
    pub dry_run: bool,
    /// Rewrite the log even if another process has the session open.
    pub force: bool,
}

/// Numbers of entries. The `added` ones record the cost of removed entries and the current position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcReport {
    pub removed: usize,
    pub kept: usize,
    pub added: usize,
}

impl Engine {
    /// Removes the deleted branches of a session from its log.
    pub async fn gc(&self, stored: &StoredSession, options: GcOptions) -> Result<GcReport, EngineError> {
        for _ in 0..MAX_ATTEMPTS {
            // A rewritten log must be opened again.
            let store = stored.store.new_instance().unwrap_or_else(|| stored.store.clone());
            let current = StoredSession::read(store, stored.key.clone()).await?;
            match self.try_gc(&current, options).await {
                Err(EngineError::Store(StoreError::Conflict { .. } | StoreError::Replaced)) => {}
                done => return done,
            }
        }
        Err(EngineError::KeepsChanging)
    }

    async fn try_gc(&self, stored: &StoredSession, options: GcOptions) -> Result<GcReport, EngineError> {
        // The session must not be watched: it would count as open.
        let live = self.open_briefly(stored).await?;
        let session = live.session();
        let (tree, version) = (session.tree(), session.version());
        if stored.opened.invalid_lines > 0 || !tree.heads().is_regular() {
            return Err(EngineError::DamagedLog);
        }
        let plan = tree.plan_gc();
        let removed = plan.removed_count();
        let report = GcReport { removed, kept: tree.len() - removed, added: 0 };
        if options.dry_run || removed == 0 {
            return Ok(report);
        }
        let lines = collected_lines(session, &tree, &plan).await?;
        let leases = stored.store.leases(&stored.key).await?;
        if let Some(lease) = leases.into_iter().find(|lease| removes_branch_of(&plan, &tree, lease)) {
            let source = Box::new(StoreError::Leased { lease: Box::new(lease) });
            return Err(EngineError::GcInUse { source, can_force: false });
        }
        let rewritten = match options.force {
            true => stored.store.rewrite_in_use(&stored.key, version, &lines).await,
            false => stored.store.rewrite(&stored.key, version, &lines).await,
        };
        match rewritten {
            Ok(_) => Ok(GcReport { added: lines.len() - report.kept, ..report }),
            Err(StoreError::Busy { id }) => {
                Err(EngineError::GcInUse { source: Box::new(busy_error(stored, id).await), can_force: true })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The lines of the new log.
async fn collected_lines(
    session: &Session,
    tree: &SessionTree,
    plan: &GcPlan,
) -> Result<Vec<Vec<u8>>, EngineError> {
    let seqs: Vec<Seq> = plan.needed_lines().collect();
    let (lines, env) = (read_lines(session, &seqs).await?, session.env());
    tree.gc(plan, &lines, env.clock.now(), || env.ids.entry()).ok_or(EngineError::DamagedLog)
}

/// Whether a collection would remove a branch in which another process runs a turn. Marks in the branch may be removed.
fn removes_branch_of(plan: &GcPlan, tree: &SessionTree, lease: &Lease) -> bool {
    let is_removed = |seq: Seq| !plan.keeps(seq);
    let is_content = |seq: &Seq| is_removed(*seq) && tree.head(*seq).kind.reaches_context();
    let has_content = |first: Seq| {
        let mut later = (first.index()..tree.len()).map(Seq::new).filter(is_content);
        later.any(|seq| tree.heads().is_ancestor(first, Some(seq)))
    };
    let find = |id: &Option<String>| id.as_deref().and_then(|id| tree.find(id));
    find(&lease.entry).is_some_and(is_removed) || find(&lease.branch).is_some_and(has_content)
}

/// The error for a session that is open elsewhere. Names the process that runs a turn, if known.
async fn busy_error(stored: &StoredSession, id: String) -> StoreError {
    let leases = stored.store.leases(&stored.key).await.unwrap_or_default();
    match leases.into_iter().next() {
        Some(lease) => StoreError::Leased { lease: Box::new(lease) },
        None => StoreError::Busy { id },
    }
}
