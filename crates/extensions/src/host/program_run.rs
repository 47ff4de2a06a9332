//! Runs a program to its end, or until it is stopped with everything that it started. Programs that it leaves in the background go on,
//! and do not hold up the result although they have its pipes.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::process_group::ProcessGroup;

/// The most bytes kept of each output. As text in a frame, both together fit.
pub(super) const MAX_OUTPUT: usize = 20 << 20;

/// How long a program may take to end after it was asked to.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// When a program has ended and others have its pipes, its output is complete after such a time without more.
const OUTPUT_GRACE: Duration = Duration::from_millis(100);

/// What a program gets, and when it is stopped.
#[derive(Debug, Default)]
pub(super) struct ProgramLimits {
    pub(super) input: Option<Vec<u8>>,
    /// Milliseconds.
    pub(super) timeout: Option<f64>,
    pub(super) max_output: Option<usize>,
    /// Whether a program with too much output is stopped. Otherwise the rest is left out.
    pub(super) stops_when_full: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    TimedOut,
    Canceled,
    TooMuchOutput,
}

#[derive(Debug)]
pub(super) struct ProgramResult {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) is_cut: bool,
    pub(super) status: Option<ExitStatus>,
    pub(super) stopped: Option<StopReason>,
}

/// A time of JavaScript. `None` if it is no limit.
fn time_limit(milliseconds: Option<f64>) -> Option<Duration> {
    let time = milliseconds.filter(|time| *time > 0.0)?;
    Duration::try_from_secs_f64(time / 1000.0).ok()
}

async fn wait(limit: Option<Duration>) {
    match limit {
        Some(limit) => sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// The output of a program so far.
#[derive(Debug)]
struct Output {
    bytes: Vec<u8>,
    limit: usize,
    is_cut: bool,
}

impl Output {
    fn new(limit: usize) -> Output {
        Output { bytes: Vec::new(), limit, is_cut: false }
    }

    async fn read(&mut self, pipe: Option<impl AsyncRead + Unpin>, count: &AtomicUsize, full: &Notify) {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = [0; 8192];
        while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
            count.fetch_add(length, Ordering::Relaxed);
            let room = self.limit.saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..length.min(room)]);
            if length > room {
                self.is_cut = true;
                full.notify_one();
            }
        }
    }
}

