//! A folder held open, reached from the root without following a single link. What is opened or put in place through it
//! is where the path says, even if somebody swaps a part of the path for a link in the meantime.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Enough to walk through a folder; elsewhere that takes the right to read it.
#[cfg(target_os = "linux")]
const WALK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const WALK: OFlags = OFlags::RDONLY;

/// See the module.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// The folder a file is in, and the file's name there. `path` is absolute and free of links; missing folders are
    /// made if `make` says so.
    pub(crate) fn of(path: &Path, make: bool) -> io::Result<(Folder, OsString)> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let above = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
        let flags = WALK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
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
        Ok((Folder(folder), name))
    }

    /// Opens a file for reading; waits for nothing, and refuses a link.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, name, flags, Mode::empty())?))
    }

    /// A new file under a name that nobody has, gone again unless it is put in place.
    pub(crate) fn beside(&self, mode: u32) -> io::Result<Beside<'_>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_bits_truncate(mode as rustix::fs::RawMode);
        loop {
            let name = OsString::from(format!(".osier-{:016x}", RandomState::new().build_hasher().finish()));
            match openat(&self.0, &name, flags, mode) {
                Err(Errno::EXIST) => {}
                opened => return Ok(Beside { folder: self, file: File::from(opened?), name: Some(name) }),
            }
        }
    }
}

/// A file on its way.
#[derive(Debug)]
pub(crate) struct Beside<'a> {
    folder: &'a Folder,
    pub(crate) file: File,
    name: Option<OsString>,
}

impl Beside<'_> {
    /// Gives it its name. A file or link that has this name is replaced, never followed.
    pub(crate) fn put(mut self, name: &OsStr) -> io::Result<()> {
        if let Some(own) = &self.name {
            renameat(&self.folder.0, own, &self.folder.0, name)?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing more can be done about it.
            let _ = unlinkat(&self.folder.0, name, AtFlags::empty());
        }
    }
}
