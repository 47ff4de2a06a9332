//! Exploring: tries of one prompt at the same time, each on its own branch and cursor of the session and in its own copy of the
//! project, until the user keeps one.
//!
//! | file | contents |
//! |---|---|
//! | `start.rs` | starts the tries of a prompt |
//! | `try_run.rs`, `try_agent.rs` | one try: follows its agent; the agent, which cannot leave its copy of the project |
//! | `running_explores.rs` | the tries that run now, for clients that watch or cancel them |
//! | `report.rs`, `compare.rs` | what tries did, from their branches and their files; two of them side by side |
//! | `keep.rs`, `apply.rs` | keeps a try: moves the leaf, merges its changes into the working directory |
//! | `rank.rs` | lets a model rank the tries |
//! | `explore_folder.rs`, `explore_record.rs` | the folder of an explore: its lock, its copies; its record |
//! | `project_copy.rs`, `git.rs` | copies of a project, their differences and merges; running git |

mod apply;
mod compare;
mod explore_folder;
mod explore_record;
mod git;
mod keep;
mod project_copy;
mod rank;
mod report;
pub(crate) mod running_explores;
mod start;
mod try_agent;
mod try_run;

use std::path::PathBuf;

use osier_protocol::explore::{ExploreCommand, ExploreReply, StoredExplore};

use osier_store::StoreError;
use osier_tree::ErrorCode;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::local_client::LocalClient;
use compare::find_try;
use explore_folder::ExploreFolder;
use explore_record::ExploreRecord;

/// How many tries an explore may have.
pub(crate) const MAX_TRIES: usize = 16;

/// Where and how projects are copied.
#[derive(Debug, Clone)]
pub struct ExploreConfig {
    /// The folder of the copies.
    pub worktrees: PathBuf,
    /// How many bytes are copied of files that git does not track.
    pub max_copy_bytes: u64,
}

/// An error of an explore.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    #[error("tries need a folder for their copies of the project, and none is configured")]
    NotConfigured,
    #[error("the prompt is empty")]
    EmptyPrompt,
    #[error("{count} tries are not possible; start 1 to {MAX_TRIES}")]
    WrongCount { count: usize },
    #[error("cannot use the model {model}: {reason}")]
    Model { model: String, reason: String },
    #[error("no explore {} in this session", name.as_deref().unwrap_or("was started"))]
    NotFound { name: Option<String> },
    #[error("no try {number} in explore {explore}")]
    NoTry { explore: String, number: u32 },
    #[error("explore {explore} still runs; wait for its end, or cancel it")]
    Running { explore: String },
    #[error("explore {explore} runs in another process; cancel it there")]
    RunsElsewhere { explore: String },
    #[error("{}explore {explore} is not running", number.map(|number| format!("try {number} of ")).unwrap_or_default())]
    NotRunning { explore: String, number: Option<u32> },
    #[error("{name} could mean {count} explores")]
    Ambiguous { name: String, count: usize },
    #[error("try {number} was kept only in part; keep it again to finish, or remove the copies with --force")]
    UnfinishedKeep { number: u32 },
    #[error("the copy of try {number} was removed, so its changes cannot be merged")]
    NoCopy { number: u32 },
    #[error("cannot keep the try: {} changed in this moment; everything is as before, try again", path.display())]
    ChangedMeanwhile { path: PathBuf },
    #[error("cannot change {}", path.display())]
    CannotChange { path: PathBuf, source: std::io::Error },
    #[error(
        "try {number} was kept only in part, and these files could not be changed back: {paths}; keep it again to finish"
    )]
    NotTakenBack { number: u32, paths: String, source: Box<ExploreError> },
    #[error("cannot copy the project")]
    CannotCopy { source: std::io::Error },
    #[error("cannot read the copies of the project")]
    CannotRead { source: std::io::Error },
    #[error("cannot remove the copies")]
    CannotRemove { source: std::io::Error },
    #[error("cannot rank the tries: {reason}")]
    CannotRank { reason: String },
}

impl ExploreError {
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            ExploreError::EmptyPrompt
            | ExploreError::WrongCount { .. }
            | ExploreError::NotFound { .. }
            | ExploreError::Ambiguous { .. }
            | ExploreError::NoTry { .. } => ErrorCode::Usage,
            ExploreError::NotRunning { .. } => ErrorCode::TaskNotRunning,
            ExploreError::Model { .. } => ErrorCode::ModelNotFound,
            ExploreError::Running { .. } | ExploreError::RunsElsewhere { .. } => ErrorCode::SessionBusy,
            ExploreError::CannotChange { .. }
            | ExploreError::NotTakenBack { .. }
            | ExploreError::CannotCopy { .. }
            | ExploreError::CannotRead { .. }
            | ExploreError::CannotRemove { .. } => ErrorCode::Io,
            ExploreError::NotConfigured
            | ExploreError::UnfinishedKeep { .. }
            | ExploreError::NoCopy { .. }
            | ExploreError::ChangedMeanwhile { .. }
            | ExploreError::CannotRank { .. } => ErrorCode::Failed,
        }
    }
}

impl Engine {
    /// The explores of all sessions, oldest first, also those whose copies were removed.
    pub fn list_explores(&self) -> Vec<StoredExplore> {
        let Some(config) = &self.config().explore else { return Vec::new() };
        let all = ExploreFolder::all(&config.worktrees);
        all.into_iter().map(|(folder, record)| folder.describe(record)).collect()
    }

