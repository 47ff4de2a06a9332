//! The sandbox policy, which the launcher process receives as JSON.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::guarded::is_guarded_name;

/// What a sandboxed command may do. All paths are canonical. It may read everything except `hide`, and write only below `write`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SandboxPolicy {
    pub write: Vec<PathBuf>,
    /// Files and folders that cannot be read or listed.
    pub hide: Vec<PathBuf>,
    /// Below `hide`, but readable.
    pub show: Vec<PathBuf>,
    /// Below `write`, but read-only, because programs outside the sandbox execute them. Needs `mounts`.
    pub protect: Vec<PathBuf>,
    /// Folders that cannot be renamed, because they contain something protected. Needs `mounts`.
    pub pin: Vec<PathBuf>,
    pub network: NetworkAccess,
    /// Whether commands may open Unix sockets, through which they reach programs outside the sandbox, such as Docker.
    pub unix_sockets: bool,
    pub mounts: MountMethod,
}

/// Network access of a sandboxed command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NetworkAccess {
    #[default]
    Off,
    /// TCP to and on these ports. UDP only if port 53 (DNS) is included, because the kernel cannot limit UDP by port.
    Ports(Vec<u16>),
    All,
}

/// How paths are hidden from a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MountMethod {
    /// No mounts: Landlock grants access to everything except the hidden paths.
    #[default]
    None,
    /// The sandboxed process creates mounts in its own namespace.
    Namespace,
    /// Bubblewrap creates the mounts before the sandboxed process starts.
    Bubblewrap(PathBuf),
}

/// Only the parts of `.git` that git executes or obeys are protected, so that commits work.
const PROTECTED_IN_GIT: [&str; 2] = [".git/config", ".git/hooks"];

/// The guarded files and folders directly in a folder.
pub(super) fn guarded_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let guarded = entries.filter(|entry| is_guarded_name(&entry.file_name()) && entry.file_name() != ".git");
    let in_git =
        PROTECTED_IN_GIT.iter().map(|name| folder.join(name)).filter(|path| path.symlink_metadata().is_ok());
    guarded.map(|entry| entry.path()).chain(in_git).collect()
}

impl SandboxPolicy {
    /// Adds the protected and pinned paths of a writable folder.
    pub(super) fn protect_in(&mut self, folder: &Path) {
        // The target of a link is either protected itself or not writable.
        self.protect
            .extend(guarded_in(folder).into_iter().filter(|path| !path.is_symlink() && path.exists()));
        let git = folder.join(".git");
        self.pin.extend((git.is_dir() && !git.is_symlink()).then_some(git));
    }

    /// A hidden path below a writable folder. Hiding it needs mounts.
    pub(super) fn hidden_below_write(&self) -> Option<&Path> {
        let below = |path: &&PathBuf| self.write.iter().any(|root| path.starts_with(root));
        self.hide.iter().find(below).map(PathBuf::as_path)
    }

    /// A writable folder below a hidden folder that is not shown.
    pub(super) fn write_below_hidden(&self) -> Option<&Path> {
        let below = |path: &&PathBuf| self.hide.iter().any(|hidden| path.starts_with(hidden));
        self.write.iter().filter(|path| !self.show.contains(path)).find(below).map(PathBuf::as_path)
    }
}
