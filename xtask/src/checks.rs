//! All checks in one command, cheapest first.

use anyhow::{Context, Result};

use crate::args::Args;
use crate::{place, tidy};

enum Check {
    Tidy,
    Cargo(&'static [&'static str]),
}

const FORMAT: Check = Check::Cargo(&["fmt", "--all", "--", "--check"]);
const CLIPPY: Check = Check::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
const TESTS: Check = Check::Cargo(&["test", "--workspace"]);
const UNIT_TESTS: Check = Check::Cargo(&["test", "--workspace", "--lib", "--bins"]);

const FULL: &[Check] = &[FORMAT, Check::Tidy, CLIPPY, TESTS];
const QUICK: &[Check] = &[FORMAT, Check::Tidy, UNIT_TESTS];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let checks = if args.flag("--quick") { QUICK } else { FULL };
    args.finish()?;
    for check in checks {
        check.run()?;
    }
    println!("xtask: {} checks passed", checks.len());
    Ok(())
}

impl Check {
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
            Self::Cargo(words) => place::run(place::cargo()?.args(*words)),
        }
        .with_context(|| format!("stopped at `{}`", self.title()))
    }
}
