//! Programs that lead a process group, with everything that they started.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, getpgid, kill_process_group};
use tokio::process::Child;

use super::screen::ExtensionPlace;

/// The group of a program. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Option<Pid>,
    registered: Option<Arc<ProgramGroups>>,
}

impl ProcessGroup {
    /// `None` if the child does not lead a group, or has ended.
    pub(super) fn led_by(child: &Child) -> Option<ProcessGroup> {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)?;
        let leads = getpgid(Some(leader)) == Ok(leader);
        leads.then_some(ProcessGroup { leader: Some(leader), registered: None })
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // It may have ended.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Lets what is left of the group run on.
    pub(super) fn release(mut self) {
        self.unregister();
        self.leader = None;
    }

    fn unregister(&mut self) {
        if let (Some(groups), Some(leader)) = (self.registered.take(), self.leader) {
            groups.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&leader);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.unregister();
        self.signal(Signal::KILL);
    }
}

/// The groups that extensions started. They can be killed at once, when nobody waits for tasks any more.
#[derive(Debug, Default)]
pub(super) struct ProgramGroups(Mutex<HashMap<Pid, ExtensionPlace>>);

impl ProgramGroups {
    /// The group of a program of an extension.
    pub(super) fn add(
        self: &Arc<ProgramGroups>,
        place: ExtensionPlace,
        child: &Child,
    ) -> Option<ProcessGroup> {
        let mut group = ProcessGroup::led_by(child)?;
        if let Some(leader) = group.leader {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(leader, place);
        }
        group.registered = Some(self.clone());
        Some(group)
    }

    pub(super) fn kill_all(&self, place: ExtensionPlace) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (leader, _) in known.iter().filter(|(_, owner)| **owner == place) {
            let _ = kill_process_group(*leader, Signal::KILL);
        }
    }
}
