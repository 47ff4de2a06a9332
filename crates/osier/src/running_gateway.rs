//! Which gateways of this home folder run on this machine. Each holds a lock while it runs, so that the token in the folder is
//! never sent to another program: an ssh tunnel, or someone else's server on the same port. The locked file has its URL.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A longer file does not contain a URL.
const MAX_URL: u64 = 2048;

fn lock_folder(home: &Path) -> PathBuf {
    home.join("cache").join("gateways")
}

fn lock_file(home: &Path, port: u16) -> PathBuf {
    lock_folder(home).join(format!("{port}.lock"))
}

/// Marks a port as a gateway of this home folder until the file is dropped or the process ends.
pub(crate) fn mark(home: &Path, port: u16, url: &str) -> io::Result<File> {
    let path = lock_file(home, port);
    fs::create_dir_all(lock_folder(home))?;
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            file.write_all(url.as_bytes())?;
            Ok(file)
        }
        // Another gateway of this folder has the same port of another address.
        Err(TryLockError::WouldBlock) => Ok(file),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a gateway of this home folder runs on a port.
pub(crate) fn is_marked(home: &Path, port: u16) -> bool {
    is_locked(&lock_file(home, port)).is_some()
}

/// The URLs of the gateways of this home folder that run on this machine.
pub(crate) fn running_urls(home: &Path) -> Vec<String> {
    let files = fs::read_dir(lock_folder(home)).into_iter().flatten().flatten();
    let mut urls: Vec<String> = files
        .filter_map(|file| {
            let mut url = String::new();
            is_locked(&file.path())?.take(MAX_URL).read_to_string(&mut url).ok()?;
            (!url.is_empty()).then_some(url)
        })
        .collect();
    urls.sort();
    urls
}

/// The file, if a running gateway holds its lock.
fn is_locked(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_marked_while_its_gateway_runs() {
        let home = tempfile::tempdir().unwrap();
        assert!(!is_marked(home.path(), 7433));
        let mark = mark(home.path(), 7433, "http://127.0.0.1:7433").unwrap();
        assert!(is_marked(home.path(), 7433));
        assert!(!is_marked(home.path(), 7434));
        assert_eq!(running_urls(home.path()), ["http://127.0.0.1:7433"]);
        drop(mark);
        assert!(!is_marked(home.path(), 7433));
        assert!(running_urls(home.path()).is_empty());
    }
}
