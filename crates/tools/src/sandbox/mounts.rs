//! Mounts that hide files from a sandboxed process and make protected files read-only. The process creates the mounts itself in
//! a new namespace, or Bubblewrap does where only Bubblewrap may.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use super::policy::SandboxPolicy;

const NONE: Option<&str> = None;

/// A namespace for mounts, and one for shared memory, semaphores and message queues.
const NAMESPACES: CloneFlags = CloneFlags::CLONE_NEWNS.union(CloneFlags::CLONE_NEWIPC);

/// Moves this process into new namespaces and creates the mounts of the policy.
pub(super) fn enter(policy: &SandboxPolicy) -> io::Result<()> {
    // Without a user namespace only root can do this, and in some containers not even root.
    if !geteuid().is_root() || unshare(NAMESPACES).is_err() {
        enter_user_namespace()?;
    }
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    hide_terminals()?;
    for path in policy.write.iter().filter(|path| path.parent().is_some()) {
        bind_mount(path, path).map_err(|error| error_with_path(path, &error))?;
    }
    for path in &policy.hide {
        let shown: Vec<&PathBuf> = policy.show.iter().filter(|shown| shown.starts_with(path)).collect();
        hide_path(path, &shown).map_err(|error| error_with_path(path, &error))?;
    }
    for path in &policy.pin {
        bind_mount(path, path).map_err(|error| error_with_path(path, &error))?;
    }
    for path in &policy.protect {
        bind_mount(path, path)
            .and_then(|()| remount_read_only(path))
            .map_err(|error| error_with_path(path, &error))?;
    }
    remount_rest_read_only(&policy.write)?;
    // The working directory may be covered by one of the new mounts; enter it again.
    std::env::set_current_dir(std::env::current_dir()?)
}

fn enter_user_namespace() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | NAMESPACES)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Covers the terminals of other processes. Programs can still create their own.
fn hide_terminals() -> io::Result<()> {
    let folder = Path::new("/dev/pts");
    if !folder.exists() {
        return Ok(());
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=600");
    mount(Some("devpts"), folder, Some("devpts"), flags, options)
        .map_err(|error| error_with_path(folder, &error.into()))
}

/// Covers a path with an empty folder or file. The paths in `shown` stay visible in it.
fn hide_path(path: &Path, shown: &[&PathBuf]) -> io::Result<()> {
    if !path.is_dir() {
        return bind_mount(Path::new("/dev/null"), path);
    }
    let opened =
        shown.iter().map(|shown| open(shown.as_path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()));
    let opened = opened.collect::<Result<Vec<_>, _>>()?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some("mode=0755,size=64k"))?;
    for (shown, opened) in shown.iter().zip(&opened) {
        let from = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let is_dir = from.metadata()?.is_dir();
        fs::create_dir_all(if is_dir { shown } else { shown.parent().unwrap_or(path) })?;
        if !is_dir {
            fs::write(shown, "")?;
        }
        bind_mount(&from, shown)?;
    }
    let flags = flags | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    Ok(mount(NONE, path, NONE, flags, NONE)?)
}

fn bind_mount(from: &Path, to: &Path) -> io::Result<()> {
    Ok(mount(Some(from), to, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?)
}

/// Makes a mount read-only. Keeps its other flags, because a user namespace may not remove them.
fn remount_read_only(path: &Path) -> io::Result<()> {
    use rustix::fs::StatVfsMountFlags as Has;
    let has = rustix::fs::statvfs(path)?.f_flag;
    let kept = [
        (Has::NOSUID, MsFlags::MS_NOSUID),
        (Has::NODEV, MsFlags::MS_NODEV),
        (Has::NOEXEC, MsFlags::MS_NOEXEC),
        (Has::NOATIME, MsFlags::MS_NOATIME),
        (Has::NODIRATIME, MsFlags::MS_NODIRATIME),
        (Has::RELATIME, MsFlags::MS_RELATIME),
    ];
    let kept = kept.into_iter().filter(|(flag, _)| has.contains(*flag)).map(|(_, flag)| flag);
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | kept.collect::<MsFlags>();
    Ok(mount(NONE, path, NONE, flags, NONE)?)
}

/// Makes all other mounts read-only. Landlock does not restrict changes of permissions, owners and times.
fn remount_rest_read_only(write: &[PathBuf]) -> io::Result<()> {
    let mounts = fs::read("/proc/self/mountinfo")?;
    let rest = mounts.split(|byte| *byte == b'\n').filter_map(writable_mount_point);
    for path in rest.filter(|path| !write.iter().any(|root| path.starts_with(root))) {
        match remount_read_only(&path) {
            // Covered by another mount, or in a folder of another user: the command cannot reach it either.
            Err(error) if is_unreachable(&error) => {}
            result => result.map_err(|error| error_with_path(&path, &error))?,
        }
    }
    Ok(())
}

fn is_unreachable(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw), Some(Errno::ENOENT | Errno::EACCES))
}

