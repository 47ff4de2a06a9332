//! Which ports of this machine are gateways of this home folder. A gateway holds a lock while it runs, so that the token in the
//! folder is never sent to another program: an ssh tunnel, or someone else's server on the same port.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

fn lock_file(home: &Path, port: u16) -> PathBuf {
    home.join("cache").join("gateways").join(format!("{port}.lock"))
}

/// Marks a port as a gateway of this home folder until the file is dropped or the process ends.
pub(crate) fn mark(home: &Path, port: u16) -> io::Result<File> {
    let path = lock_file(home, port);
    std::fs::create_dir_all(path.parent().unwrap_or(home))?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        // Another gateway of this folder has the same port of another address.
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(file),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a gateway of this home folder runs on a port.
pub(crate) fn is_marked(home: &Path, port: u16) -> bool {
    let Ok(file) = File::open(lock_file(home, port)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_marked_while_its_gateway_runs() {
        let home = tempfile::tempdir().unwrap();
        assert!(!is_marked(home.path(), 7433));
        let mark = mark(home.path(), 7433).unwrap();
        assert!(is_marked(home.path(), 7433));
        assert!(!is_marked(home.path(), 7434));
        drop(mark);
        assert!(!is_marked(home.path(), 7433));
    }
}
