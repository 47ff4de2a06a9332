//! The tasks of a session that run now, so that clients can steer and cancel them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_model::CancellationToken;
use osier_protocol::{ClientCommand, CommandReply, Prompt, PromptTiming};

use crate::error::EngineError;
use crate::local_client::LocalClient;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct RunningTasks(Mutex<BTreeMap<String, RunningTask>>);

#[derive(Debug)]
struct RunningTask {
    cancel: CancellationToken,
    /// The agent, as soon as it works.
    client: Option<LocalClient>,
}

/// A registered task. Dropping it removes the task.
#[derive(Debug)]
pub(super) struct RegisteredTask {
    tasks: Arc<RunningTasks>,
    id: String,
}

impl RunningTasks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, RunningTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn register(self: &Arc<RunningTasks>, id: &str, cancel: CancellationToken) -> RegisteredTask {
        self.lock().insert(id.to_owned(), RunningTask { cancel, client: None });
        RegisteredTask { tasks: self.clone(), id: id.to_owned() }
    }

    /// Cancels a task, or all. Their results say that they were canceled.
    pub(crate) fn cancel(&self, task: Option<&str>) -> Result<CommandReply, EngineError> {
        let tasks = self.lock();
        match task {
            Some(id) => tasks.get(id).ok_or_else(|| unknown(id))?.cancel.cancel(),
            None => tasks.values().for_each(|task| task.cancel.cancel()),
        }
        Ok(CommandReply::Done)
    }

    /// Sends a message to the agent of a task.
    pub(crate) async fn steer(&self, task: &str, text: String) -> Result<CommandReply, EngineError> {
        let client =
            self.lock().get(task).and_then(|task| task.client.clone()).ok_or_else(|| unknown(task))?;
        let prompt = ClientCommand::timed_prompt(Prompt::text(text), PromptTiming::Steer);
        Ok(client.worker().send(prompt).await?)
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
}

impl Drop for RegisteredTask {
    fn drop(&mut self) {
        // The client must be dropped outside the lock.
        let removed = self.tasks.lock().remove(&self.id);
        drop(removed);
    }
}
