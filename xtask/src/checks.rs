//! All checks in one command, cheapest first.

use anyhow::{Context, Result};

use crate::args::Args;
use crate::{tidy, workspace};

enum CheckStep {
    Tidy,
    Cargo(&'static [&'static str]),
}

const FORMAT: CheckStep = CheckStep::Cargo(&["fmt", "--all", "--", "--check"]);
const CLIPPY: CheckStep =
    CheckStep::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
const TESTS: CheckStep = CheckStep::Cargo(&["test", "--workspace"]);
const UNIT_TESTS: CheckStep = CheckStep::Cargo(&["test", "--workspace", "--lib", "--bins"]);

const FULL: &[CheckStep] = &[FORMAT, CheckStep::Tidy, CLIPPY, TESTS];
const QUICK: &[CheckStep] = &[FORMAT, CheckStep::Tidy, UNIT_TESTS];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let checks = if args.flag("--quick") { QUICK } else { FULL };
    args.finish()?;
    for check in checks {
        check.run()?;
    }
    println!("xtask: {} checks passed", checks.len());
    Ok(())
}

impl CheckStep {
    fn title(&self) -> String {
        match self {
            Self::Tidy => "tidy".to_owned(),
            Self::Cargo(words) => format!("cargo {}", words.join(" ")),
        }
    }

    fn run(&self) -> Result<()> {
        println!("== {}", self.title());
        match self {
            Self::Tidy => tidy::check(),
            Self::Cargo(words) => workspace::run(workspace::cargo()?.args(*words)),
        }
        .with_context(|| format!("stopped at `{}`", self.title()))
    }
}
