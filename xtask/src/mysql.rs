//! Benchmarks the MySQL store on a private MariaDB server.

use anyhow::Result;

use crate::workspace;

/// Runs the benchmark in the store's own crate, so that xtask needs no database driver.
pub(crate) fn bench(quick: bool) -> Result<()> {
    let mut cargo = workspace::cargo()?;
    cargo.args(["run", "--release", "--quiet", "--package", "osier-store-mysql", "--example", "bench", "--"]);
    if quick {
        cargo.arg("--quick");
    }
    workspace::run(&mut cargo)
}

/// Runs the MySQL store on a private Galera cluster of three servers, with random faults for so many seconds.
pub(crate) fn cluster(seconds: u64, seed: u64) -> Result<()> {
    let mut cargo = workspace::cargo()?;
    cargo.args([
        "run",
        "--release",
        "--quiet",
        "--package",
        "osier-store-mysql",
        "--example",
        "cluster",
        "--",
    ]);
    cargo.args(["--seconds", &seconds.to_string(), "--seed", &seed.to_string()]);
    workspace::run(&mut cargo)
}
