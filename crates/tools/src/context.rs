//! The context of a tool call. Callers provide all of it: tools read neither the environment nor the home folder themselves.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::files_read::FilesRead;
use crate::fingerprint::ChangeFingerprint;
use crate::progress::Progress;
use crate::protected_paths::ProtectedPaths;
use crate::redact::Secrets;
use crate::sandbox::Sandbox;

/// The context of a tool call. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The root of the project, an absolute path. Relative paths start here; everything else is outside the project.
    pub cwd: PathBuf,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// Receives output while a command runs.
    pub progress: Progress,
    pub limits: ToolLimits,
    /// The folder for the full text of truncated outputs, with one subfolder per session.
    pub artifacts: PathBuf,
    /// The session id, or empty.
    pub session_id: String,
    /// Which file contents the model has seen on this path.
    pub files_read: Arc<FilesRead>,
    pub env: Arc<CommandEnv>,
    /// Files that tools do not open or change.
    pub protected: Arc<ProtectedPaths>,
    /// Secrets that are redacted in results.
    pub secrets: Arc<Secrets>,
    /// Restricts commands. `None`: commands have the user's permissions.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Tools do not open files anywhere else. `None`: anywhere that the user allows.
    pub confinement: Option<Arc<Confinement>>,
    /// The fingerprint of the approved preview. Any other change is refused.
    pub approved: Option<ChangeFingerprint>,
}

impl ToolContext {
    /// A context with default limits, without a progress listener.
    pub fn new(cwd: impl Into<PathBuf>, artefacts: impl Into<PathBuf>, env: CommandEnv) -> ToolContext {
        ToolContext {
            cwd: cwd.into(),
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            limits: ToolLimits::default(),
            artifacts: artefacts.into(),
            session_id: String::new(),
            files_read: Arc::default(),
            env: Arc::new(env),
            protected: Arc::default(),
            secrets: Arc::default(),
            sandbox: None,
            confinement: None,
            approved: None,
        }
    }

    /// Makes a path absolute: relative to the project, or to the home folder after `~`. `None` if the home folder is unknown.
    pub fn expand_path(&self, given: &str) -> Option<PathBuf> {
        match given.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => Some(self.env.home.as_ref()?.join(rest.trim_start_matches('/'))),
            None => Some(self.cwd.join(given)),
        }
    }
}

/// The only places where tools open files. All paths are without links.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    pub root: PathBuf,
    /// Folders outside the root that can be read.
    pub readable: Vec<PathBuf>,
}

impl Confinement {
    pub(crate) fn allows(&self, real: &std::path::Path) -> bool {
        real.starts_with(&self.root) || self.readable.iter().any(|folder| real.starts_with(folder))
    }
}

/// The environment of a command.
#[derive(Debug, Clone, Default)]
pub struct CommandEnv {
    /// All environment variables of the command.
    pub vars: Vec<(OsString, OsString)>,
    /// The folder that `~` expands to.
    pub home: Option<PathBuf>,
    /// The shell that runs command lines with `-c`. `None`: `bash`, or `sh` if there is no bash.
    pub shell: Option<PathBuf>,
}

impl CommandEnv {
    /// From environment variables. `HOME` becomes the home folder.
    pub fn new(vars: impl IntoIterator<Item = (OsString, OsString)>) -> CommandEnv {
        let vars: Vec<_> = vars.into_iter().collect();
        let home = vars.iter().find(|(name, value)| name == OsStr::new("HOME") && !value.is_empty());
        CommandEnv { home: home.map(|(_, value)| PathBuf::from(value)), vars, shell: None }
    }
}

/// Limits on results, files and commands.
#[derive(Debug, Clone, Copy)]
pub struct ToolLimits {
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
    /// The default and the maximum timeout of a command.
    pub default_timeout: Duration,
    pub max_timeout: Duration,
    /// How long a stopped command may clean up before it is killed.
    pub kill_grace: Duration,
    /// The most bytes saved of a full output.
    pub full_output_bytes: u64,
}

impl Default for ToolLimits {
    fn default() -> ToolLimits {
        ToolLimits {
            lines: 2000,
            bytes: 50 * 1024,
            line_chars: 500,
            matches: 100,
            found: 1000,
            listed: 500,
            file_bytes: 32 << 20,
            image_side: 2000,
            image_bytes: 4_500_000,
            default_timeout: Duration::from_secs(300),
            max_timeout: Duration::from_secs(3600),
            kill_grace: Duration::from_secs(1),
            full_output_bytes: 512 << 20,
        }
    }
}
