//! Confines the commands that tools run: writes only where they may, keys out of reach, no network. The operating system
//! enforces it; what it cannot enforce here is never taken for granted, but reported as not available.
//!
//! A command starts as this same program, which restricts itself and then becomes the shell, so that nothing but the command is
//! confined. Before the first one, the whole policy is tried out.

#[cfg(target_os = "linux")]
mod enter;
mod evidence;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod mounts;
mod policy;
#[cfg_attr(
    not(target_os = "macos"),
    allow(dead_code, reason = "compiled everywhere, so that it keeps compiling")
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
pub use enter::{COMMAND, enter};
pub(crate) use evidence::denial;
pub use policy::{Mounts, Network, Policy};

/// The detail of a result that says what the sandbox denied.
pub(crate) const DENIAL: &str = "sandboxDenial";

/// What the user wants confined commands to do and not to do.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub project: PathBuf,
    /// More folders that may be written.
    pub write: Vec<PathBuf>,
    pub hide: Vec<PathBuf>,
    /// Below `hide`, but readable.
    pub show: Vec<PathBuf>,
    pub network: Network,
    pub unix_sockets: bool,
    /// Commands are confined in the approval mode `sandbox` only.
    pub only_in_mode: bool,
    /// What the user types behind `!` is confined too.
    pub user_commands: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Sandbox {
    pub rules: Rules,
    /// This program, which restricts itself.
    launcher: PathBuf,
    /// What was found when it was tried out, or why it is not available.
    state: OnceLock<Result<Active, String>>,
    /// Where commands find room for temporary files.
    temp: OnceLock<Option<TempDir>>,
}

/// A sandbox that works.
#[derive(Debug)]
struct Active {
    policy: Policy,
    protection: String,
}

/// A program to start, with its arguments and more variables.
#[derive(Debug)]
pub(crate) struct Wrapped {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Sandbox {
    /// Nothing is tried out before somebody asks for the state.
    pub fn new(rules: Rules, launcher: impl Into<PathBuf>) -> Sandbox {
        Sandbox { rules, launcher: launcher.into(), state: OnceLock::new(), temp: OnceLock::new() }
    }

    /// Tries it out in the background, so that nobody waits for it later.
    pub fn warm_up(self: &Arc<Self>) {
        let sandbox = self.clone();
        std::thread::spawn(move || sandbox.state().is_ok());
    }

    /// Which protection is active, or why none is.
    pub fn state(&self) -> Result<&str, &str> {
        self.active().map(|active| active.protection.as_str())
    }

    fn active(&self) -> Result<&Active, &str> {
        self.state.get_or_init(|| self.try_out()).as_ref().map_err(String::as_str)
    }

    fn try_out(&self) -> Result<Active, String> {
        let policy = self.policy();
        if let Some(path) = policy.write_below_hidden() {
            return Err(format!("{} lies in a folder that must stay hidden", path.display()));
        }
        let mut reason = "this system has no sandbox that is known".to_owned();
        for (mounts, name) in ways(&policy) {
            let active = Active { policy: Policy { mounts, ..policy.clone() }, protection: name };
            match self.rehearse(&active.policy) {
                Ok(()) => return Ok(active),
                Err(error) => reason = error.to_string(),
            }
        }
        match policy.hidden_below_write() {
            Some(path) => Err(format!(
                "{} cannot be hidden from commands that may write around it: {reason}",
                path.display()
            )),
            None => Err(reason),
        }
    }

    /// With canonical paths. What does not exist needs no rule.
    fn policy(&self) -> Policy {
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect()
        };
        let rules = &self.rules;
        let mut policy = Policy {
            write: real(std::slice::from_ref(&rules.project)),
            hide: real(&rules.hide),
            show: real(&rules.show),
            network: rules.network.clone(),
            unix_sockets: rules.unix_sockets,
            ..Policy::default()
        };
        policy.write.extend(real(&rules.write));
        // What lies in a hidden folder is hidden with it.
        let hide = policy.hide.clone();
        policy.hide.retain(|path| !hide.iter().any(|other| other != path && path.starts_with(other)));
        policy.hide.dedup();
        policy
    }

