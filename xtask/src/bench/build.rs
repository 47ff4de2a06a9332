//! The cost of a release build from a cold target folder, and the size of the binary.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};

use super::measure::cost;
use super::table::{self, BenchRow};
use crate::workspace;

/// The most CPU seconds of a release build.
const BUILD_SECONDS: f64 = 396.0;
/// The largest binary with everything on.
const BINARY_MB: f64 = 25.0;

/// Builds from cold, in a target folder below `dir` that is removed first.
pub(super) fn run(dir: &Path) -> Result<()> {
    let target = dir.join("build");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let mut cargo = workspace::cargo()?;
    cargo.args(["build", "--release", "--locked", "--timings", "--target-dir"]).arg(&target);
    let mut row = BenchRow::new("release build", "cold");
    let built = cost(cargo.env_remove("RUSTFLAGS").stderr(Stdio::inherit()), &dir.join("stdout"))?;
    let seconds = built.cpu_ms / 1000.0;
    row.add_target(seconds <= BUILD_SECONDS, &format!("{seconds:.0} of {BUILD_SECONDS} CPU seconds"));
    row.add_note(&format!(
        "{:.0} s wall time; the report is in {}",
        built.wall_ms / 1000.0,
        target.display()
    ));
    let binary = binary_row(&target.join("release/osier"));
    table::print(&[row, binary], false);
    Ok(())
}

/// The size of a binary.
pub(super) fn binary_row(binary: &Path) -> BenchRow {
    let mut row = BenchRow::new("binary", "everything on");
    let size = std::fs::metadata(binary).with_context(|| format!("cannot read {}", binary.display()));
    let result = size.map(|file| {
        let megabytes = file.len() as f64 / 1e6;
        row.add_target(megabytes <= BINARY_MB, &format!("{megabytes:.1} of {BINARY_MB} MB"));
    });
    row.with_result(result)
}
