//! The overhead of the sandbox: the same empty command with and without it, alternating.

use std::process::Command;

use anyhow::{Result, bail};
use serde_json::json;

use super::Bench;
use super::measure::Cost;
use super::table::BenchRow;

/// The allowed overhead in milliseconds of wall time.
const MAX_OVERHEAD_MS: f64 = 5.0;

pub(super) fn rows(bench: &Bench) -> Vec<BenchRow> {
    ["none", "namespace"].map(|mounts| bench.confined(mounts)).into()
}

impl Bench {
    fn confined(&self, mounts: &str) -> BenchRow {
        let mut row = BenchRow::new("command in the sandbox", &format!("mounts: {mounts}"));
        let result = self.fill_confined(&mut row, mounts);
        row.with_result(result)
    }

    fn fill_confined(&self, row: &mut BenchRow, mounts: &str) -> Result<()> {
        let home = self.dir.join("home");
        std::fs::create_dir_all(&home)?;
        // Without mounts, each entry beside the hidden folder and beside its parents is one rule.
        let home = home.canonicalize()?;
        let beside: usize = home.ancestors().skip(1).flat_map(std::fs::read_dir).map(Iterator::count).sum();
        let policy = json!({
            "write": [self.files.project.canonicalize()?], "hide": [home], "show": [], "protect": [],
            "pin": [], "network": "off", "unixSockets": false, "mounts": mounts,
        });
        let confined = || -> Command {
            let mut command = self.osier.command();
            command.args(["run-confined", &policy.to_string(), ":", "bash", "sh"]);
            command
        };
        if !confined().output()?.status.success() {
            bail!("NOT RUN: this sandbox is not available on this machine");
        }
        let plain = || -> Command {
            let mut command = Command::new("bash");
            command.args(["-c", ":"]);
            command
        };
        let (mut with, mut without): (Option<Cost>, Option<Cost>) = (None, None);
        for _ in 0..self.rounds * 20 {
            let least = |old: Option<Cost>, new: Cost| Some(old.map_or(new.clone(), |old| old.least(new)));
            without = least(without, self.cost(&mut plain())?);
            with = least(with, self.cost(&mut confined())?);
        }
        let (Some(with), Some(without)) = (with, without) else { return Ok(()) };
        let added = with.wall_ms - without.wall_ms;
        let ratio = with.wall_ms / without.wall_ms;
        let text = format!(
            "{added:.1} ms more than {:.1} ms ({ratio:.1}x), at most {MAX_OVERHEAD_MS} ms; {beside} entries beside the hidden folder and its parents",
            without.wall_ms
        );
        row.add_target(added <= MAX_OVERHEAD_MS, &text);
        row.warm = Some(with);
        Ok(())
    }
}
