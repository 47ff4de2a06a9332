//! What a confined command may do, as plain data: the process that restricts itself gets it as JSON.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::guarded::is_guarded_name;

/// What a confined command may do. All paths are canonical. Reading is allowed except below `hide`; writing only below `write`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Policy {
    pub write: Vec<PathBuf>,
    /// Files and folders that cannot be read, nor listed.
    pub hide: Vec<PathBuf>,
    /// Below `hide`, but readable.
    pub show: Vec<PathBuf>,
    /// Below `write`, but read-only, because programs outside the sandbox run what they say. Needs `mounts`.
    pub protect: Vec<PathBuf>,
    /// Folders that cannot be renamed, because they hold something protected. Needs `mounts`.
    pub pin: Vec<PathBuf>,
    pub network: Network,
    /// Whether commands may open Unix sockets. Through one they reach programs that are not confined, such as Docker.
    pub unix_sockets: bool,
    pub mounts: Mounts,
}

/// What a confined command may do on the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Network {
    #[default]
    Off,
    /// TCP to and on these ports. UDP, which no kernel limits by port, only if port 53 (names) is among them.
    Ports(Vec<u16>),
    All,
}

/// Who changes what a command sees of the file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mounts {
    /// Nobody: files are hidden by granting access to everything beside them.
    #[default]
    None,
    /// The confined process itself, in a mount namespace.
    Namespace,
    /// Bubblewrap, before the confined process starts.
    Bubblewrap(PathBuf),
}

/// Of a repository only what git runs or obeys is protected, so that commits work.
const IN_GIT: [&str; 2] = [".git/config", ".git/hooks"];

/// What lies in a folder and makes programs outside the sandbox run something.
pub(super) fn guarded_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let guarded = entries.filter(|entry| is_guarded_name(&entry.file_name()) && entry.file_name() != ".git");
    let in_git = IN_GIT.iter().map(|name| folder.join(name)).filter(|path| path.symlink_metadata().is_ok());
    guarded.map(|entry| entry.path()).chain(in_git).collect()
}

impl Policy {
    /// Adds what is protected and pinned in a folder that may be written.
    pub(super) fn protect_in(&mut self, folder: &Path) {
        // A link leads to a file that is protected where it is, or cannot be written at all.
        self.protect
            .extend(guarded_in(folder).into_iter().filter(|path| !path.is_symlink() && path.exists()));
        let git = folder.join(".git");
        self.pin.extend((git.is_dir() && !git.is_symlink()).then_some(git));
    }

    /// A hidden path below a folder that may be written, which takes mounts to hide.
    pub(super) fn hidden_below_write(&self) -> Option<&Path> {
        let below = |path: &&PathBuf| self.write.iter().any(|root| path.starts_with(root));
        self.hide.iter().find(below).map(PathBuf::as_path)
    }

    /// A folder that may be written below a hidden one.
    pub(super) fn write_below_hidden(&self) -> Option<&Path> {
        let below = |path: &&PathBuf| self.hide.iter().any(|hidden| path.starts_with(hidden));
        self.write.iter().find(below).map(PathBuf::as_path)
    }
}