/// The mount point in a line of `mountinfo`; `None` if the mount is read-only, or if opening it would trigger an automount.
fn writable_mount_point(line: &[u8]) -> Option<PathBuf> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let (mount_point, options) = (fields.get(4)?, fields.get(5)?);
    let file_system = fields.get(fields.iter().position(|field| *field == b"-")? + 1)?;
    let is_writable = options.split(|byte| *byte == b',').any(|option| option == b"rw");
    let is_wanted = is_writable && *file_system != b"autofs";
    is_wanted.then(|| PathBuf::from(OsString::from_vec(unescape_octal(mount_point))))
}

/// Decodes `\040` and the like: `mountinfo` escapes blanks and backslashes.
fn unescape_octal(mut text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    while let [first, rest @ ..] = text {
        text = match rest {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if *first == b'\\' => {
                decoded.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            _ => {
                decoded.push(*first);
                rest
            }
        };
    }
    decoded
}

fn error_with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The arguments for Bubblewrap that create the same mounts. The sandboxed program follows them.
pub(super) fn bubblewrap_arguments(policy: &SandboxPolicy, program: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        ["--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev"].map(OsString::from).to_vec();
    let mut add = |option: &str, paths: &[&Path]| {
        words.push(option.into());
        words.extend(paths.iter().map(OsString::from));
    };
    for path in &policy.write {
        add("--bind", &[path, path]);
    }
    for path in &policy.hide {
        match path.is_dir() {
            true => add("--tmpfs", &[path]),
            false => add("--ro-bind", &[Path::new("/dev/null"), path]),
        }
    }
    for path in &policy.show {
        add(if policy.write.contains(path) { "--bind" } else { "--ro-bind" }, &[path, path]);
    }
    if policy.hide.iter().any(|hidden| program.starts_with(hidden)) {
        add("--ro-bind", &[program, program]);
    }
    for path in &policy.pin {
        add("--bind", &[path, path]);
    }
    for path in &policy.protect {
        add("--ro-bind", &[path, path]);
    }
    add("--", &[]);
    words
}

/// Drops the capabilities that could undo the restrictions, if this process is root.
pub(super) fn drop_capabilities() {
    let dropped = CapabilitySet::all()
        - CapabilitySet::CHOWN
        - CapabilitySet::DAC_OVERRIDE
        - CapabilitySet::FOWNER
        - CapabilitySet::FSETID
        - CapabilitySet::SETGID
        - CapabilitySet::SETUID;
    for capability in dropped.iter() {
        // This fails if the kernel does not know the capability, or if we are not root: then the process does not have it.
        let _ = remove_capability_from_bounding_set(capability);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writable_mounts_are_made_read_only() {
        let parse = |options: &str, file_system: &str| {
            let line = format!(
                "36 35 98:0 /m /mnt\\040one\\134 {options} master:1 - {file_system} /dev/root rw,errors=continue"
            );
            writable_mount_point(line.as_bytes())
        };
        assert_eq!(parse("rw,noatime", "ext4"), Some(PathBuf::from("/mnt one\\")));
        assert_eq!(parse("ro,noatime", "ext4"), None);
        assert_eq!(parse("rw", "autofs"), None);
        assert_eq!(writable_mount_point(b""), None);
    }

    /// The command-line tests attack Bubblewrap with the same arguments.
    #[test]
    fn bubblewrap_hides_first_then_shows_and_protects() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let policy = SandboxPolicy {
            write: paths(&["/p"]),
            hide: paths(&["/tmp", "/dev/null"]),
            show: paths(&["/tmp/shown"]),
            pin: paths(&["/p/.git"]),
            protect: paths(&["/p/.git/hooks"]),
            ..SandboxPolicy::default()
        };
        let words = bubblewrap_arguments(&policy, Path::new("/usr/bin/osier"));
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let expected = "--unshare-ipc --ro-bind / / --dev /dev --bind /p /p --tmpfs /tmp --ro-bind /dev/null /dev/null \
                        --ro-bind /tmp/shown /tmp/shown --bind /p/.git /p/.git --ro-bind /p/.git/hooks /p/.git/hooks --";
        assert_eq!(words.join(" "), expected);
        let words = bubblewrap_arguments(&policy, Path::new("/tmp/osier"));
        assert!(words.windows(3).any(|part| part == ["--ro-bind", "/tmp/osier", "/tmp/osier"]), "{words:?}");
    }
}