    /// Runs nothing, confined.
    fn rehearse(&self, policy: &Policy) -> io::Result<()> {
        let Wrapped { program, arguments, .. } = self.wrapped(policy, &[OsStr::new("sh")], ":")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.rules.project);
        let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let line = said.lines().next().unwrap_or("it does not start").trim();
        Err(io::Error::other(line.strip_prefix(evidence::REFUSED).unwrap_or(line).to_owned()))
    }

    /// How to run a command line with the first of some shells that there is.
    pub(crate) fn wrap(&self, shells: &[&OsStr], command: &str) -> io::Result<Wrapped> {
        let active = self.active().map_err(io::Error::other)?;
        let mut policy = active.policy.clone();
        // Again for each command: a repository may have come to be meanwhile.
        if policy.mounts != Mounts::None {
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
    fn wrapped(&self, policy: &Policy, shells: &[&OsStr], command: &str) -> io::Result<Wrapped> {
        let shell = shells.first().copied().unwrap_or(OsStr::new("sh"));
        let profile = seatbelt::profile(policy);
        let arguments = [OsStr::new("-p"), profile.as_ref(), shell, OsStr::new("-c"), command.as_ref()];
        let arguments = arguments.map(OsStr::to_owned).to_vec();
        Ok(Wrapped { program: seatbelt::PROGRAM.into(), arguments, variables: Vec::new() })
    }

    #[cfg(not(target_os = "macos"))]
    fn wrapped(&self, policy: &Policy, shells: &[&OsStr], command: &str) -> io::Result<Wrapped> {
        let own = serde_json::to_string(policy).map_err(io::Error::other)?;
        let mut own: Vec<OsString> = vec![enter::COMMAND.into(), own.into(), command.into()];
        own.extend(shells.iter().map(OsString::from));
        let (program, arguments) = match &policy.mounts {
            Mounts::Bubblewrap(bubblewrap) => {
                let launcher = self.launcher.canonicalize()?;
                let mut arguments = mounts::bubblewrap(policy, &launcher);
                arguments.push(launcher.into());
                arguments.extend(own);
                (bubblewrap.clone(), arguments)
            }
            Mounts::None | Mounts::Namespace => (self.launcher.clone(), own),
        };
        Ok(Wrapped { program: program.into(), arguments, variables: Vec::new() })
    }

    /// What lies in the project now and makes programs outside run something. A command cannot change it, but add to it.
    pub(crate) fn guarded(&self) -> Vec<PathBuf> {
        policy::guarded_in(&self.rules.project)
    }
}

/// What can be tried, the best first, and how it is called.
#[cfg(target_os = "linux")]
fn ways(policy: &Policy) -> Vec<(Mounts, String)> {
    let named = |more: &str| format!("Landlock, seccomp{more}");
    let mut ways = vec![(Mounts::Namespace, named(", mount namespace"))];
    ways.extend(bubblewrap().map(|path| (Mounts::Bubblewrap(path), named(", bubblewrap"))));
    if policy.hidden_below_write().is_none() {
        ways.push((Mounts::None, named("; files in .git are not protected")));
    }
    ways
}

#[cfg(target_os = "linux")]
fn bubblewrap() -> Option<PathBuf> {
    // Not from PATH: a folder of the project may be in it.
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].into_iter().map(PathBuf::from).find(|path| path.is_file())
}

#[cfg(target_os = "macos")]
fn ways(_: &Policy) -> Vec<(Mounts, String)> {
    vec![(Mounts::Namespace, "Seatbelt".to_owned())]
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn ways(_: &Policy) -> Vec<(Mounts, String)> {
    Vec::new()
}

/// What the sandbox denied to a command, if it may have failed because of that.
pub fn denied_to(outcome: &ToolOutcome) -> Option<&str> {
    outcome.details.get(DENIAL)?.as_str()
}
