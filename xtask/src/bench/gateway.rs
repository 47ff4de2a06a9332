//! The gateway and RPC mode, measured from outside by the program `gateway-bench` on large sessions.

use std::path::Path;

use anyhow::Result;

use super::compacted_sizes;
use super::generate::SessionShape;
use crate::osier::Osier;
use crate::workspace;

pub(super) fn run(osier: &Osier, dir: &Path, quick: bool) -> Result<()> {
    let project = dir.join("project");
    std::fs::create_dir_all(&project)?;
    println!("== generating sessions in {}", dir.display());
    let mut homes = Vec::new();
    for entries in compacted_sizes(quick) {
        // All of them have the same id, so each has a home of its own.
        let home = dir.join(format!("gateway-home-{entries}"));
        let folder = osier.with_home(&home).sessions_folder(&project)?;
        std::fs::create_dir_all(&folder)?;
        let shape = SessionShape { entries, compacted: true, seed: 3 };
        shape.write(&folder.join(shape.file_name()), &project)?;
        homes.push(home);
    }
    println!("== measuring");
    let clients = if quick { "50" } else { "500" };
    let mut cargo = workspace::cargo()?;
    cargo.args(["run", "--release", "--quiet", "--package", "xtask", "--bin", "gateway-bench", "--"]);
    workspace::run(cargo.arg(osier.binary()).arg(dir).arg(clients).args(homes))
}
