//! The cost of one child process: user and system CPU, peak memory, wall time. This is the only unsafe code
//! of xtask.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

#[derive(Debug, Clone)]
pub(super) struct Cost {
    pub(super) cpu_ms: f64,
    pub(super) peak_mb: f64,
    pub(super) wall_ms: f64,
    pub(super) stdout: String,
}

impl Cost {
    /// The smaller times, because noise only adds to them, and the larger peak, because a peak must be
    /// guaranteed.
    pub(super) fn least(self, other: Self) -> Self {
        Self {
            cpu_ms: self.cpu_ms.min(other.cpu_ms),
            peak_mb: self.peak_mb.max(other.peak_mb),
            wall_ms: self.wall_ms.min(other.wall_ms),
            stdout: other.stdout,
        }
    }
}

/// Runs a command to its end. Output goes to the file `out`, so that no pipe can block.
pub(super) fn cost(command: &mut Command, out: &Path) -> Result<Cost> {
    let begin = Instant::now();
    command.stdout(File::create(out)?);
    let child =
        command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let (status, usage) = wait(child.id())?;
    let wall_ms = begin.elapsed().as_secs_f64() * 1000.0;
    ensure!(status.success(), "{} failed ({status})", command.get_program().display());
    Ok(Cost {
        cpu_ms: milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime),
        peak_mb: usage.ru_maxrss as f64 * PEAK_UNIT / 1e6,
        wall_ms,
        stdout: std::fs::read_to_string(out)?,
    })
}

/// Linux reports kibibytes, macOS bytes.
const PEAK_UNIT: f64 = if cfg!(target_os = "macos") { 1.0 } else { 1024.0 };

fn milliseconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 * 1000.0 + time.tv_usec as f64 / 1000.0
}

#[allow(unsafe_code, reason = "std reports no resource usage of a child; only wait4 does")]
fn wait(id: u32) -> Result<(ExitStatus, libc::rusage)> {
    let pid = libc::pid_t::try_from(id)?;
    let mut status = 0;
    // SAFETY: a rusage is plain numbers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals, and the child is ours and not waited for elsewhere.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            return Ok((ExitStatus::from_raw(status), usage));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            bail!("cannot wait for process {id}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_is_measured_and_its_output_kept() {
        let out = std::env::temp_dir().join(format!("xtask-measure-{}", std::process::id()));
        let cost = cost(Command::new("echo").arg("hello"), &out).unwrap();
        std::fs::remove_file(&out).unwrap();
        assert_eq!(cost.stdout, "hello\n");
        assert!(cost.peak_mb > 0.1 && cost.cpu_ms < 1000.0, "{cost:?}");
    }

    #[test]
    fn failing_child_is_an_error() {
        let out = std::env::temp_dir().join(format!("xtask-measure-bad-{}", std::process::id()));
        assert!(cost(&mut Command::new("false"), &out).is_err());
        std::fs::remove_file(&out).unwrap();
    }
}
