//! Remembers which sessions were copied from places where others can write. Approvals recorded in such a session do not
//! count, wherever the session is now. A mark is permanent and contains only an id.

use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::{Context, Result};
use osier_tree::header::is_valid_id;

use crate::home::Home;

/// Below the home folder: an empty file for each session.
const FOLDER: &str = "foreign";

impl Home {
    /// Call this before copying the first line, so that an interrupted copy is marked too.
    pub(crate) fn mark_foreign(&self, id: &str) -> Result<()> {
        let mark = self.foreign_mark(id);
        let make = || -> std::io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(self.folder.join(FOLDER))?;
            OpenOptions::new().create(true).append(true).mode(0o600).open(&mark)?.sync_all()?;
            fs::File::open(self.folder.join(FOLDER))?.sync_all()
        };
        make().with_context(|| format!("cannot write {}", mark.display()))
    }

    /// Whether a session is marked. If this cannot be determined, it counts as marked.
    pub(crate) fn is_foreign(&self, id: &str) -> bool {
        !is_valid_id(id) || !matches!(self.foreign_mark(id).try_exists(), Ok(false))
    }

    fn foreign_mark(&self, id: &str) -> PathBuf {
        self.folder.join(FOLDER).join(id)
    }
}
