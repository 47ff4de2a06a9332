//! The live page in a real browser: how fast the end of a large session is painted, a delta, and a scrolled tree. The measuring
//! program is an example of the viewer; this prepares its sessions.

use std::path::Path;

use anyhow::Result;

use super::generate::SessionShape;
use crate::osier::Osier;
use crate::{browser, workspace};

/// The number of entries of the large session, of about 146 MB.
const LARGE: usize = 100_000;
const SMALL: usize = 40;

pub(super) fn run(given: Option<&str>, dir: &Path, quick: bool) -> Result<()> {
    browser::prepare()?;
    let home = dir.join("page-home");
    let osier = Osier::new(given, home.clone())?;
    let project = dir.join("project");
    std::fs::create_dir_all(&project)?;
    let sessions = osier.sessions_folder(&project)?;
    std::fs::create_dir_all(&sessions)?;
    let large = SessionShape { entries: if quick { LARGE / 10 } else { LARGE }, compacted: false, seed: 1 };
    let small = SessionShape { entries: SMALL, compacted: false, seed: 2 };
    let mut ids = Vec::new();
    for shape in [large, small] {
        let file = sessions.join(shape.file_name());
        shape.write(&file, &project)?;
        println!("{} entries, {}", shape.entries, super::megabytes(&file)?);
        ids.push(shape.id());
    }
    let mut cargo = workspace::cargo()?;
    cargo.args(["run", "--quiet", "--package", "osier-viewer", "--example", "page", "--", "bench"]);
    cargo.arg(osier.binary()).arg(home).arg(project).args(ids);
    workspace::run(&mut cargo)
}
