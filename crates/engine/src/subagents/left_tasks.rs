//! The tasks of a batch that does not run in this process: one that a process left when it died, or that another process runs. The
//! batch only says that they started. What they did is in their own sessions, which are read here.

use osier_protocol::subagents::{SubagentProjection, TaskPanel};
use osier_session::Session;

use super::child::is_child;
use super::followed_run::RunEnd;
use super::record::TaskRecord;
use super::task_run::read_child;
use crate::engine::Engine;
use crate::live_sessions::LiveSession;

/// The states of a batch and of a task without an end.
const OPEN: [&str; 3] = ["queued", "running", "interrupted"];

impl Engine {
    /// Adds what the tasks of open batches do and did to their panels.
    pub(crate) async fn add_task_states(&self, live: &LiveSession, batches: &mut [SubagentProjection]) {
        live.tasks.update_panels(batches);
        for batch in batches.iter_mut().filter(|batch| OPEN.contains(&batch.status.as_str())) {
            for panel in batch.task_panels.iter_mut().filter(|panel| OPEN.contains(&panel.status.as_str())) {
                if !live.tasks.has_panel(&panel.key) {
                    self.read_left_task(live.session(), panel).await;
                }
            }
            batch.usage = batch.task_panels.iter().map(|panel| &panel.usage).sum();
        }
    }

    async fn read_left_task(&self, parent: &Session, panel: &mut TaskPanel) {
        let Some(id) = &panel.session_id else { return };
        let store = self.child_store(parent);
        // It may not have started.
        let Ok(child) = self.open_briefly_at(store.name(), id).await else { return };
        if !is_child(child.session().header(), parent, None) {
            return;
        }
        let Ok(Some((path, usage))) = read_child(&child).await else { return };
        let record = TaskRecord::from_path(&panel.task_id, &path.entries);
        (panel.turns, panel.tool_calls, panel.usage) = (record.turns, record.tool_calls, usage);
        panel.started_at = record.first_time;
        if let Some(end) = record.end(&path) {
            panel.status = end.status().to_owned();
            panel.ended_at = record.last_time;
            if let RunEnd::Failed(problem) = end {
                panel.error = Some(problem);
            }
        }
        panel.summary = record.summary;
    }
}
