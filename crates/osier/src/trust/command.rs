//! `osier trust`: trusts a project's folder, revokes that, or lists the decisions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use serde::Serialize;

use super::records::{self, Records};
use super::{Asked, Standing, Wish, answer, is_somebody_there, listed, project_of};
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::{pad_right, sanitize_line};
use crate::out::{Out, notice};
use crate::settings::{OfProject, Project};

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
    let (home, _) = Home::load_unchecked(&home::cwd()?)?;
    let home = &home;
    let dir = args.dir.clone().unwrap_or_else(|| home.cwd.clone());
    match (args.list, args.remove) {
        (true, _) => list(args.json, home),
        (_, true) => remove(&dir, args.json, home),
        _ => trust(&dir, &args, home),
    }
}

/// A folder in the list of decisions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    folder: String,
    standing: &'static str,
    wishes: Vec<String>,
}

impl Row {
    fn new(root: &Path, standing: &'static str, wishes: &[Wish]) -> Row {
        let wishes = wishes.iter().map(|wish| wish.shown.clone()).collect();
        Row { folder: root.to_string_lossy().into_owned(), standing, wishes }
    }
}

fn trust(dir: &Path, args: &Args, home: &Home) -> Result<ExitCode> {
    let project = project_of(dir, home)?;
    if let Some(objection) = project.objection() {
        bail!("{objection}; it cannot be trusted because other users could change it");
    }
    let of_project = OfProject::read(&project);
    home.check_problems(&of_project.problems)?;
    let root = sanitize_line(&home.display_path(&project.root));
    let records = Records::read(&home.folder)?;
    let asked = Asked::of(&project, &of_project.wanted, || records);
    let asked = asked.map_err(|reason| anyhow::anyhow!("cannot trust {root}: {}", sanitize_line(&reason)))?;
    let Some(asked) = asked else {
        bail!("{root} requests nothing that needs trust");
    };
    if !args.yes && !is_somebody_there() {
        notice(&format!("{root} requests:\n{}", listed(&asked.wishes).trim_end()));
        return Err(usage_error("cannot ask without a terminal; add --yes to trust it"));
    }
    let yes = args.yes || answer(&asked, home)?.unwrap_or(false);
    asked.decide(yes, home)?;
    let standing = if yes { "trusted" } else { "refused" };
    let mut out = Out::new();
    if args.json {
        out.json(&Row::new(&project.root, standing, &asked.wishes))?;
    } else {
        out.line(&format!("{standing}: {root}"))?;
        if args.yes {
            out.text(&listed(&asked.wishes))?;
        }
    }
    out.finish()
}

/// Forgets a decision. Works for folders that no longer exist.
fn remove(dir: &Path, json: bool, home: &Home) -> Result<ExitCode> {
    let root = match project_of(dir, home) {
        Ok(project) => project.root,
        Err(_) => std::path::absolute(dir)?,
    };
    let was_there = records::change(&home.folder, |records| records.remove(&root))?;
    let shown = sanitize_line(&home.display_path(&root));
    if !was_there {
        bail!("no decision about {shown}; `osier trust --list` lists all decisions");
    }
    let mut out = Out::new();
    match json {
        true => out.json(&serde_json::json!({ "folder": root.to_string_lossy(), "standing": "unknown" }))?,
        false => out.line(&format!("forgotten: {shown}"))?,
    }
    out.finish()
}

fn list(json: bool, home: &Home) -> Result<ExitCode> {
    let records = Records::read(&home.folder)?;
    let rows: Vec<Row> = records.folders().map(|(root, yes)| row(root, yes, &records)).collect();
    let mut out = Out::new();
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

fn row(root: &Path, yes: bool, records: &Records) -> Row {
    let project = Project { root: root.to_owned() };
    let asked = Asked::of(&project, &OfProject::read(&project).wanted, || records.clone());
    let standing = match asked.as_ref().map(|asked| asked.as_ref().map(|asked| asked.standing)) {
        _ if !root.is_dir() => "gone",
        Ok(Some(Standing::Changed)) | Err(_) => "changed",
        _ if yes => "trusted",
        _ => "refused",
    };
    Row::new(root, standing, &asked.ok().flatten().map(|asked| asked.wishes).unwrap_or_default())
}
