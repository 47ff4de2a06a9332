//! Starts the tries of a prompt. Clients stay at the starting point; when all tries have ended, one move returns the leaf of the
//! log there. If the process dies before, the next agent of the session does it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use osier_agent::AgentError;
use osier_model::{CancellationToken, ModelInfo};
use osier_protocol::explore::{ExploreReport, TryOptions, TryPlace, TryReport, TryStatus};
use osier_protocol::{EntryId, Prompt, SessionRef};
use osier_session::{Commit, Cursor};
use osier_tools::CommandEnv;
use osier_tree::projection::preview::one_line;
use osier_tree::{EntryKind, Place, SessionTree};
use serde_json::json;

use super::explore_folder::{ExploreFolder, FolderLock};
use super::explore_record::{ExploreRecord, TryEnd};
use super::project_copy::{BaseRepository, ProjectRoot};
use super::running_explores::RunningExplore;
use super::try_agent::TryCopy;
use super::try_run::TryRun;
use super::{ExploreConfig, ExploreError, MAX_TRIES, on_other_thread};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_sessions::LiveSession;
use crate::local_client::{LocalClient, error_chain};

/// The length of a prompt in reports, in characters.
const PROMPT_CHARS: usize = 200;

/// The folder of a new explore, with the copies of its tries.
#[derive(Debug)]
struct Prepared {
    folder: ExploreFolder,
    lock: FolderLock,
    record: ExploreRecord,
    /// One for each try; empty if they only read.
    copies: Vec<TryCopy>,
}

impl LocalClient {
    pub(super) async fn start_explore(
        &self,
        prompt: Prompt,
        tries: Vec<TryOptions>,
    ) -> Result<ExploreReport, EngineError> {
        let config = self.explore_config()?.clone();
        if prompt.is_empty() {
            return Err(ExploreError::EmptyPrompt.into());
        }
        if tries.is_empty() || tries.len() > MAX_TRIES {
            return Err(ExploreError::WrongCount { count: tries.len() }.into());
        }
        let models = self.try_models(&tries).await?;
        let session = self.live().session().clone();
        let cursor = self.worker().cursor();
        if cursor.state().busy {
            return Err(AgentError::TurnRunning.into());
        }
        let (state, at) = cursor.state_and_place();
        let start_id = at.map(|seq| state.tree.id(seq).to_entry_id());
        let context = &self.spec().workspace.tool_context;
        let (cwd, env, count) = (context.cwd.clone(), context.env.clone(), tries.len());
        let record = ExploreRecord {
            id: session.new_entry_id(),
            session: SessionRef { store: session.store().name().into(), key: session.key().to_owned() },
            session_id: session.id().to_owned(),
            cwd: cwd.display().to_string(),
            prompt: one_line(&prompt.text, PROMPT_CHARS),
            created: self.engine().now(),
            start_id,
            place: TryPlace::default(),
            project: None,
            running: true,
            started: false,
            tries: count as u32,
            ends: Default::default(),
            kept: None,
            removed: Default::default(),
        };
        let prepared = on_other_thread(move || prepare(&config, record, &cwd, &env)).await;
        let prepared = prepared.map_err(|source| ExploreError::CannotCopy { source })?;
        let Prepared { folder, lock, mut record, copies } = prepared;
        let started = self.start_tries(&folder, &mut record, prompt, &tries, &models, copies, at).await;
        let (running, runs) = match started {
            Ok(started) => started,
            Err(error) => {
                // Some of the tries may be in the log already.
                if let Err(error) = return_leaf(cursor).await {
                    tracing::warn!(
                        explore = record.id,
                        error = error_chain(&error),
                        "cannot return the leaf to the start"
                    );
                }
                if let Err(error) = folder.remove() {
                    tracing::warn!(%error, "cannot remove the copies of tries that did not start");
                }
                return Err(error);
            }
        };
        let report = running.report();
        self.live().explores.insert(&running);
        // Clients show the tries by their events, which are in order.
        running.update(0, |_| {});
        let client = self.clone();
        tokio::spawn(async move {
            let _finished = running.finished.clone().drop_guard();
            join_all(runs.into_iter().map(TryRun::run)).await;
            client.finish_explore(&running, &folder, record, lock).await;
        });
        Ok(report)
    }

