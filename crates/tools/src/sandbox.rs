//! The sandbox for commands that tools run: it limits writes to allowed folders, hides keys, and blocks the network. The
//! operating system enforces the policy. If it cannot, the sandbox is reported as not available.
//!
//! A command starts as this program, which restricts itself and then executes the shell, so that only the command is restricted.
//! The whole policy is tested once before the first command.

#[cfg(target_os = "linux")]
mod confine;
mod denial;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod file_access;
#[cfg(target_os = "linux")]
mod mounts;
mod policy;
#[cfg_attr(
    not(target_os = "macos"),
    allow(dead_code, reason = "compiled on every system, so that it keeps compiling")
)]
mod seatbelt;
#[cfg(target_os = "linux")]
mod syscalls;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;

use crate::outcome::ToolOutcome;

#[cfg(target_os = "linux")]
pub use confine::{ProcessConfinement, confine_process};
pub(crate) use denial::detect_denial;
#[cfg(target_os = "linux")]
pub use enter::{COMMAND, enter};
pub use policy::{MountMethod, NetworkAccess, SandboxPolicy};

/// The field in the details of a result that says what the sandbox denied.
pub(crate) const DENIAL: &str = "sandboxDenial";

/// The sandbox settings of the user.
#[derive(Debug, Clone, Default)]
pub struct SandboxRules {
    pub project: PathBuf,
    /// More writable folders.
    pub write: Vec<PathBuf>,
    pub hide: Vec<PathBuf>,
    /// Below `hide`, but readable. Also writable, if `write` or `project` has the same path.
    pub show: Vec<PathBuf>,
    pub network: NetworkAccess,
    pub unix_sockets: bool,
    /// Use the sandbox only in the approval mode `sandbox`.
    pub only_in_mode: bool,
    /// Also run the user's own `!` commands in the sandbox.
    pub user_commands: bool,
}

/// A sandbox with its settings and its state.
#[derive(Debug)]
pub struct Sandbox {
    pub rules: SandboxRules,
    /// The executable of this program.
    launcher: PathBuf,
    /// The working sandbox, or why it is not available.
    state: OnceLock<Result<ActiveSandbox, String>>,
    /// The folder for temporary files of commands.
    temp: OnceLock<Option<TempDir>>,
}

/// A sandbox that passed its test.
#[derive(Debug)]
struct ActiveSandbox {
    policy: SandboxPolicy,
    protection: String,
}

/// A program to start, with its arguments and additional variables.
#[derive(Debug)]
pub(crate) struct LaunchSpec {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Sandbox {
    /// Creates the sandbox. It is tested when the state is first needed.
    pub fn new(rules: SandboxRules, launcher: impl Into<PathBuf>) -> Sandbox {
        Sandbox { rules, launcher: launcher.into(), state: OnceLock::new(), temp: OnceLock::new() }
    }

    /// A sandbox with other rules. It is tested separately.
    #[must_use]
    pub fn with_rules(&self, rules: SandboxRules) -> Sandbox {
        Sandbox::new(rules, &self.launcher)
    }

    /// Tests the sandbox in the background, so that the first command does not wait for it.
    pub fn warm_up(self: &Arc<Self>) {
        let sandbox = self.clone();
        std::thread::spawn(move || sandbox.state().is_ok());
    }

    /// The name of the active protection, or why there is none.
    pub fn state(&self) -> Result<&str, &str> {
        self.active().map(|active| active.protection.as_str())
    }

    fn active(&self) -> Result<&ActiveSandbox, &str> {
        self.state.get_or_init(|| self.probe()).as_ref().map_err(String::as_str)
    }

    fn probe(&self) -> Result<ActiveSandbox, String> {
        let policy = self.policy();
        if let Some(path) = policy.write_below_hidden() {
            return Err(format!("{} is in a folder that must stay hidden", path.display()));
        }
        let mut reason = "no supported sandbox on this system".to_owned();
        for (mounts, name) in candidates(&policy) {
            let active =
                ActiveSandbox { policy: SandboxPolicy { mounts, ..policy.clone() }, protection: name };
            match self.test_policy(&active.policy) {
                Ok(()) => return Ok(active),
                Err(error) => reason = error.to_string(),
            }
        }
        match policy.hidden_below_write() {
            Some(path) => Err(format!(
                "cannot hide {} from commands that may write to a folder above it: {reason}",
                path.display()
            )),
            None => Err(reason),
        }
    }

    /// The policy with canonical paths. Paths that do not exist are left out.
    fn policy(&self) -> SandboxPolicy {
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        };
        let rules = &self.rules;
        let mut policy = SandboxPolicy {
            write: real(std::slice::from_ref(&rules.project)),
            hide: real(&rules.hide),
            show: real(&rules.show),
            network: rules.network.clone(),
            unix_sockets: rules.unix_sockets,
            ..SandboxPolicy::default()
        };
        policy.write.extend(real(&rules.write));
        // Paths inside a hidden folder are hidden with it.
        let hide = policy.hide.clone();
        policy.hide.retain(|path| !hide.iter().any(|other| other != path && path.starts_with(other)));
        policy.hide.dedup();
        policy
    }

