//! All checks in one command, cheapest first.

use anyhow::{Context, Result};

use crate::args::Args;
use crate::{browser, extension_types, test_run, tidy, web_types, workspace};

enum CheckStep {
    Tidy,
    /// The types of the browser code.
    WebTypes,
    /// Installs the browser of the tests.
    Browser,
    Cargo(&'static [&'static str]),
    /// All tests of the workspace.
    Tests,
}

const FORMAT: CheckStep = CheckStep::Cargo(&["fmt", "--all", "--", "--check"]);
const CLIPPY: CheckStep =
    CheckStep::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
const UNIT_TESTS: CheckStep = CheckStep::Cargo(&["test", "--workspace", "--lib", "--bins"]);

const FULL: &[CheckStep] =
    &[FORMAT, CheckStep::Tidy, CheckStep::WebTypes, CheckStep::Browser, CLIPPY, CheckStep::Tests];
const QUICK: &[CheckStep] = &[FORMAT, CheckStep::Tidy, UNIT_TESTS];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let checks = if args.flag("--quick") { QUICK } else { FULL };
    let has_browser = !args.flag("--no-browser");
    args.finish()?;
    for check in checks {
        check.run(has_browser)?;
    }
    println!("xtask: {} checks passed", checks.len());
    if !has_browser {
        println!("NOT RUN: the tests that need a browser");
    }
    Ok(())
}

impl CheckStep {
    fn title(&self) -> String {
        match self {
            Self::Tidy => "tidy".to_owned(),
            Self::WebTypes => "types of the browser code".to_owned(),
            Self::Browser => "browser".to_owned(),
            Self::Cargo(words) => format!("cargo {}", words.join(" ")),
            Self::Tests => "cargo test --workspace".to_owned(),
        }
    }

    fn run(&self, has_browser: bool) -> Result<()> {
        println!("== {}", self.title());
        match self {
            Self::Tidy => tidy::check(),
            Self::WebTypes => check_web_types(),
            Self::Browser if has_browser => browser::prepare(),
            Self::Browser => Ok(()),
            Self::Cargo(words) => workspace::run(workspace::cargo()?.args(*words)),
            Self::Tests if has_browser => test_run::run(&[]),
            Self::Tests => test_run::run(&[("OSIER_NO_BROWSER", "1")]),
        }
        .with_context(|| format!("stopped at `{}`", self.title()))
    }
}

fn check_web_types() -> Result<()> {
    if !web_types::check()? || !extension_types::check_examples()? {
        println!(
            "NOT RUN: types of the browser code and of extensions, because npm cannot install TypeScript"
        );
    }
    Ok(())
}
