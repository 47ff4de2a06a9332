//! The tasks of a session that run now, so that clients can steer and cancel them, and see their state when they join.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_model::CancellationToken;
use osier_protocol::subagents::{SubagentProjection, TaskPanel};
use osier_protocol::{ClientCommand, CommandReply, Prompt, PromptTiming};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use super::followed_run::stop_agent;
use crate::error::EngineError;
use crate::local_client::LocalClient;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct RunningTasks {
    running: Mutex<BTreeMap<String, RunningTask>>,
    /// The latest panels of the batches that run, each with its batch.
    panels: Mutex<Vec<(String, TaskPanel)>>,
}

#[derive(Debug)]
struct RunningTask {
    cancel: CancellationToken,
    /// The agent, as soon as it works.
    client: Option<LocalClient>,
    /// Held while a message is sent to the agent.
    sending: Arc<RwLock<()>>,
}

/// An agent that works, and the lock that is held until a message to it is sent.
type WorkingAgent = (LocalClient, OwnedRwLockReadGuard<()>);

/// A registered task. Dropping it removes the task.
#[derive(Debug)]
pub(crate) struct RegisteredTask {
    tasks: Arc<RunningTasks>,
    id: String,
}

impl RunningTasks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, RunningTask>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_panels(&self) -> MutexGuard<'_, Vec<(String, TaskPanel)>> {
        self.panels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_panel(&self, batch: &str, panel: TaskPanel) {
        let mut panels = self.lock_panels();
        match panels.iter_mut().find(|(_, known)| known.key == panel.key) {
            Some((_, known)) => *known = panel,
            None => panels.push((batch.to_owned(), panel)),
        }
    }

    /// Whether a task belongs to a batch that runs here.
    pub(super) fn has_panel(&self, key: &str) -> bool {
        self.lock_panels().iter().any(|(_, known)| known.key == key)
    }

    /// Forgets the panels of a batch that has ended: its entries have them.
    pub(super) fn forget_batch(&self, batch: &str) {
        self.lock_panels().retain(|(of, _)| of != batch);
    }

    /// Puts the latest panels into the batches that run. Their entries know only that they started.
    pub(crate) fn update_panels(&self, batches: &mut [SubagentProjection]) {
        let panels = self.lock_panels();
        for batch in batches.iter_mut().filter(|batch| batch.status == "running") {
            for panel in &mut batch.task_panels {
                if let Some((_, latest)) = panels.iter().find(|(_, known)| known.key == panel.key) {
                    panel.clone_from(latest);
                }
            }
        }
    }

    pub(super) fn register(self: &Arc<RunningTasks>, id: &str, cancel: CancellationToken) -> RegisteredTask {
        self.lock().insert(id.to_owned(), RunningTask { cancel, client: None, sending: Arc::default() });
        RegisteredTask { tasks: self.clone(), id: id.to_owned() }
    }

    /// Cancels a task, or all. Their results say that they were canceled.
    pub(crate) fn cancel(&self, task: Option<&str>) -> Result<CommandReply, EngineError> {
        let tasks = self.lock();
        match task {
            Some(id) => tasks.get(id).ok_or_else(|| unknown(id))?.cancel.cancel(),
            None if tasks.is_empty() => return Err(EngineError::NoTaskRuns),
            None => tasks.values().for_each(|task| task.cancel.cancel()),
        }
        Ok(CommandReply::Done)
    }

    /// Sends a message to the agent of a task, or to all that work.
    pub(crate) async fn steer(&self, task: Option<&str>, text: &str) -> Result<CommandReply, EngineError> {
        let agents = self.working_agents(task);
        if agents.is_empty() {
            return Err(task.map_or(EngineError::NoTaskRuns, unknown));
        }
        let mut reply = CommandReply::Done;
        for (client, _sending) in agents {
            let prompt = ClientCommand::timed_prompt(Prompt::text(text), PromptTiming::Steer);
            reply = client.worker().send(prompt).await?;
        }
        Ok(reply)
    }

    /// The agent of a task, or all agents that work.
    fn working_agents(&self, task: Option<&str>) -> Vec<WorkingAgent> {
        let tasks = self.lock();
        let wanted = tasks.iter().filter(|(id, _)| task.is_none_or(|task| task == *id));
        let agent =
            |task: &RunningTask| Some((task.client.clone()?, task.sending.clone().try_read_owned().ok()?));
        wanted.filter_map(|(_, task)| agent(task)).collect()
    }
}

fn unknown(task: &str) -> EngineError {
    EngineError::TaskNotRunning { task: task.to_owned() }
}

impl RegisteredTask {
    pub(super) fn set_client(&self, client: LocalClient) {
        if let Some(task) = self.tasks.lock().get_mut(&self.id) {
            task.client = Some(client);
        }
    }

    /// The agent gets no more messages. Waits for those that are being sent.
    pub(super) async fn clear_client(&self) {
        // The client must be dropped outside the lock.
        let ended =
            self.tasks.lock().get_mut(&self.id).map(|task| (task.client.take(), task.sending.clone()));
        if let Some((client, sending)) = ended {
            drop(client);
            drop(sending.write().await);
        }
    }

    /// Stops the agent, if it works already. Does not wait for it.
    pub(super) fn stop(&self) {
        let client = self.tasks.lock().get(&self.id).and_then(|task| task.client.clone());
        if let Some(client) = client {
            stop_agent(&client);
        }
    }
}

impl Drop for RegisteredTask {
    fn drop(&mut self) {
        // The client must be dropped outside the lock.
        let removed = self.tasks.lock().remove(&self.id);
        drop(removed);
    }
}

#[cfg(all(test, feature = "contract"))]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::contract_engine::ContractEngine;

    #[tokio::test]
    async fn an_agent_ends_only_after_the_messages_that_are_being_sent() {
        let engine = ContractEngine::new().await;
        let tasks = Arc::new(RunningTasks::default());
        let registered = tasks.register("t", CancellationToken::new());
        registered.set_client(engine.connect().await.unwrap());
        let sending = tasks.working_agents(None);
        assert_eq!(sending.len(), 1);
        let mut ending = Box::pin(registered.clear_client());
        assert!(ending.as_mut().now_or_never().is_none(), "a message is being sent");
        let late = tasks.steer(Some("t"), "too late").await;
        assert!(matches!(late, Err(EngineError::TaskNotRunning { .. })), "{late:?}");
        drop(sending);
        ending.await;
    }
}