    /// Runs an empty command with a policy to test it.
    fn test_policy(&self, policy: &SandboxPolicy) -> io::Result<()> {
        let LaunchSpec { program, arguments, .. } = self.wrapped(policy, &[OsStr::new("sh")], ":")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.rules.project);
        let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        if done.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&done.stderr);
        let line = stderr.lines().next().unwrap_or("it did not start").trim();
        Err(io::Error::other(line.strip_prefix(denial::START_ERROR_PREFIX).unwrap_or(line).to_owned()))
    }

    /// How to run a command line with the first shell that exists.
    pub(crate) fn launch_spec(&self, shells: &[&OsStr], command: &str) -> io::Result<LaunchSpec> {
        let active = self.active().map_err(io::Error::other)?;
        let mut policy = active.policy.clone();
        // Done for each command, because a repository may have been created since.
        if policy.mounts != MountMethod::None {
            policy.write.clone().iter().for_each(|folder| policy.protect_in(folder));
        }
        let temp =
            self.temp.get_or_init(|| tempfile::Builder::new().prefix("osier-").tempdir().ok()).as_ref();
        let temp = temp.and_then(|temp| temp.path().canonicalize().ok());
        policy.write.extend(temp.clone());
        let mut wrapped = self.wrapped(&policy, shells, command)?;
        let temp = temp.into_iter().map(PathBuf::into_os_string);
        wrapped.variables = temp.map(|temp| ("TMPDIR".into(), temp)).collect();
        Ok(wrapped)
    }

    #[cfg(target_os = "macos")]
    fn wrapped(&self, policy: &SandboxPolicy, shells: &[&OsStr], command: &str) -> io::Result<LaunchSpec> {
        let shell = shells.first().copied().unwrap_or(OsStr::new("sh"));
        let profile = seatbelt::profile(policy);
        let arguments = [OsStr::new("-p"), profile.as_ref(), shell, OsStr::new("-c"), command.as_ref()];
        let arguments = arguments.map(OsStr::to_owned).to_vec();
        Ok(LaunchSpec { program: seatbelt::PROGRAM.into(), arguments, variables: Vec::new() })
    }

    #[cfg(not(target_os = "macos"))]
    fn wrapped(&self, policy: &SandboxPolicy, shells: &[&OsStr], command: &str) -> io::Result<LaunchSpec> {
        let own = serde_json::to_string(policy).map_err(io::Error::other)?;
        let mut own: Vec<OsString> = vec![enter::COMMAND.into(), own.into(), command.into()];
        own.extend(shells.iter().map(OsString::from));
        let (program, arguments) = match &policy.mounts {
            MountMethod::Bubblewrap(bubblewrap) => {
                let launcher = self.launcher.canonicalize()?;
                let mut arguments = mounts::bubblewrap_arguments(policy, &launcher);
                arguments.push(launcher.into());
                arguments.extend(own);
                (bubblewrap.clone(), arguments)
            }
            MountMethod::None | MountMethod::Namespace => (self.launcher.clone(), own),
        };
        Ok(LaunchSpec { program: program.into(), arguments, variables: Vec::new() })
    }

    /// The guarded files and folders that exist in the project. A command cannot change them, but it can create new ones.
    pub(crate) fn guarded_paths(&self) -> Vec<PathBuf> {
        policy::guarded_in(&self.rules.project)
    }
}

/// The protections to try, the best first, each with its name.
#[cfg(target_os = "linux")]
fn candidates(policy: &SandboxPolicy) -> Vec<(MountMethod, String)> {
    let named = |more: &str| format!("Landlock, seccomp{more}");
    let mut ways = vec![(MountMethod::Namespace, named(", mount namespace"))];
    ways.extend(find_bubblewrap().map(|path| (MountMethod::Bubblewrap(path), named(", bubblewrap"))));
    if policy.hidden_below_write().is_none() {
        ways.push((MountMethod::None, named("; files in .git are not protected")));
    }
    ways
}

#[cfg(target_os = "linux")]
fn find_bubblewrap() -> Option<PathBuf> {
    // Not from PATH, which may contain a folder of the project.
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].into_iter().map(PathBuf::from).find(|path| path.is_file())
}

#[cfg(target_os = "macos")]
fn candidates(_: &SandboxPolicy) -> Vec<(MountMethod, String)> {
    vec![(MountMethod::Namespace, "Seatbelt".to_owned())]
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn candidates(_: &SandboxPolicy) -> Vec<(MountMethod, String)> {
    Vec::new()
}

/// What the sandbox denied, if the command may have failed because of it.
pub fn sandbox_denial(outcome: &ToolOutcome) -> Option<&str> {
    outcome.details.get(DENIAL)?.as_str()
}
