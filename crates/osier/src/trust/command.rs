//! `osier trust`: trusts a project's folder, revokes that, or lists the decisions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_settings::trust::{
    TrustItem, TrustRecords, TrustRequest, TrustStatus, find_project, update_records,
};
use osier_settings::{Project, ProjectSettings};
use serde::Serialize;

use super::{ask_user, format_items, is_interactive};
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::{pad_right, sanitize_line};
use crate::output_writer::{OutputWriter, notice};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier trust                  show what this project requests, and ask
  osier trust ~/site --yes     trust another project without the question
  osier trust --remove         forget the decision
  osier trust --list

A project is the nearest folder that contains .osier or .git. Its .osier folder can change harmless
settings, such as the thinking level. Servers, keys, commands, models, tools and prompts are ignored
until you trust it, and again when they change. Prints what the project requests.")]
pub(crate) struct Args {
    /// A directory in the project; by default the current one
    dir: Option<PathBuf>,
    /// Trust it without the question
    #[arg(long, short, conflicts_with_all = ["list", "remove"])]
    yes: bool,
    /// Forget the decision about it
    #[arg(long, conflicts_with = "list")]
    remove: bool,
    /// List all decisions
    #[arg(long, conflicts_with = "dir")]
    list: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Works even with invalid settings, which stop other commands: the project's file may be the cause.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let (home, _) = home::load_unchecked(&home::cwd()?)?;
    let home = &home;
    let dir = args.dir.clone().unwrap_or_else(|| home.cwd.clone());
    match (args.list, args.remove) {
        (true, _) => list_decisions(args.json, home),
        (_, true) => remove_decision(&dir, args.json, home),
        _ => decide(&dir, &args, home),
    }
}

/// A folder in the list of decisions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrustRow {
    folder: String,
    standing: &'static str,
    wishes: Vec<String>,
}

impl TrustRow {
    fn new(root: &Path, standing: &'static str, wishes: &[TrustItem]) -> TrustRow {
        let wishes = wishes.iter().map(|item| item.display.clone()).collect();
        TrustRow { folder: root.to_string_lossy().into_owned(), standing, wishes }
    }
}

fn decide(dir: &Path, args: &Args, home: &Home) -> Result<ExitCode> {
    let project = find_project(dir, home)?;
    if let Some(objection) = project.unsafe_reason() {
        bail!("{objection}; it cannot be trusted because other users could change it");
    }
    let of_project = ProjectSettings::read(&project);
    home.check_problems(&of_project.problems)?;
    let root = sanitize_line(&home.display_path(&project.root));
    let records = TrustRecords::read(&home.folder)?;
    let request = TrustRequest::for_project(&project, &of_project.needs_trust, || records);
    let request =
        request.map_err(|reason| anyhow::anyhow!("cannot trust {root}: {}", sanitize_line(&reason)))?;
    let Some(request) = request else {
        bail!("{root} requests nothing that needs trust");
    };
    if !args.yes && !is_interactive() {
        notice(&format!("{root} requests:\n{}", format_items(&request.items).trim_end()));
        return Err(usage_error("cannot ask without a terminal; add --yes to trust it"));
    }
    let yes = args.yes || ask_user(&request, home)?.unwrap_or(false);
    request.store_decision(yes, home)?;
    let standing = if yes { "trusted" } else { "refused" };
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&TrustRow::new(&project.root, standing, &request.items))?;
    } else {
        out.line(&format!("{standing}: {root}"))?;
        if args.yes {
            out.text(&format_items(&request.items))?;
        }
    }
    out.finish()
}

/// Forgets a decision. Works for folders that no longer exist.
fn remove_decision(dir: &Path, json: bool, home: &Home) -> Result<ExitCode> {
    let root = match find_project(dir, home) {
        Ok(project) => project.root,
        Err(_) => std::path::absolute(dir)?,
    };
    let was_there = update_records(&home.folder, |records| records.remove(&root))?;
    let display_path = sanitize_line(&home.display_path(&root));
    if !was_there {
        bail!("no decision about {display_path}; `osier trust --list` lists all decisions");
    }
    let mut out = OutputWriter::new();
    match json {
        true => out.json(&serde_json::json!({ "folder": root.to_string_lossy(), "standing": "unknown" }))?,
        false => out.line(&format!("forgotten: {display_path}"))?,
    }
    out.finish()
}

fn list_decisions(json: bool, home: &Home) -> Result<ExitCode> {
    let records = TrustRecords::read(&home.folder)?;
    let rows: Vec<TrustRow> = records.folders().map(|(root, yes)| trust_row(root, yes, &records)).collect();
    let mut out = OutputWriter::new();
    if json {
        out.json(&rows)?;
        return out.finish();
    }
    for row in &rows {
        out.line(&format!(
            "{}  {}",
            pad_right(row.standing, 7),
            sanitize_line(&home.display_path(Path::new(&row.folder)))
        ))?;
    }
    if rows.is_empty() {
        notice("no trust decisions yet");
    }
    out.finish()
}

fn trust_row(root: &Path, yes: bool, records: &TrustRecords) -> TrustRow {
    let project = Project { root: root.to_owned() };
    let request =
        TrustRequest::for_project(&project, &ProjectSettings::read(&project).needs_trust, || records.clone());
    let standing = match request.as_ref().map(|request| request.as_ref().map(|request| request.status)) {
        _ if !root.is_dir() => "gone",
        Ok(Some(TrustStatus::Changed)) | Err(_) => "changed",
        _ if yes => "trusted",
        _ => "refused",
    };
    TrustRow::new(root, standing, &request.ok().flatten().map(|request| request.items).unwrap_or_default())
}