    /// The model of each try.
    async fn try_models(&self, tries: &[TryOptions]) -> Result<Vec<Arc<ModelInfo>>, EngineError> {
        let current = self.worker().model_choice().await?.model;
        let catalog = &self.spec().workspace.models;
        let model = |options: &TryOptions| match &options.model {
            None => Ok(current.clone()),
            Some(model) => catalog
                .usable_model(model)
                .map_err(|reason| ExploreError::Model { model: model.clone(), reason }.into()),
        };
        tries.iter().map(model).collect()
    }

    /// Writes the record, and starts a branch for each try.
    #[allow(clippy::too_many_arguments, reason = "all of it is made just before, in one place")]
    async fn start_tries(
        &self,
        folder: &ExploreFolder,
        record: &mut ExploreRecord,
        prompt: Prompt,
        tries: &[TryOptions],
        models: &[Arc<ModelInfo>],
        copies: Vec<TryCopy>,
        at: Place,
    ) -> Result<(Arc<RunningExplore>, Vec<TryRun>), EngineError> {
        folder.write_record(record).map_err(|source| ExploreError::CannotCopy { source })?;
        let session = self.live().session();
        let mut reports = Vec::new();
        let mut cursors = Vec::new();
        for (number, (options, model)) in (1..).zip(tries.iter().zip(models)) {
            let report = TryReport {
                number,
                status: TryStatus::Running,
                model: model.full_name(),
                instructions: options.instructions.clone(),
                place: record.place.clone(),
                folder: copies.get(number as usize - 1).map(|copy| copy.root.display().to_string()),
                ..TryReport::default()
            };
            let cursor = session.new_cursor(at).await?;
            let data = json!({
                "exploreId": record.id,
                "try": number,
                "tries": tries.len(),
                "prompt": record.prompt,
                "model": report.model,
                "instructions": report.instructions,
                "place": report.place,
            });
            let marker = Commit::with_plan(move |view| Ok(Some(view.tree.plan_explore_try(view.at, &data))));
            cursor.commit(marker).await?;
            reports.push(report);
            cursors.push(cursor);
        }
        record.started = true;
        folder.write_record(record).map_err(|source| ExploreError::CannotCopy { source })?;
        let report = ExploreReport {
            id: record.id.clone(),
            prompt: record.prompt.clone(),
            start_id: record.start_id.clone(),
            started_at: Some(record.created),
            tries: reports,
            ..ExploreReport::default()
        };
        let cancels: Vec<CancellationToken> = tries.iter().map(|_| CancellationToken::new()).collect();
        let running = RunningExplore::new(report, cancels.clone(), self.worker().handle());
        let mut copies = copies.into_iter();
        let runs = cursors.into_iter().zip(cancels).zip(tries.iter().zip(models)).zip(1..).map(
            |(((cursor, cancel), (options, model)), number)| TryRun {
                main: self.clone(),
                explore: running.clone(),
                number,
                cursor,
                cancel,
                model: model.clone(),
                prompt: with_instructions(&prompt, options.instructions.as_deref()),
                copy: copies.next(),
                base: folder.base(&self.spec().workspace.tool_context.env, record),
                tests: Default::default(),
                usage: Default::default(),
                counting: Default::default(),
                client: None,
                waits_for_user: false,
            },
        );
        let runs = runs.collect();
        Ok((running, runs))
    }

    /// Returns the leaf of the log to the start, and records that the explore ended.
    async fn finish_explore(
        &self,
        running: &RunningExplore,
        folder: &ExploreFolder,
        record: ExploreRecord,
        lock: FolderLock,
    ) {
        let id = &record.id;
        if let Err(error) = return_leaf(self.worker().cursor()).await {
            tracing::warn!(explore = id, error = error_chain(&error), "cannot return the leaf to the start");
        }
        // A try may have been kept in the meantime.
        let record = folder.record().unwrap_or(record);
        let end = |one: TryReport| (one.number, TryEnd { status: one.status, error: one.error });
        let ends = running.report().tries.into_iter().map(end).collect();
        if let Err(error) = folder.write_record(&ExploreRecord { running: false, ends, ..record.clone() }) {
            tracing::warn!(explore = record.id, %error, "cannot record the end of an explore");
        }
        drop(lock);
        self.live().explores.remove(&record.id);
        running.finished.cancel();
        running.update(0, |_| {});
    }
}

fn with_instructions(prompt: &Prompt, instructions: Option<&str>) -> Prompt {
    match instructions.map(str::trim).filter(|text| !text.is_empty()) {
        None => prompt.clone(),
        Some(instructions) => Prompt { text: format!("{}\n\n{instructions}", prompt.text), ..prompt.clone() },
    }
}

