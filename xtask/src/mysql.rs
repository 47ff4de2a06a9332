//! Measures the store in a database, on a private MariaDB that is started for it.

use anyhow::Result;

use crate::place;

/// Runs the measurement, which belongs to the store's own crate: nothing else here needs a database.
pub(crate) fn bench(quick: bool) -> Result<()> {
    let mut cargo = place::cargo()?;
    cargo.args(["run", "--release", "--quiet", "--package", "osier-store-mysql", "--example", "bench", "--"]);
    if quick {
        cargo.arg("--quick");
    }
    place::run(&mut cargo)
}
