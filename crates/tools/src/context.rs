//! What a call is given besides its arguments. Callers bring all of it: no tool reads the environment or looks for a home.

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

/// See the module. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The project's root, an absolute path: relative ones start here, and what lies elsewhere is outside.
    pub cwd: PathBuf,
    /// Stops the call.
    pub cancel: CancellationToken,
    /// Where output goes while a command still runs.
    pub progress: Progress,
    pub limits: Limits,
    /// Where the full text of a cut output is kept, in a folder of its session.
    pub artefacts: PathBuf,
    /// The id of the session, or nothing.
    pub session: String,
    /// What the model knows of files on this path.
    pub files_read: Arc<FilesRead>,
    pub env: Arc<Env>,
    /// Files that no tool opens.
    pub closed: Arc<Closed>,
    /// What no result shows.
    pub keys: Arc<Keys>,
    /// Confines commands. Without one they may do whatever the user may.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Of the preview that was approved. A change that is not exactly that one is refused.
    pub seal: Option<Seal>,
}

impl ToolContext {
    /// A context with the usual limits that nobody listens to and nobody can stop.
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

    /// Where a path as people write it leads: from the project, or from the home after `~`, which must be known.
    pub fn path(&self, given: &str) -> Option<PathBuf> {
        match given.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => Some(self.env.home.as_ref()?.join(rest.trim_start_matches('/'))),
            None => Some(self.cwd.join(given)),
        }
    }
}

/// The surroundings of a command.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// All variables a command gets.
    pub vars: Vec<(OsString, OsString)>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// Runs command lines with `-c`. Without one: `bash`, or `sh` where there is no bash.
    pub shell: Option<PathBuf>,
}

impl Env {
    /// From the variables of a process, say; `HOME` among them is the home.
    pub fn new(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Env {
        let vars: Vec<_> = vars.into_iter().collect();
        let home = vars.iter().find(|(name, value)| name == OsStr::new("HOME") && !value.is_empty());
        Env { home: home.map(|(_, value)| PathBuf::from(value)), vars, shell: None }
    }
}

/// How much is enough.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Lines and bytes of text in one result; whichever is reached first.
    pub lines: usize,
    pub bytes: usize,
    /// Characters shown of a line that a search found.
    pub line_chars: usize,
    /// Matches of a search, found names, listed names, where the call names no limit.
    pub matches: usize,
    pub found: usize,
    pub listed: usize,
    /// Bytes of a file that may be edited or compared.
    pub file_bytes: usize,
    /// Pixels of an image's longer side, and bytes of its base64.
    pub image_side: u32,
    pub image_bytes: usize,
    /// How long a command may take where the call does not say, and at most.
    pub command_time: Duration,
    pub longest_command: Duration,
    /// How long a stopped command may take to clean up before it is killed.
    pub grace: Duration,
    /// Bytes kept of a full output.
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