/// Creates the folder, and copies the project for each try.
fn prepare(
    config: &ExploreConfig,
    record: ExploreRecord,
    cwd: &Path,
    env: &Arc<CommandEnv>,
) -> io::Result<Prepared> {
    ExploreFolder::remove_leftovers(&config.worktrees);
    let (folder, lock) = ExploreFolder::create(&config.worktrees, &record)?;
    let copied = copy_project(config, &folder, cwd, env, record.tries);
    let (place, project, copies) = match copied {
        Ok(copied) => copied,
        Err(error) => {
            folder.remove()?;
            return Err(error);
        }
    };
    Ok(Prepared { folder, lock, record: ExploreRecord { place, project, ..record }, copies })
}

/// Where the tries work, and a copy for each of them.
fn copy_project(
    config: &ExploreConfig,
    folder: &ExploreFolder,
    cwd: &Path,
    env: &Arc<CommandEnv>,
    tries: u32,
) -> io::Result<(TryPlace, Option<ProjectRoot>, Vec<TryCopy>)> {
    let read_only = |reason: String| TryPlace::ReadOnly { reason };
    let (place, project) = match ProjectRoot::find(env, cwd) {
        Err(error) => (read_only(format!("git cannot be used here: {error}")), None),
        Ok(project) => {
            let base = BaseRepository::open(env.clone(), &folder.path, project.clone());
            match base.create(config.max_copy_bytes) {
                Ok(Ok(())) if project.is_repository => (TryPlace::Worktree, Some(project)),
                Ok(Ok(())) => (TryPlace::Copy, Some(project)),
                Ok(Err(problem)) => (read_only(problem.0), None),
                Err(error) => return Err(error),
            }
        }
    };
    let mut copies = Vec::new();
    if let Some(project) = &project {
        let base = BaseRepository::open(env.clone(), &folder.path, project.clone());
        for number in 1..=tries {
            let root = base.create_try(number)?;
            copies.push(TryCopy { project: project.clone(), explore: folder.path.clone(), root });
        }
    }
    Ok((place, project, copies))
}

/// Moves the leaf of the log to where a cursor is.
async fn return_leaf(cursor: &Cursor) -> Result<(), EngineError> {
    cursor.commit(Commit::with_plan(|view| Ok(view.tree.plan_move(view.tree.leaf(), view.at)))).await?;
    Ok(())
}

impl Engine {
    /// Moves the leaf back to the start of explores whose process died, if it is still in one of their tries.
    pub(crate) async fn finish_interrupted_explores(&self, live: &LiveSession) -> Result<(), EngineError> {
        let Some(config) = self.config().explore.clone() else { return Ok(()) };
        let session = live.session();
        let id = session.id().to_owned();
        let interrupted = on_other_thread(move || {
            let mut all = ExploreFolder::all(&config.worktrees);
            all.retain(|(_, record)| record.running && record.session_id == id);
            all.into_iter()
                .filter_map(|(folder, record)| {
                    let lock = folder.lock().ok().flatten()?;
                    Some((folder, record, lock))
                })
                .collect::<Vec<_>>()
        });
        for (folder, record, _lock) in interrupted.await {
            // Another process may have started its tries since.
            session.refresh().await?;
            let (cursor, start) = (session.main_cursor(), record.start_id.as_ref());
            let (state, at) = cursor.state_and_place();
            if is_in_try(&state.tree, at, start) {
                cursor.move_to_entry(start.map(EntryId::to_string)).await?;
            } else if is_in_try(&state.tree, state.tree.leaf(), start) {
                return_leaf(&cursor).await?;
            }
            // A copy of the session has its tries too, but the folder belongs to the original.
            if !self.leads_to(&record.session, session.store().name(), session.file()).await? {
                continue;
            }
            if record.started {
                let ended = ExploreRecord { running: false, ..record };
                folder.write_record(&ended).map_err(|source| ExploreError::CannotRead { source })?;
            } else {
                // The process died while it made the copies.
                folder.remove().map_err(|source| ExploreError::CannotRemove { source })?;
            }
        }
        Ok(())
    }
}

/// Whether a place is in a try that started at this entry.
fn is_in_try(tree: &SessionTree, at: Place, start: Option<&EntryId>) -> bool {
    let start = start.and_then(|id| tree.find(id));
    tree.heads().ancestors(at).any(|seq| {
        let head = tree.head(seq);
        head.kind == EntryKind::ExploreTry && tree.same_place(head.parent, start)
    })
}
