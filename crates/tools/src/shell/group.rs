//! The processes of one command: its process group, and on Linux whatever else is in its session, such as the jobs of a
//! shell with job control, or descends from these. What survives a stop is a daemon: it has left its session, and its
//! parent is gone.

#[cfg(target_os = "linux")]
use std::collections::HashSet;
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
        // Who has lost its parent when the grace is over could not be found any more.
        let strays = strays(leader);
        signal(leader, &strays, Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < grace && (is_alive(leader) || strays.iter().any(Stray::is_alive)) {
            tokio::time::sleep(LOOK).await;
        }
        signal(leader, &strays, Signal::KILL);
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
fn signal(leader: Pid, strays: &[Stray], signal: Signal) {
    let _ = kill_process_group(leader, signal);
    for stray in strays.iter().filter(|stray| stray.is_alive()) {
        let _ = kill_process(stray.pid, signal);
    }
}

/// Until nobody is left who could have started another one meanwhile.
fn kill(leader: Pid) {
    let first = strays(leader);
    signal(leader, &first, Signal::KILL);
    if !first.is_empty() {
        signal(leader, &strays(leader), Signal::KILL);
    }
}

/// A process outside the leader's group. Its time of birth tells it from a later one with the same number.
#[derive(Debug)]
struct Stray {
    pid: Pid,
    born: u64,
}

#[cfg(target_os = "linux")]
impl Stray {
    fn is_alive(&self) -> bool {
        member(self.pid.as_raw_nonzero().get()).is_some_and(|member| member.born == self.born)
    }
}

#[cfg(target_os = "linux")]
fn is_alive(leader: Pid) -> bool {
    match members() {
        Some(mut all) => all.any(|member| member.session == leader),
        None => test_kill_process_group(leader).is_ok(),
    }
}

/// Living processes that are not in the leader's group, but in its session, or descend from somebody in it.
#[cfg(target_os = "linux")]
fn strays(leader: Pid) -> Vec<Stray> {
    let all: Vec<Member> = members().into_iter().flatten().collect();
    let mut ours: HashSet<Pid> =
        all.iter().filter(|member| member.session == leader).map(|member| member.pid).collect();
    ours.insert(leader);
    loop {
        let is_child = |member: &&Member| {
            member.parent.is_some_and(|parent| ours.contains(&parent)) && !ours.contains(&member.pid)
        };
        let children: Vec<Pid> = all.iter().filter(is_child).map(|member| member.pid).collect();
        if children.is_empty() {
            break;
        }
        ours.extend(children);
    }
    let strays = all.iter().filter(|member| ours.contains(&member.pid) && member.group != leader);
    strays.map(|member| Stray { pid: member.pid, born: member.born }).collect()
}

#[cfg(not(target_os = "linux"))]
impl Stray {
    fn is_alive(&self) -> bool {
        false
    }
}

#[cfg(not(target_os = "linux"))]
fn is_alive(leader: Pid) -> bool {
    test_kill_process_group(leader).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn strays(_leader: Pid) -> Vec<Stray> {
    Vec::new()
}

#[cfg(target_os = "linux")]
struct Member {
    pid: Pid,
    parent: Option<Pid>,
    group: Pid,
    session: Pid,
    born: u64,
}

/// All living processes, or nothing where `/proc` cannot be read.
#[cfg(target_os = "linux")]
fn members() -> Option<impl Iterator<Item = Member>> {
    let processes = std::fs::read_dir("/proc").ok()?;
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(pids.filter_map(member))
}

/// The command's name in the line may hold anything, even parentheses; the dead are left out.
#[cfg(target_os = "linux")]
fn member(pid: i32) -> Option<Member> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = memchr::memrchr(b')', &stat)? + 1;
    let fields: Vec<&str> = std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let number = |at: usize| Pid::from_raw(fields.get(at)?.parse().ok()?);
    let born = fields.get(19)?.parse().ok()?;
    Some(Member { pid: Pid::from_raw(pid)?, parent: number(1), group: number(2)?, session: number(3)?, born })
}
