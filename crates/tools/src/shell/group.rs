//! The processes of one command: its process group, and on Linux whatever else is in its session, such as the jobs of a
//! shell with job control. Nothing of it survives a stop.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// How often to look whether processes that were asked to end have ended.
const LOOK: Duration = Duration::from_millis(10);

/// Kills the group when dropped, unless it was released.
#[derive(Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    /// The group and session led by a process that is not yet waited for.
    pub(super) fn led_by(pid: Option<u32>) -> Group {
        Group { leader: pid.and_then(|pid| Pid::from_raw(pid.cast_signed())) }
    }

    /// Asks all to end; kills those that are still there when the grace is over.
    pub(super) async fn stop(&self, grace: Duration) {
        let Some(leader) = self.leader else { return };
        signal(leader, Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < grace && is_alive(leader) {
            tokio::time::sleep(LOOK).await;
        }
        kill(leader);
    }

    /// Lets the processes live on; their group, if some are left.
    pub(super) fn release(mut self) -> Option<u32> {
        let leader = self.leader.take()?;
        // One cheap question first; it may also mean the dead whom nobody has buried yet.
        let left = test_kill_process_group(leader).is_ok() && is_alive(leader);
        left.then(|| leader.as_raw_nonzero().get().cast_unsigned())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            kill(leader);
        }
    }
}

/// Everyone gets the signal once, so that nobody cleans up twice. A process that is gone by now is none to worry about.
fn signal(leader: Pid, signal: Signal) {
    let strays = strays(leader);
    let _ = kill_process_group(leader, signal);
    for stray in strays {
        let _ = kill_process(stray, signal);
    }
}

/// Until nobody is left who could have started another one meanwhile.
fn kill(leader: Pid) {
    signal(leader, Signal::KILL);
    if !strays(leader).is_empty() {
        signal(leader, Signal::KILL);
    }
}

#[cfg(target_os = "linux")]
fn is_alive(leader: Pid) -> bool {
    match sessions() {
        Some(mut all) => all.any(|member| member.session == leader),
        None => test_kill_process_group(leader).is_ok(),
    }
}

#[cfg(not(target_os = "linux"))]
fn is_alive(leader: Pid) -> bool {
    test_kill_process_group(leader).is_ok()
}

/// Living processes of the session that are not in the leader's group.
#[cfg(target_os = "linux")]
fn strays(leader: Pid) -> Vec<Pid> {
    let strays = |member: &Member| member.session == leader && member.group != leader;
    sessions().into_iter().flatten().filter(strays).map(|member| member.pid).collect()
}

#[cfg(not(target_os = "linux"))]
fn strays(_leader: Pid) -> Vec<Pid> {
    Vec::new()
}

#[cfg(target_os = "linux")]
struct Member {
    pid: Pid,
    group: Pid,
    session: Pid,
}

/// All living processes, or nothing where `/proc` cannot be read.
#[cfg(target_os = "linux")]
fn sessions() -> Option<impl Iterator<Item = Member>> {
    let processes = std::fs::read_dir("/proc").ok()?;
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(pids.filter_map(member))
}

/// The command's name in the line may hold anything, even parentheses; the dead are left out.
#[cfg(target_os = "linux")]
fn member(pid: i32) -> Option<Member> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = memchr::memrchr(b')', &stat)? + 1;
    let mut fields = std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let mut number = |skip: usize| Pid::from_raw(fields.nth(skip)?.parse().ok()?);
    Some(Member { group: number(1)?, session: number(0)?, pid: Pid::from_raw(pid)? })
}