/// Waits for the end of a program and its group, if it leads one.
pub(super) async fn run_to_end(
    mut child: Child,
    group: Option<ProcessGroup>,
    limits: ProgramLimits,
    cancel: &CancellationToken,
) -> ProgramResult {
    let limit = limits.max_output.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT);
    let (mut stdout, mut stderr) = (Output::new(limit), Output::new(limit));
    let (count, full) = (AtomicUsize::new(0), Notify::new());
    let (pipes, input) = ((child.stdout.take(), child.stderr.take()), child.stdin.take());
    let (status, stopped) = {
        let feed = async {
            if let (Some(mut pipe), Some(bytes)) = (input, &limits.input) {
                // The program may close its input early.
                let _ = pipe.write_all(bytes).await;
            }
        };
        let read = async {
            tokio::join!(stdout.read(pipes.0, &count, &full), stderr.read(pipes.1, &count, &full), feed);
        };
        tokio::pin!(read);
        let mut is_open = true;
        let deadline = wait(time_limit(limits.timeout));
        tokio::pin!(deadline);
        let stopped = loop {
            tokio::select! {
                _ = child.wait() => break None,
                () = &mut read, if is_open => is_open = false,
                () = &mut deadline => break Some(StopReason::TimedOut),
                () = cancel.cancelled() => break Some(StopReason::Canceled),
                () = full.notified(), if limits.stops_when_full => break Some(StopReason::TooMuchOutput),
            }
        };
        if let (Some(_), Some(group)) = (stopped, &group) {
            group.signal(Signal::TERM);
            let ends = async {
                loop {
                    tokio::select! {
                        _ = child.wait() => break,
                        () = &mut read, if is_open => is_open = false,
                    }
                }
            };
            // What is left gets no more time.
            let _ = timeout(KILL_GRACE, ends).await;
            group.signal(Signal::KILL);
        }
        let status = child.wait().await.ok();
        // What the program left behind may write for ever.
        let mut stopped_later = None;
        while is_open {
            let before = count.load(Ordering::Relaxed);
            let may_stop = stopped.is_none() && stopped_later.is_none();
            stopped_later = tokio::select! {
                done = timeout(OUTPUT_GRACE, &mut read) => {
                    is_open = done.is_err() && may_stop && count.load(Ordering::Relaxed) != before;
                    continue;
                }
                () = &mut deadline, if may_stop => Some(StopReason::TimedOut),
                () = cancel.cancelled(), if may_stop => Some(StopReason::Canceled),
                () = full.notified(), if may_stop && limits.stops_when_full => Some(StopReason::TooMuchOutput),
            };
            if let Some(group) = &group {
                group.signal(Signal::KILL);
            }
        }
        (status, stopped.or(stopped_later))
    };
    if let Some(group) = group {
        group.release();
    }
    let is_cut = stdout.is_cut || stderr.is_cut;
    ProgramResult { stdout: stdout.bytes, stderr: stderr.bytes, is_cut, status, stopped }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use tokio::process::Command;

    use super::*;

    fn start(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true).spawn().unwrap()
    }

    async fn run(script: &str, limits: ProgramLimits) -> ProgramResult {
        let child = start(script);
        let group = ProcessGroup::led_by(&child);
        run_to_end(child, group, limits, &CancellationToken::new()).await
    }

    /// Whether a program runs. One that has ended and that nobody has waited for does not.
    fn is_running(pid: &str) -> bool {
        let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
        let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    }

    /// Runs a script that never ends until a time limit stops it. On a busy machine it gets more time, until it has written the
    /// number of a program that it started.
    async fn run_until_late(script: &str) -> String {
        let mut time = 100.0;
        loop {
            let limits = ProgramLimits { timeout: Some(time), ..ProgramLimits::default() };
            let result = run(script, limits).await;
            assert_eq!(result.stopped, Some(StopReason::TimedOut));
            let output = String::from_utf8_lossy(&result.stdout).into_owned();
            if let Some(started) = output.lines().find(|line| !line.is_empty()) {
                return started.to_owned();
            }
            assert!(time < 60_000.0, "it writes nothing");
            time *= 2.0;
        }
    }

    #[tokio::test]
    async fn a_time_limit_ends_everything_that_a_program_started() {
        let started = run_until_late("sleep 1000 & echo $!; wait").await;
        assert!(!is_running(&started), "{started}");
    }

    #[tokio::test]
    async fn a_time_limit_ends_what_still_writes_after_the_program() {
        let started = run_until_late("while :; do echo; done & echo $!").await;
        assert!(!is_running(&started), "{started}");
    }

    #[tokio::test]
    async fn a_program_in_the_background_does_not_hold_up_the_result() {
        let result = run("sleep 1000 & echo $!", ProgramLimits::default()).await;
        assert_eq!((result.stopped, result.status.and_then(|status| status.code())), (None, Some(0)));
        let started = String::from_utf8(result.stdout).unwrap();
        assert!(is_running(started.trim()), "it goes on");
        std::process::Command::new("kill").arg(started.trim()).status().unwrap();
    }

    #[tokio::test]
    async fn a_program_that_ignores_the_request_to_end_is_killed() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let child = start("trap '' TERM; while :; do sleep 1; done");
        let group = ProcessGroup::led_by(&child);
        let result = run_to_end(child, group, ProgramLimits::default(), &cancel).await;
        assert_eq!(result.stopped, Some(StopReason::Canceled));
    }

    #[tokio::test]
    async fn output_beyond_the_limit_is_left_out_or_ends_the_program() {
        let limits = |stops_when_full| ProgramLimits {
            max_output: Some(3),
            stops_when_full,
            ..ProgramLimits::default()
        };
        let result = run("echo 12345; echo 67890 >&2", limits(false)).await;
        assert_eq!((result.stdout, result.stderr, result.is_cut), (b"123".to_vec(), b"678".to_vec(), true));
        let result = run("while :; do echo 12345; done", limits(true)).await;
        assert_eq!((result.stopped, result.stdout), (Some(StopReason::TooMuchOutput), b"123".to_vec()));
    }

    #[tokio::test]
    async fn input_is_passed_on_and_a_time_that_never_passes_is_no_limit() {
        for time in [1e300, f64::INFINITY, f64::NAN, -1.0, 0.0] {
            let limits = ProgramLimits {
                input: Some(b"hello".to_vec()),
                timeout: Some(time),
                ..ProgramLimits::default()
            };
            let result = run("cat", limits).await;
            assert_eq!((result.stdout, result.stopped), (b"hello".to_vec(), None), "{time}");
        }
    }
}
