//! `osier doctor`: checks for common problems and suggests fixes. Changes nothing.

mod extensions;
mod log;
mod sandbox;
mod servers;
mod settings;
mod store;
mod terminal;

use std::process::ExitCode;

use anyhow::Result;
use osier_tree::projection::preview::one_line;
use serde::Serialize;

use crate::home;
use crate::layout::pad_right;
use crate::output_writer::{OutputWriter, TextStyle};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier doctor
  osier doctor --json

Checks settings, trust, keys, servers, the terminal, the sandbox, the stores of sessions, the log,
and the programs that tools use. Requests the model list from servers that have a key. Never shows keys.
Prints one line for each check: ok, warn or fail, and what to do. Exits with 1 if a check fails.")]
pub(crate) struct Args {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The result of one check.
#[derive(Debug, Serialize)]
pub(crate) struct DoctorCheck {
    area: &'static str,
    status: CheckStatus,
    said: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckStatus {
    Ok,
    Warn,
    Fail,
}

impl DoctorCheck {
    fn ok(area: &'static str, said: impl Into<String>) -> DoctorCheck {
        DoctorCheck { area, status: CheckStatus::Ok, said: said.into(), advice: None }
    }

    fn warn(area: &'static str, said: impl Into<String>, advice: impl Into<String>) -> DoctorCheck {
        DoctorCheck { area, status: CheckStatus::Warn, said: said.into(), advice: Some(advice.into()) }
    }

    fn fail(area: &'static str, said: impl Into<String>, advice: impl Into<String>) -> DoctorCheck {
        DoctorCheck { area, status: CheckStatus::Fail, said: said.into(), advice: Some(advice.into()) }
    }
}

pub(crate) async fn run(args: Args) -> Result<ExitCode> {
    let (home, loaded) = home::load_unchecked(&home::cwd()?)?;
    let mut checks = settings::checks(&home, &loaded);
    checks.extend(servers::checks(&home).await);
    checks.extend(terminal::checks());
    checks.push(sandbox::check(&home));
    checks.extend(extensions::check(&home).await);
    let stores = store::checks(&home).await;
    // A home folder that cannot be created has no log either.
    let has_home = home.folder.exists() || stores.iter().all(|check| check.status != CheckStatus::Fail);
    checks.extend(stores);
    checks.extend(has_home.then(|| log::check(&home)));
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&checks)?;
    } else {
        for check in &checks {
            write_check(check, &mut out)?;
        }
    }
    let code = out.finish()?;
    let failed = checks.iter().any(|check| check.status == CheckStatus::Fail);
    Ok(if failed { ExitCode::FAILURE } else { code })
}

fn write_check(check: &DoctorCheck, out: &mut OutputWriter) -> Result<()> {
    let (word, style) = match check.status {
        CheckStatus::Ok => ("ok", TextStyle::Active),
        CheckStatus::Warn => ("warn", TextStyle::Label),
        CheckStatus::Fail => ("fail", TextStyle::Error),
    };
    let status = out.paint(style, &pad_right(word, 4));
    out.line(&format!("{status}  {}  {}", pad_right(check.area, 8), one_line(&check.said, 400)))?;
    if let Some(advice) = &check.advice {
        out.line(&format!("{}→ {}", " ".repeat(16), one_line(advice, 400)))?;
    }
    Ok(())
}
