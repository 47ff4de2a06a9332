//! One try: starts its agent on its own cursor, follows it, and reports what it does.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use osier_agent::AgentBudget;
use osier_model::{CancellationToken, ModelInfo};
use osier_protocol::entry_view::{EntryContent, MessageView, ReplyBlockView};
use osier_protocol::{Client, ClientCommand, ClientEvent, EntryId, Prompt, PromptTiming};
use osier_session::Cursor;
use osier_tree::projection::preview::one_line;
use osier_tree::projection::usage::UsageTotals;

use tokio::sync::Mutex;

use super::on_other_thread;
use super::project_copy::BaseRepository;
use super::report::{is_test, try_end};
use super::running_explores::RunningExplore;
use super::try_agent::{TryCopy, try_spec};
use crate::followed_events::FollowedEvents;
use crate::local_client::{LocalClient, error_chain};
use crate::subagents::followed_run::{FollowedRun, RunEnd, RunObserver, UsageSoFar, WAITS_FOR_USER};
use crate::subagents::record::call_label;

/// The length of the last words and the activity, in characters.
pub(super) const WORDS_CHARS: usize = 200;

/// A try that is about to run.
#[derive(Debug)]
pub(super) struct TryRun {
    /// The client of the session, whose clients answer questions.
    pub(super) main: LocalClient,
    pub(super) explore: Arc<RunningExplore>,
    pub(super) number: u32,
    pub(super) cursor: Cursor,
    pub(super) cancel: CancellationToken,
    pub(super) model: Arc<ModelInfo>,
    pub(super) prompt: Prompt,
    /// `None` if it only reads.
    pub(super) copy: Option<TryCopy>,
    pub(super) base: Option<BaseRepository>,
    /// The calls that run tests now.
    pub(super) tests: BTreeSet<String>,
    pub(super) usage: UsageSoFar,
    /// Held while the changed files are counted.
    pub(super) counting: Arc<Mutex<()>>,
    /// Its agent, as soon as it works.
    pub(super) client: Option<LocalClient>,
    pub(super) waits_for_user: bool,
}

impl TryRun {
    /// Reports the end of the try as soon as nobody waits for its agent any more. Returns when the agent has ended.
    pub(super) async fn run(mut self) {
        let end = match self.work().await {
            Ok(end) => end,
            Err(problem) => RunEnd::Failed(problem),
        };
        let files = self.count_files().await;
        let tip = self.tip();
        tracing::debug!(number = self.number, status = end.status(), "a try ended");
        self.explore.update(self.number, |report| {
            report.tip_id = tip;
            report.activity = None;
            report.files_changed = files.unwrap_or(report.files_changed);
            (report.status, report.error) = try_end(end);
        });
        // A tool that does not listen may still work, and its result belongs to the try.
        if let Some(client) = &self.client {
            client.worker().wait_until_idle().await;
        }
        let tip = self.tip();
        self.explore.update(self.number, |report| report.tip_id = tip);
    }

    fn tip(&self) -> Option<EntryId> {
        let (state, at) = self.cursor.state_and_place();
        at.map(|seq| state.tree.id(seq).to_entry_id())
    }

    async fn work(&mut self) -> Result<RunEnd, String> {
        let (main, model, copy) = (self.main.clone(), self.model.clone(), self.copy.clone());
        let spec = main.spec().clone();
        let tools = main.worker().config().tools.clone();
        let spec = on_other_thread(move || try_spec(&spec, tools, model, copy.as_ref())).await;
        let client = main.engine().start_agent(main.live(), self.cursor.clone(), &spec).await;
        let client = client.map_err(|error| error_chain(&error))?;
        let attached = FollowedEvents::attach(Arc::new(client.clone())).await;
        let (_, events) = attached.map_err(|error| error.message)?;
        let cancel = self.cancel.clone();
        if cancel.is_cancelled() {
            return Ok(RunEnd::Cancelled);
        }
        let prompt = ClientCommand::timed_prompt(self.prompt.clone(), PromptTiming::Now);
        client.send(prompt).await.map_err(|error| error.message)?;
        self.client = Some(client.clone());
        let parent = main.worker().handle();
        let run = FollowedRun {
            client: &client,
            parent: &parent,
            asker: format!("try {}", self.number),
            budget: AgentBudget::default(),
            time_spent: Duration::ZERO,
            cancel: &cancel,
            registered: None,
        };
        Ok(run.follow(events, self).await)
    }

