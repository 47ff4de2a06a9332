//! The tries of a session that run now, so that clients can watch and cancel them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_agent::AgentHandle;
use osier_model::CancellationToken;
use osier_protocol::ClientEvent;
use osier_protocol::explore::{ExploreReport, TryReport, TryStatus};

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct RunningExplores(Mutex<BTreeMap<String, Arc<RunningExplore>>>);

/// An explore whose tries run.
#[derive(Debug)]
pub(super) struct RunningExplore {
    report: Mutex<ExploreReport>,
    /// One for each try.
    cancels: Vec<CancellationToken>,
    /// The agent whose clients learn what happens.
    agent: AgentHandle,
    /// Canceled when its tries have ended, the leaf is back at the start, and nobody works in its folder any more.
    pub(super) finished: CancellationToken,
}

impl RunningExplores {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<RunningExplore>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, explore: &Arc<RunningExplore>) {
        self.lock().insert(explore.report().id, explore.clone());
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    /// The explore as it is now, if it runs.
    pub(super) fn report(&self, id: &str) -> Option<ExploreReport> {
        self.lock().get(id).map(|running| running.report())
    }

    /// Waits until an explore whose tries have ended leaves its folder. Returns at once if its tries still run.
    pub(super) async fn wait_for_end(&self, report: &ExploreReport) {
        let ending = self.lock().get(&report.id).filter(|_| !report.is_running()).cloned();
        if let Some(ending) = ending {
            ending.finished.cancelled().await;
        }
    }

    /// Cancels all tries.
    pub(crate) fn cancel_all(&self) {
        self.lock().values().flat_map(|running| &running.cancels).for_each(CancellationToken::cancel);
    }

    /// Waits until no explore runs any more.
    pub(crate) async fn wait_for_all(&self) {
        let all: Vec<Arc<RunningExplore>> = self.lock().values().cloned().collect();
        for running in all {
            running.finished.cancelled().await;
        }
    }

    /// Cancels a try of an explore, or all. Returns whether one of them runs here.
    pub(super) fn cancel(&self, id: &str, number: Option<u32>) -> bool {
        let Some(running) = self.lock().get(id).cloned() else { return false };
        let report = running.report();
        let is_meant = |one: &&TryReport| {
            one.status == TryStatus::Running && number.is_none_or(|number| number == one.number)
        };
        let cancels = report
            .tries
            .iter()
            .filter(is_meant)
            .filter_map(|one| running.cancels.get(one.number as usize - 1));
        cancels.map(CancellationToken::cancel).count() > 0
    }
}

impl RunningExplore {
    pub(super) fn new(
        report: ExploreReport,
        cancels: Vec<CancellationToken>,
        agent: AgentHandle,
    ) -> Arc<RunningExplore> {
        let finished = CancellationToken::new();
        Arc::new(RunningExplore { report: Mutex::new(report), cancels, agent, finished })
    }

    pub(super) fn report(&self) -> ExploreReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes what is known of a try, and tells the clients.
    pub(super) fn update(&self, number: u32, change: impl FnOnce(&mut TryReport)) {
        let report = {
            let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(one) = report.tries.iter_mut().find(|one| one.number == number) {
                change(one);
            }
            report.clone()
        };
        self.agent.send_event(ClientEvent::Explore { report: Box::new(report) });
    }
}
