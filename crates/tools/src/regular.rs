//! Reads untrusted files safely: a pipe could block forever, and a device or a huge file might never end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::size;

/// Opens a regular file, or a link to one, for reading. Never blocks.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Opening a device can have side effects, so check before opening; check again in case the file was replaced.
    check_regular(&fs::metadata(path)?)?;
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of a regular file of at most `max` bytes.
pub fn read_regular(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    read_to(open_regular(path)?, max)
}

/// Like `read_regular`, if the file may be read by its path without links. The path is that of the open file, so a link that changes
/// meanwhile leads nowhere else.
pub fn read_regular_if(
    path: &Path,
    max: u64,
    check: impl FnOnce(&Path) -> Result<(), String>,
) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    check(&path_of(&file)?).map_err(io::Error::other)?;
    // The path of a file that was removed does not say what it was.
    match file.metadata()?.nlink() {
        0 => Err(io::ErrorKind::NotFound.into()),
        _ => read_to(file, max),
    }
}

#[cfg(not(target_vendor = "apple"))]
fn path_of(file: &File) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(target_vendor = "apple")]
fn path_of(file: &File) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

fn read_to(file: File, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {}", size::bytes(max))));
    }
    Ok(bytes)
}

/// Like `read_regular`, for UTF-8 text.
pub fn read_regular_text(path: &Path, max: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, max)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}

fn check_regular(found: &fs::Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Err(io::Error::other("not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_size_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "12345").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RUSR).unwrap();
        File::create(path("huge")).unwrap().set_len(1 << 40).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("endless")).unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        assert_eq!(read_regular(&path("file"), 5).unwrap(), b"12345");
        assert_eq!(read_regular_text(&path("link"), 5).unwrap(), "12345");
        let reason = |name: &str, max: u64| read_regular(&path(name), max).unwrap_err().to_string();
        assert_eq!(reason("file", 4), "larger than 4 bytes");
        assert_eq!(reason("huge", 1 << 20), "larger than 1.0 MB");
        for name in ["pipe", "endless"] {
            assert_eq!(reason(name, 5), "not a regular file", "{name}");
        }
        assert_eq!(reason("", 5), "is a directory");
        assert_eq!(read_regular(&path("none"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_checked_file_is_the_one_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::write(path("secret"), "secret").unwrap();
        fs::write(path("good"), "good").unwrap();
        let link_to = |target: &str| {
            fs::remove_file(path("link")).ok();
            std::os::unix::fs::symlink(target, path("link")).unwrap();
        };
        let read = |when_checked: &dyn Fn()| {
            read_regular_if(&path("link"), 9, |real| {
                when_checked();
                if real == path("secret") { Err("refused".to_owned()) } else { Ok(()) }
            })
        };
        link_to("secret");
        assert_eq!(read(&|| link_to("good")).unwrap_err().to_string(), "refused");
        assert_eq!(read(&|| link_to("secret")).unwrap(), b"good");
        link_to("good");
        let removed = read(&|| fs::remove_file(path("good")).unwrap());
        assert_eq!(removed.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
