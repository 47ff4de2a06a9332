//! One-time links that were used. Each is an empty file until it would expire, so that all gateways of a home folder know it,
//! also after a restart.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::grant::Grant;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct UsedLinks {
    folder: PathBuf,
}

impl UsedLinks {
    pub(crate) fn new(folder: &Path) -> UsedLinks {
        UsedLinks { folder: folder.to_owned() }
    }

    /// Uses a link. False if it was used before.
    pub(crate) fn consume(&self, link: &Grant, now: u64) -> io::Result<bool> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.forget_expired(now)?;
        // Of several gateways, one creates the file.
        let id = blake3::hash(link.id.as_bytes()).to_hex();
        let file = self.folder.join(format!("{}-{id}", link.expires));
        match OpenOptions::new().write(true).create_new(true).open(file) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn forget_expired(&self, now: u64) -> io::Result<()> {
        for file in fs::read_dir(&self.folder)? {
            let (name, path) = file.map(|file| (file.file_name(), file.path()))?;
            let expires = name.to_str().and_then(|name| name.split_once('-')?.0.parse().ok());
            if expires.is_some_and(|expires: u64| expires <= now) {
                // Another gateway may have removed it.
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::access::{GrantKind, GrantedAccess};

    fn link(created: u64) -> Grant {
        Grant::new(GrantKind::Link, GrantedAccess::Full, created, Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn a_link_works_once_for_all_gateways_of_a_home_folder() {
        let home = tempfile::tempdir().unwrap();
        let [first, second] = [(); 2].map(|()| UsedLinks::new(&home.path().join("links")));
        let (one, two) = (link(1000), link(1000));
        assert!(first.consume(&one, 1001).unwrap());
        assert!(!second.consume(&one, 1002).unwrap() && !first.consume(&one, 1002).unwrap());
        assert!(second.consume(&two, 1002).unwrap());
    }

    #[test]
    fn used_links_are_forgotten_when_they_expire() {
        let home = tempfile::tempdir().unwrap();
        let links = UsedLinks::new(home.path());
        (0..10).for_each(|at| assert!(links.consume(&link(at), at).unwrap()));
        assert!(links.consume(&link(5000), 5000).unwrap());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