    /// How many files differ from the start. `None` if that cannot be known.
    async fn count_files(&self) -> Option<usize> {
        let _counting = self.counting.lock().await;
        count_files(self.base.clone()?, self.number).await
    }

    /// Counts the changed files in the background. Stores nothing: a try may write a lot that it removes again.
    fn update_files(&self) {
        let Some(base) = self.base.clone() else { return };
        // What changes during a count is counted after the next call.
        let Ok(counting) = self.counting.clone().try_lock_owned() else { return };
        let (explore, number) = (self.explore.clone(), self.number);
        tokio::spawn(async move {
            match on_other_thread(move || base.count_changes(number)).await {
                Ok(count) => explore.update(number, |report| report.files_changed = count),
                Err(error) => tracing::debug!(%error, number, "cannot count the changed files of a try"),
            }
            drop(counting);
        });
    }
}

async fn count_files(base: BaseRepository, number: u32) -> Option<usize> {
    let count = move || base.changes(&base.base_tree()?, &base.try_tree(number)?);
    match on_other_thread(count).await {
        Ok(changes) => Some(changes.len()),
        Err(error) => {
            tracing::debug!(%error, number, "cannot count the changed files of a try");
            None
        }
    }
}

impl RunObserver for TryRun {
    fn note(&mut self, event: &ClientEvent) {
        self.usage.note(event);
        match event {
            ClientEvent::Entry(entry) if !entry.off_path => {
                let Some(EntryContent::Message(MessageView::Assistant(reply))) =
                    entry.entry.view().map(|view| &view.content)
                else {
                    return;
                };
                let texts = reply.blocks.iter().filter_map(|block| match block {
                    ReplyBlockView::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                let (text, usage) = (texts.collect::<String>(), self.usage.total());
                self.explore.update(self.number, |report| {
                    report.usage = usage;
                    report.activity = None;
                    if !text.trim().is_empty() {
                        report.last_words = one_line(&text, WORDS_CHARS);
                    }
                });
            }
            ClientEvent::ToolStarted { name, arguments, call } => {
                let label = call_label(name, arguments);
                let is_test = is_test(name, arguments);
                if is_test {
                    self.tests.insert(call.clone());
                }
                self.explore.update(self.number, |report| {
                    report.activity = Some(one_line(&format!("{name} {label}"), WORDS_CHARS));
                    report.tests_run += usize::from(is_test);
                });
            }
            ClientEvent::ToolEnded { call, is_error } => {
                let failed = self.tests.remove(call) && *is_error;
                self.explore.update(self.number, |report| {
                    report.activity = None;
                    report.tests_failed += usize::from(failed);
                });
                self.update_files();
            }
            ClientEvent::SubagentTask { .. } => {
                let usage = self.usage.total();
                self.explore.update(self.number, |report| report.usage = usage);
            }
            ClientEvent::Retrying { message, .. } => {
                let text = one_line(&format!("retrying: {message}"), WORDS_CHARS);
                self.explore.update(self.number, |report| report.activity = Some(text));
            }
            _ => {}
        }
    }

    fn note_questions(&mut self, are_open: bool) {
        if are_open != self.waits_for_user {
            self.waits_for_user = are_open;
            let activity = are_open.then(|| WAITS_FOR_USER.to_owned());
            self.explore.update(self.number, |report| report.activity = activity);
        }
    }

    fn usage(&self) -> UsageTotals {
        self.usage.total()
    }

    fn turns(&self) -> u64 {
        // It has no budget.
        0
    }
}
