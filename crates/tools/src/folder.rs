//! An open folder handle, reached from the root without following any link. Files opened or created through it are where the
//! path says, even if another process replaces a part of the path with a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Flags to open a folder for traversal only. Other systems need read permission for that.
#[cfg(target_os = "linux")]
const TRAVERSE_FLAGS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const TRAVERSE_FLAGS: OFlags = OFlags::RDONLY;

/// An open folder.
#[derive(Debug)]
pub(crate) struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// Opens the parent folder of a file, and returns it with the file name. `path` is absolute and link-free. Creates missing
    /// folders if `make` is true.
    pub(crate) fn open_parent(path: &Path, make: bool) -> io::Result<(OpenFolder, OsString)> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let above = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
        let flags = TRAVERSE_FLAGS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut folder = rustix::fs::open("/", flags, Mode::empty())?;
        for part in above.components() {
            let Component::Normal(part) = part else { continue };
            folder = match openat(&folder, part, flags, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    match mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    openat(&folder, part, flags, Mode::empty())?
                }
                opened => opened?,
            };
        }
        Ok((OpenFolder(folder), name))
    }

    /// Opens a folder that only this user can change.
    fn open(path: &Path) -> io::Result<OpenFolder> {
        let flags = TRAVERSE_FLAGS | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(OpenFolder(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a file for reading. Never blocks, and does not follow a link.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Creates a temporary file, which is removed unless `persist` gives it a name. On Linux it has no name until then, so that
    /// nothing is left behind even if this process is killed.
    pub(crate) fn create_temp_file(&self, mode: u32) -> io::Result<TempFile<'_>> {
        #[cfg(target_os = "linux")]
        {
            let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
            let mode = Mode::from_bits_truncate(mode as rustix::fs::RawMode);
            // Giving the file a name later needs /proc.
            if Path::new("/proc/self/fd").exists()
                && let Ok(file) = openat(&self.0, ".", flags, mode)
            {
                return Ok(TempFile { folder: self, file: File::from(file), name: None });
            }
        }
        self.create_named_temp_file(mode)
    }

    fn create_named_temp_file(&self, mode: u32) -> io::Result<TempFile<'_>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_bits_truncate(mode as rustix::fs::RawMode);
        loop {
            let name = unused_name();
            match openat(&self.0, &name, flags, mode) {
                Err(Errno::EXIST) => {}
                opened => return Ok(TempFile { folder: self, file: File::from(opened?), name: Some(name) }),
            }
        }
    }
}

fn unused_name() -> OsString {
    OsString::from(format!(".osier-{:016x}", RandomState::new().build_hasher().finish()))
}

/// A temporary file that does not have its final name yet.
#[derive(Debug)]
pub(crate) struct TempFile<'a> {
    folder: &'a OpenFolder,
    pub(crate) file: File,
    name: Option<OsString>,
}

impl TempFile<'_> {
    /// Gives the file its final name. Replaces a file or link with this name; never follows a link.
    ///
    /// Replacing a file needs a temporary name for a moment. The temporary name is in `staging` if that is on the same file
    /// system, so that a process killed at that moment leaves nothing next to the file.
    pub(crate) fn persist(mut self, name: &OsStr, staging: &Path) -> io::Result<()> {
        if self.name.is_none() {
            match self.link(&self.folder.0, name) {
                Err(Errno::EXIST) => {}
                linked => return Ok(linked?),
            }
            let own = unused_name();
            if let Ok(staging) = OpenFolder::open(staging)
                && self.link(&staging.0, &own).is_ok()
            {
                let staged = TempFile { folder: &staging, file: self.file.try_clone()?, name: Some(own) };
                return staged.rename_to(self.folder, name);
            }
            self.link(&self.folder.0, &own)?;
            self.name = Some(own);
        }
        let folder = self.folder;
        self.rename_to(folder, name)
    }

    fn rename_to(mut self, folder: &OpenFolder, name: &OsStr) -> io::Result<()> {
        if let Some(own) = &self.name {
            renameat(&self.folder.0, own, &folder.0, name)?;
        }
        self.name = None;
        Ok(())
    }

    fn link(&self, folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, own, folder, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // An error cannot be handled here.
            let _ = unlinkat(&self.folder.0, name, AtFlags::empty());
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;

    /// A process that is killed while it writes must leave nothing behind.
    #[test]
    fn temporary_file_has_no_name_until_it_is_persisted() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap().join("a");
        let staging = tempfile::tempdir().unwrap();
        let count = || std::fs::read_dir(base.path()).unwrap().count();
        for content in ["first", "second"] {
            let (folder, name) = OpenFolder::open_parent(&path, false).unwrap();
            let before = count();
            let mut temp_path = folder.create_temp_file(0o666).unwrap();
            temp_path.file.write_all(content.as_bytes()).unwrap();
            assert_eq!(count(), before, "the file has no name yet");
            temp_path.persist(&name, staging.path()).unwrap();
            assert_eq!((count(), std::fs::read_to_string(&path).unwrap().as_str()), (1, content));
        }
    }
}
