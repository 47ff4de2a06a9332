//! The processes of one command: its process group, and on Linux also the other processes of its session (such as jobs of a
//! shell with job control) and their descendants. Only daemons survive a stop: processes that left the session and whose parent
//! has exited.

#[cfg(target_os = "linux")]
use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// How often to check whether terminated processes have exited.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A process group. Dropping it kills the group unless it was released.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Option<Pid>,
}

impl ProcessGroup {
    /// The group and session of a leader process that has not been reaped.
    pub(super) fn from_leader(pid: Option<u32>) -> ProcessGroup {
        ProcessGroup { leader: pid.and_then(|pid| Pid::from_raw(pid.cast_signed())) }
    }

    /// Sends SIGTERM to all processes, then SIGKILL to those that are still alive after `grace`.
    pub(super) async fn stop(&self, grace: Duration) {
        let Some(leader) = self.leader else { return };
        // Collect these first: a process whose parent exits during `grace` could not be found afterwards.
        let strays = strays(leader);
        send_signal(leader, &strays, Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < grace && (is_alive(leader) || strays.iter().any(StrayProcess::is_alive)) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        send_signal(leader, &strays, Signal::KILL);
        kill_all(leader);
    }

    /// Lets the processes keep running. Returns their group if some are still alive.
    pub(super) fn release(mut self) -> Option<u32> {
        let leader = self.leader.take()?;
        // The cheap check first. It also succeeds for zombies.
        let left = test_kill_process_group(leader).is_ok() && is_alive(leader);
        left.then(|| leader.as_raw_nonzero().get().cast_unsigned())
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            kill_all(leader);
        }
    }
}

/// Sends a signal once to each process, so that none cleans up twice. Errors mean that the process has exited.
fn send_signal(leader: Pid, strays: &[StrayProcess], signal: Signal) {
    let _ = kill_process_group(leader, signal);
    for stray in strays.iter().filter(|stray| stray.is_alive()) {
        let _ = kill_process(stray.pid, signal);
    }
}

/// Kills all processes, and again those that were started in between.
fn kill_all(leader: Pid) {
    let first = strays(leader);
    send_signal(leader, &first, Signal::KILL);
    if !first.is_empty() {
        send_signal(leader, &strays(leader), Signal::KILL);
    }
}

/// A process outside the leader's group. The start time distinguishes it from a later process with the same pid.
#[derive(Debug)]
struct StrayProcess {
    pid: Pid,
    start_time: u64,
}

#[cfg(target_os = "linux")]
impl StrayProcess {
    fn is_alive(&self) -> bool {
        process_stat(self.pid.as_raw_nonzero().get())
            .is_some_and(|member| member.start_time == self.start_time)
    }
}

#[cfg(target_os = "linux")]
fn is_alive(leader: Pid) -> bool {
    match living_processes() {
        Some(mut all) => all.any(|member| member.session == leader),
        None => test_kill_process_group(leader).is_ok(),
    }
}

/// Living processes that are outside the leader's group, but in its session or descended from a process in it.
#[cfg(target_os = "linux")]
fn strays(leader: Pid) -> Vec<StrayProcess> {
    let all: Vec<ProcessStat> = living_processes().into_iter().flatten().collect();
    let mut ours: HashSet<Pid> =
        all.iter().filter(|member| member.session == leader).map(|member| member.pid).collect();
    ours.insert(leader);
    loop {
        let is_child = |member: &&ProcessStat| {
            member.parent.is_some_and(|parent| ours.contains(&parent)) && !ours.contains(&member.pid)
        };
        let children: Vec<Pid> = all.iter().filter(is_child).map(|member| member.pid).collect();
        if children.is_empty() {
            break;
        }
        ours.extend(children);
    }
    let strays = all.iter().filter(|member| ours.contains(&member.pid) && member.group != leader);
    strays.map(|member| StrayProcess { pid: member.pid, start_time: member.start_time }).collect()
}

#[cfg(not(target_os = "linux"))]
impl StrayProcess {
    fn is_alive(&self) -> bool {
        false
    }
}

#[cfg(not(target_os = "linux"))]
fn is_alive(leader: Pid) -> bool {
    test_kill_process_group(leader).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn strays(_leader: Pid) -> Vec<StrayProcess> {
    Vec::new()
}

#[cfg(target_os = "linux")]
struct ProcessStat {
    pid: Pid,
    parent: Option<Pid>,
    group: Pid,
    session: Pid,
    start_time: u64,
}

/// All living processes, or `None` if `/proc` cannot be read.
#[cfg(target_os = "linux")]
fn living_processes() -> Option<impl Iterator<Item = ProcessStat>> {
    let processes = std::fs::read_dir("/proc").ok()?;
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(pids.filter_map(process_stat))
}

/// A living process from `/proc/PID/stat`; `None` for zombies. The command name in the line may contain parentheses.
#[cfg(target_os = "linux")]
fn process_stat(pid: i32) -> Option<ProcessStat> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = memchr::memrchr(b')', &stat)? + 1;
    let fields: Vec<&str> = std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let number = |at: usize| Pid::from_raw(fields.get(at)?.parse().ok()?);
    let start_time = fields.get(19)?.parse().ok()?;
    Some(ProcessStat {
        pid: Pid::from_raw(pid)?,
        parent: number(1),
        group: number(2)?,
        session: number(3)?,
        start_time,
    })
}
