//! Confines the current process itself, for a process that runs code of others: no programs, no sockets, and only the files that
//! it needs. What the system does not support is left out; the caller learns what is in force.

use std::io;
use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::policy::{MountMethod, NetworkAccess, SandboxPolicy};
use super::{file_access, mounts, syscalls};

/// Address space of a confined process in bytes.
const MAX_MEMORY: u64 = 8 << 30;
/// Open files of a confined process.
const MAX_OPEN_FILES: u64 = 512;

/// The files that a confined process may use. All paths are canonical.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessConfinement {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Not accessible, except for what `read` and `write` name.
    pub hide: Vec<PathBuf>,
    /// Whether it may read everything else.
    pub reads_all: bool,
    /// Whether it may write everything else.
    pub writes_all: bool,
}

/// Confines this process permanently. Call it before any thread starts. Returns the names of what is in force.
pub fn confine_process(confinement: &ProcessConfinement) -> Vec<String> {
    let mut in_force = Vec::new();
    if limit_resources().is_ok() {
        in_force.push("resource limits".to_owned());
    }
    in_force.extend(confine_files(confinement));
    let policy = SandboxPolicy { network: NetworkAccess::Off, ..SandboxPolicy::default() };
    if syscalls::restrict(&policy).and_then(|()| syscalls::forbid_programs()).is_ok() {
        in_force.push("seccomp".to_owned());
    }
    in_force
}

fn limit_resources() -> io::Result<()> {
    let limits = [(Resource::Core, 0), (Resource::As, MAX_MEMORY), (Resource::Nofile, MAX_OPEN_FILES)];
    for (resource, limit) in limits {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}

fn confine_files(confinement: &ProcessConfinement) -> Vec<String> {
    let ProcessConfinement { read, write, hide, reads_all, writes_all } = confinement;
    if !reads_all && !writes_all {
        mounts::drop_capabilities();
        let done = file_access::restrict_to(read, write);
        return done.map(|()| vec!["Landlock".to_owned()]).unwrap_or_default();
    }
    let existing =
        |paths: &[PathBuf]| -> Vec<PathBuf> { paths.iter().filter(|path| path.exists()).cloned().collect() };
    let everywhere = writes_all.then(|| PathBuf::from("/"));
    let policy = SandboxPolicy {
        write: existing(write).into_iter().chain(everywhere).collect(),
        hide: existing(hide),
        show: existing(read).into_iter().chain(existing(write)).collect(),
        mounts: MountMethod::Namespace,
        ..SandboxPolicy::default()
    };
    let has_mounts = mounts::enter(&policy).is_ok();
    mounts::drop_capabilities();
    if has_mounts {
        let named = vec!["mount namespace".to_owned()];
        return match file_access::restrict(&policy) {
            Ok(()) => [named, vec!["Landlock".to_owned()]].concat(),
            Err(_) => named,
        };
    }
    // Landlock alone cannot hide a folder below one in which files may be created.
    let policy = SandboxPolicy { mounts: MountMethod::None, ..policy };
    match !writes_all && file_access::restrict(&policy).is_ok() {
        true => vec!["Landlock".to_owned()],
        false => Vec::new(),
    }
}
