//! Puts a new file in the place of a log. Only a migration and a garbage collection do that; the old file is kept aside.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::stamp::Stamp;
use crate::error::StoreError;

/// Writes a new file whole, or not at all, and fails if the name is taken.
pub(super) fn create(path: &Path, lines: &[Vec<u8>]) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = prepared(folder, lines).map_err(StoreError::io("create", path))?;
    file.persist_noclobber(path).map_err(|failed| match failed.error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::AlreadyExists { id: path.display().to_string() },
        _ => StoreError::io("create", path)(failed.error),
    })?;
    sync_folder(folder).map_err(StoreError::io("sync", folder))
}

/// Replaces the file `path`, which must still be the one with this stamp and size. The old one gets `suffix`.
///
/// The lock on the old file is held through the exchange: a writer that waits for it finds, once it has it, that the name
/// means another file now, and starts again.
pub(super) fn exchange(
    path: &Path,
    stamp: Stamp,
    size: u64,
    lines: &[Vec<u8>],
    suffix: &str,
) -> Result<PathBuf, StoreError> {
    let io = |what| StoreError::io(what, path);
    let old = OpenOptions::new().read(true).append(true).open(path).map_err(io("open"))?;
    old.lock().map_err(io("lock"))?;
    let held = old.metadata().map_err(io("look at"))?;
    let named = fs::metadata(path).map_err(io("look at"))?;
    if Stamp::of(&held) != stamp || Stamp::of(&named) != stamp || held.len() != size {
        return Err(StoreError::Replaced);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = prepared(folder, lines).map_err(io("replace"))?;
    let kept = keep_aside(path, suffix).map_err(io("keep a copy of"))?;
    // A program that takes no lock may have written in between.
    if old.metadata().map_err(io("look at"))?.len() != size {
        return Err(StoreError::Replaced);
    }
    file.persist(path).map_err(|failed| io("replace")(failed.error))?;
    sync_folder(folder).map_err(StoreError::io("sync", folder))?;
    Ok(kept)
}

fn prepared(folder: &Path, lines: &[Vec<u8>]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(".osier-").suffix(".tmp").tempfile_in(folder)?;
    let mut out = io::BufWriter::with_capacity(1 << 20, file.as_file_mut());
    for line in lines {
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    Ok(file)
}

/// A second name for the old file, so that it survives the exchange.
fn keep_aside(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    for number in 0.. {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        if number > 0 {
            name.push(format!(".{number}"));
        }
        match fs::hard_link(path, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|()| name.into()),
        }
    }
    unreachable!("some number is free")
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
