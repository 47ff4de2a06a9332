//! Landlock: restricts which files a process and its children may open, which TCP ports they may use, and which processes they
//! may signal.
//!
//! Landlock rules can only grant access, and a rule for a folder covers everything below it. To hide a file, we grant access to
//! its siblings and to the siblings of its parents instead of the root.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::policy::{MountMethod, NetworkAccess, SandboxPolicy};

/// Newest first. Versions before V3 cannot prevent truncating files.
const VERSIONS: &[ABI] = &[ABI::V9, ABI::V6, ABI::V5, ABI::V4, ABI::V3];

/// Devices that most programs need. Others, such as disks, would expose hidden files.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty", "fd"];

/// Terminals. Without mounts, these would include the terminal of the user.
const TERMINALS: &[&str] = &["ptmx", "pts"];

/// The newest version that the kernel supports.
pub(super) fn newest_abi() -> Option<ABI> {
    VERSIONS.iter().copied().find(|abi| ruleset(*abi, &NetworkAccess::Off).is_ok())
}

fn ruleset(abi: ABI, network: &NetworkAccess) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    if abi >= ABI::V6 {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    if matches!(network, NetworkAccess::Ports(_)) {
        rules = rules.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    rules.create()
}

/// Restricts this process permanently.
pub(super) fn restrict(policy: &SandboxPolicy) -> io::Result<()> {
    let abi = newest_abi().ok_or_else(|| io::Error::other("Landlock is missing, or older than Linux 6.2"))?;
    let mut rules = ruleset(abi, &policy.network).map_err(io::Error::other)?;
    let read = AccessFs::from_read(abi);
    let write = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for (path, is_dir) in &readable_paths(policy) {
        rules = add_typed_rule(rules, path, *is_dir, read, abi)?;
    }
    for path in &policy.show {
        rules = add_rule(rules, path, read, abi)?;
    }
    let mut devices = DEVICES.to_vec();
    if policy.mounts != MountMethod::None {
        // Mounts cover the hidden paths, so listing names is safe everywhere.
        rules = add_rule(rules, Path::new("/"), AccessFs::ReadDir.into(), abi)?;
        devices.extend(TERMINALS);
    }
    for device in devices.iter().map(|name| Path::new("/dev").join(name)).filter(|path| path.exists()) {
        rules = add_rule(rules, &device, read | (write & (AccessFs::from_file(abi))), abi)?;
    }
    for path in &policy.write {
        rules = add_rule(rules, path, write, abi)?;
    }
    if let NetworkAccess::Ports(ports) = &policy.network {
        for port in ports {
            rules = rules
                .add_rule(NetPort::new(*port, AccessNet::from_all(ABI::V4)))
                .map_err(io::Error::other)?;
        }
    }
    let status = rules.restrict_self().map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        other => Err(io::Error::other(format!("Landlock is {other:?}"))),
    }
}

/// Files that every process may read: how the clock of the user is set.
const ALWAYS_READABLE: &[&str] = &["/etc/localtime", "/usr/share/zoneinfo"];

/// Restricts this process permanently to these files and folders.
pub(super) fn restrict_to(read: &[PathBuf], write: &[PathBuf]) -> io::Result<()> {
    let abi = newest_abi().ok_or_else(|| io::Error::other("Landlock is missing, or older than Linux 6.2"))?;
    let mut rules = ruleset(abi, &NetworkAccess::Off).map_err(io::Error::other)?;
    let always = ALWAYS_READABLE.iter().map(Path::new);
    for path in read.iter().map(PathBuf::as_path).chain(always) {
        rules = add_rule(rules, path, AccessFs::ReadFile | AccessFs::ReadDir, abi)?;
    }
    for path in write {
        rules = add_rule(
            rules,
            path,
            AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock),
            abi,
        )?;
    }
    let status = rules.restrict_self().map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        other => Err(io::Error::other(format!("Landlock is {other:?}"))),
    }
}

/// Adds a rule. A path that no longer exists needs none.
fn add_rule(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> io::Result<RulesetCreated> {
    add_typed_rule(rules, path, path.is_dir(), access, abi)
}

/// Like `add_rule`, for a path whose type is known. A folder may have thousands of entries, so each system call counts.
fn add_typed_rule(
    rules: RulesetCreated,
    path: &Path,
    is_dir: bool,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> io::Result<RulesetCreated> {
    let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
    let access = if is_dir { access } else { access & AccessFs::from_file(abi) };
    rules.add_rule(PathBeneath::new(opened, access)).map_err(io::Error::other)
}

/// Paths, each with whether it is a folder.
type TypedPaths = BTreeMap<PathBuf, bool>;

/// The topmost folders and files that contain nothing hidden.
fn readable_paths(policy: &SandboxPolicy) -> TypedPaths {
    let mut hidden = vec![PathBuf::from("/dev")];
    if policy.mounts == MountMethod::None {
        hidden.extend(policy.hide.iter().cloned());
    }
    let mut found = TypedPaths::new();
    collect_readable(Path::new("/"), &hidden, &mut found);
    found
}

fn collect_readable(folder: &Path, hidden: &[PathBuf], found: &mut TypedPaths) {
    for (path, is_dir) in children(folder, hidden) {
        match () {
            () if hidden.contains(&path) => {}
            () if hidden.iter().any(|hidden| hidden.starts_with(&path)) => {
                collect_readable(&path, hidden, found);
            }
            () => drop(found.insert(path, is_dir)),
        }
    }
}

/// The entries of a folder without links, because a rule for a link would grant access to its target. If the folder cannot be
/// listed, only the entries on the way to a hidden path.
fn children(folder: &Path, hidden: &[PathBuf]) -> TypedPaths {
    let Ok(entries) = fs::read_dir(folder) else {
        let next = |path: &PathBuf| Some(folder.join(path.strip_prefix(folder).ok()?.components().next()?));
        return hidden.iter().filter_map(next).map(|path| (path, true)).collect();
    };
    let typed = entries.flatten().filter_map(|entry| Some((entry.path(), entry.file_type().ok()?)));
    typed.filter(|(_, kind)| !kind.is_symlink()).map(|(path, kind)| (path, kind.is_dir())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_except_the_hidden_path_and_links_is_readable() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        for folder in ["home/.osier/keys", "home/code", "other"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("home/note"), "").unwrap();
        std::os::unix::fs::symlink(root.join("home/.osier"), root.join("home/link")).unwrap();
        let mut found = TypedPaths::new();
        collect_readable(&root, &[root.join("home/.osier")], &mut found);
        let expected = [("home/code", true), ("home/note", false), ("other", true)];
        assert_eq!(found, expected.map(|(name, is_dir)| (root.join(name), is_dir)).into());
    }
}
