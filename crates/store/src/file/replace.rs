//! Replaces the file of a log, for migration and garbage collection. The old file is kept as a backup.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use osier_tree::entry::{ParsedLine, parse_line};
use osier_tree::projection::context::with_field;
use osier_tree::scan::RawJson;

use super::log::{LockAttempt, LogFile};
use super::reader::LineReader;
use crate::error::StoreError;
use crate::store::LogVersion;

/// A new file that appears under its name complete, or not at all.
#[derive(Debug)]
pub(super) struct NewFile {
    file: io::BufWriter<tempfile::NamedTempFile>,
}

impl NewFile {
    /// Creates a temporary file in the folder of the final file.
    pub(super) fn create_in(folder: &Path) -> io::Result<NewFile> {
        let file = tempfile::Builder::new().prefix(".osier-").suffix(".tmp").tempfile_in(folder)?;
        Ok(NewFile { file: io::BufWriter::with_capacity(1 << 20, file) })
    }

    pub(super) fn write_lines<L: AsRef<[u8]>>(
        &mut self,
        lines: impl IntoIterator<Item = L>,
    ) -> io::Result<()> {
        for line in lines {
            self.file.write_all(line.as_ref())?;
            self.file.write_all(b"\n")?;
        }
        Ok(())
    }

    fn flush_and_sync(self) -> io::Result<tempfile::NamedTempFile> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    /// Renames it to `path`, which must not exist.
    pub(super) fn persist(self, path: &Path) -> Result<(), StoreError> {
        let file = self.flush_and_sync().map_err(StoreError::io("create", path))?;
        file.persist_noclobber(path).map_err(|persist_error| match persist_error.error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::AlreadyExists { id: path.display().to_string() },
            _ => StoreError::io("create", path)(persist_error.error),
        })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        sync_folder(folder).map_err(StoreError::io("sync", folder))
    }
}

impl LogFile {
    /// Tries to replace the entries of this log, which must be in the state `expected`.
    pub(super) fn rewrite(
        &mut self,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LockAttempt<()>, StoreError> {
        let header = self.header_line()?;
        let header = match RawJson::parse(&header) {
            Ok(raw) => with_field(raw, "rewritten", (self.header.rewrite_count + 1).to_string().as_bytes()),
            Err(_) => header,
        };
        let all: Vec<&[u8]> = std::iter::once(&header).chain(lines).map(Vec::as_slice).collect();
        self.replace_file(expected, &all, ".bak")
    }

    /// Tries to replace a file of an old version with its migrated lines.
    pub(super) fn replace_with_migrated(
        &mut self,
        expected: LogVersion,
    ) -> Result<LockAttempt<()>, StoreError> {
        let Some(lines) = self.migrated.clone() else { return Err(StoreError::Replaced) };
        let suffix = format!(".v{}.bak", self.header.version);
        self.replace_file(expected, &lines, &suffix)
    }

    /// Holds the lock on the old file throughout: a writer that waits for it then sees that the path names another
    /// file, and starts again.
    fn replace_file<L: AsRef<[u8]>>(
        &mut self,
        expected: LogVersion,
        lines: &[L],
        suffix: &str,
    ) -> Result<LockAttempt<()>, StoreError> {
        let old = self.open_to_write()?;
        if !self.try_lock(&old)? {
            return Ok(LockAttempt::Locked);
        }
        let size = self.catch_up_locked(&old, expected)?;
        let io = |what| StoreError::io(what, &self.path);
        // Behind a symbolic link, replace the target and keep the link.
        let path = fs::canonicalize(&self.path).map_err(io("find"))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let file = write_temp_file(folder, lines).map_err(io("replace"))?;
        let kept = create_backup(&path, suffix).map_err(io("back up"))?;
        // A program that takes no lock may have written meanwhile.
        let disturbed = old.metadata().map_err(io("read the metadata of"))?.len() != size;
        let replaced = match disturbed {
            true => Err(StoreError::Conflict { now: self.version() }),
            false => file.persist(&path).map_err(|persist_error| io("replace")(persist_error.error)),
        };
        if let Err(error) = replaced {
            // The old file stays, so it needs no backup.
            let _ = fs::remove_file(kept);
            tracing::debug!(%error, "cannot replace a log");
            return Err(error);
        }
        tracing::info!(file = %path.display(), backup = %kept.display(), "replaced a log");
        sync_folder(folder).map_err(StoreError::io("sync", folder))?;
        Ok(LockAttempt::Done(()))
    }

    /// The header line of the file, or the migrated one.
    fn header_line(&self) -> Result<Vec<u8>, StoreError> {
        let is_header = |line: &[u8]| matches!(parse_line(line), ParsedLine::Header(_));
        if let Some(line) = self.migrated.as_ref().and_then(|lines| lines.iter().find(|line| is_header(line)))
        {
            return Ok(line.clone());
        }
        let mut reader = LineReader::new(&self.file, 0);
        while let Some(line) = reader.next_line().map_err(StoreError::io("read", &self.path))? {
            if is_header(line.bytes) {
                return Ok(line.bytes.to_vec());
            }
        }
        Err(StoreError::NotASession { path: self.path.clone(), reason: "it has no session header" })
    }
}

fn write_temp_file<L: AsRef<[u8]>>(folder: &Path, lines: &[L]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = NewFile::create_in(folder)?;
    file.write_lines(lines)?;
    file.flush_and_sync()
}

/// Creates a hard link to the old file as a backup. Returns its path.
fn create_backup(path: &Path, suffix: &str) -> io::Result<PathBuf> {
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

/// The backups that were made when this file was replaced.
pub(super) fn find_backups(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) =
        (path.parent(), path.file_name().map(|name| name.to_string_lossy().into_owned()))
    else {
        return Vec::new();
    };
    let is_one = |other: &str| {
        let suffix = other.strip_prefix(name.as_str());
        suffix
            .is_some_and(|suffix| [".bak", ".v1.bak", ".v2.bak"].iter().any(|kept| suffix.starts_with(kept)))
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter(|file| file.file_name().to_str().is_some_and(is_one)).map(|file| file.path()).collect()
}