    /// Removes what processes left that died while they created or removed folders.
    pub(crate) fn remove_explore_leftovers(&self) {
        if let Some(config) = &self.config().explore {
            ExploreFolder::remove_leftovers(&config.worktrees);
        }
    }

    /// Removes the folder of an explore, or the copy of one try, if its session no longer exists. Returns whether it did.
    pub async fn remove_orphaned_explore(
        &self,
        explore: &StoredExplore,
        number: Option<u32>,
    ) -> Result<bool, EngineError> {
        let (Some(config), Some(store)) = (&self.config().explore, self.store(&explore.session.store)) else {
            return Ok(false);
        };
        match store.card(&explore.session.key).await {
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(false),
        }
        let Some(folder) = ExploreFolder::find(&config.worktrees, &explore.id) else { return Ok(true) };
        let lock = folder.lock().map_err(|source| ExploreError::CannotRemove { source })?;
        let _lock = lock.ok_or_else(|| ExploreError::Running { explore: explore.id.clone() })?;
        let removed = match number {
            None => folder.remove(),
            Some(number) if folder.try_folder(number).is_some() => folder.remove_copies(None, Some(number)),
            Some(number) => return Err(ExploreError::NoTry { explore: explore.id.clone(), number }.into()),
        };
        removed.map_err(|source| ExploreError::CannotRemove { source })?;
        Ok(true)
    }
}

impl LocalClient {
    /// Runs a command about tries.
    pub(crate) async fn explore(&self, command: ExploreCommand) -> Result<ExploreReply, EngineError> {
        match command {
            ExploreCommand::Start { prompt, tries } => {
                self.start_explore(prompt, tries).await.map(ExploreReply::Started)
            }
            ExploreCommand::Cancel { explore, number } => {
                self.cancel_tries(explore.as_deref(), number).await?;
                Ok(ExploreReply::Done)
            }
            ExploreCommand::Keep { explore, number } => {
                self.keep_try(explore.as_deref(), number).await.map(ExploreReply::Kept)
            }
            ExploreCommand::Remove { explore, number, force } => {
                self.remove_tries(explore.as_deref(), number, force).await?;
                Ok(ExploreReply::Done)
            }
            ExploreCommand::Rank { explore } => {
                self.rank_tries(explore.as_deref()).await.map(ExploreReply::Ranked)
            }
        }
    }

    fn explore_config(&self) -> Result<&ExploreConfig, ExploreError> {
        self.engine().config().explore.as_ref().ok_or(ExploreError::NotConfigured)
    }

    /// The folder of an explore and its record, if it still exists.
    fn explore_folder(&self, id: &str) -> Option<(ExploreFolder, ExploreRecord)> {
        let folder = ExploreFolder::find(&self.explore_config().ok()?.worktrees, id)?;
        let record = folder.record().ok()?;
        Some((folder, record))
    }

    async fn cancel_tries(&self, explore: Option<&str>, number: Option<u32>) -> Result<(), EngineError> {
        let id = self.find_explore_id(explore).await?;
        // What runs here is canceled at once, without looking at its files.
        let report = match self.live().explores.report(&id) {
            Some(running) => running,
            None => self.find_explore(Some(&id)).await?,
        };
        if let Some(number) = number {
            find_try(&report, number)?;
        }
        if self.live().explores.cancel(&id, number) {
            return Ok(());
        }
        let explore = report.id.clone();
        Err(match report.is_running() {
            true if self.live().explores.report(&report.id).is_none() => {
                ExploreError::RunsElsewhere { explore }
            }
            _ => ExploreError::NotRunning { explore, number },
        }
        .into())
    }

    async fn remove_tries(
        &self,
        explore: Option<&str>,
        number: Option<u32>,
        force: bool,
    ) -> Result<(), EngineError> {
        let report = self.find_explore(explore).await?;
        self.live().explores.wait_for_end(&report).await;
        let Some((folder, _)) = self.explore_folder(&report.id) else { return Ok(()) };
        let lock = folder.lock().map_err(|source| ExploreError::CannotRemove { source })?;
        let _lock = lock.ok_or_else(|| ExploreError::Running { explore: report.id.clone() })?;
        // A keep may have begun, or ended, since it was found. From here on, it does not change.
        let report = self.find_explore(Some(&report.id)).await?;
        if let Some(number) = report.unfinished_keep.filter(|_| !force) {
            return Err(ExploreError::UnfinishedKeep { number }.into());
        }
        if let Some(number) = number {
            find_try(&report, number)?;
        }
        let env = self.spec().workspace.tool_context.env.clone();
        let (base, id) = (self.explore_base(&report.id).filter(|_| force), report.id.clone());
        let removed = on_other_thread(move || {
            if let Some(base) = base {
                keep::recover_interrupted(&base, &id, &folder);
            }
            if force {
                folder.remove_journal()?;
            }
            folder.remove_copies(Some(&env), number)
        })
        .await;
        Ok(removed.map_err(|source| ExploreError::CannotRemove { source })?)
    }
}

/// Runs something that waits for files or processes.
async fn on_other_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // The task is never canceled, so it panicked.
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}
