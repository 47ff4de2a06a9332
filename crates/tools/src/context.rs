//! The context of a tool call. Callers provide all of it: tools read neither the environment nor the home folder themselves.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::closed::Closed;
use crate::progress::Progress;
use crate::sandbox::Sandbox;
use crate::seal::Seal;
use crate::seen::FilesRead;
use crate::veil::Keys;

/// The context of a tool call. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The root of the project, an absolute path. Relative paths start here; everything else is outside the project.
    pub cwd: PathBuf,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// Receives output while a command runs.
    pub progress: Progress,
    pub limits: Limits,
    /// The folder for the full text of truncated outputs, with one subfolder per session.
    pub artefacts: PathBuf,
    /// The session id, or empty.
    pub session: String,
    /// Which file contents the model has seen on this path.
    pub files_read: Arc<FilesRead>,
    pub env: Arc<Env>,
    /// Files that tools do not open or change.
    pub closed: Arc<Closed>,
    /// Secrets that are redacted in results.
    pub keys: Arc<Keys>,
    /// Restricts commands. `None`: commands have the user's permissions.
    pub sandbox: Option<Arc<Sandbox>>,
    /// The fingerprint of the approved preview. Any other change is refused.
    pub seal: Option<Seal>,
}

impl ToolContext {
    /// A context with default limits, without a progress listener.
    pub fn new(cwd: impl Into<PathBuf>, artefacts: impl Into<PathBuf>, env: Env) -> ToolContext {
        ToolContext {
            cwd: cwd.into(),
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            limits: Limits::default(),
            artefacts: artefacts.into(),
            session: String::new(),
            files_read: Arc::default(),
            env: Arc::new(env),
            closed: Arc::default(),
            keys: Arc::default(),
            sandbox: None,
            seal: None,
        }
    }

    /// Makes a path absolute: relative to the project, or to the home folder after `~`. `None` if the home folder is unknown.
    pub fn path(&self, given: &str) -> Option<PathBuf> {
        match given.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => Some(self.env.home.as_ref()?.join(rest.trim_start_matches('/'))),
            None => Some(self.cwd.join(given)),
        }
    }
}

/// The environment of a command.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// All environment variables of the command.
    pub vars: Vec<(OsString, OsString)>,
    /// The folder that `~` expands to.
    pub home: Option<PathBuf>,
    /// The shell that runs command lines with `-c`. `None`: `bash`, or `sh` if there is no bash.
    pub shell: Option<PathBuf>,
}

impl Env {
    /// From environment variables. `HOME` becomes the home folder.
    pub fn new(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Env {
        let vars: Vec<_> = vars.into_iter().collect();
        let home = vars.iter().find(|(name, value)| name == OsStr::new("HOME") && !value.is_empty());
        Env { home: home.map(|(_, value)| PathBuf::from(value)), vars, shell: None }
    }
}

/// Limits on results, files and commands.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Lines and bytes of text in one result, whichever is reached first.
    pub lines: usize,
    pub bytes: usize,
    /// Characters shown of each line that a search found.
    pub line_chars: usize,
    /// Default limits for `grep` matches, `find` names and `ls` names.
    pub matches: usize,
    pub found: usize,
    pub listed: usize,
    /// The largest file, in bytes, that can be edited or compared.
    pub file_bytes: usize,
    /// The longer side of an image in pixels, and its size as base64 in bytes.
    pub image_side: u32,
    pub image_bytes: usize,
    /// The default and the maximum time-out of a command.
    pub command_time: Duration,
    pub longest_command: Duration,
    /// How long a stopped command may clean up before it is killed.
    pub grace: Duration,
    /// The most bytes saved of a full output.
    pub full_output: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            lines: 2000,
            bytes: 50 * 1024,
            line_chars: 500,
            matches: 100,
            found: 1000,
            listed: 500,
            file_bytes: 32 << 20,
            image_side: 2000,
            image_bytes: 4_500_000,
            command_time: Duration::from_secs(300),
            longest_command: Duration::from_secs(3600),
            grace: Duration::from_secs(1),
            full_output: 512 << 20,
        }
    }
}
