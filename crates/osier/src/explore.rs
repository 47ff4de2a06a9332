//! `osier explore`: tries a prompt several times at once, each in its own copy of the project; lists, compares, ranks, keeps
//! and removes tries.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use futures_util::StreamExt;
use osier_engine::{KeepWhen, SummaryModel};
use osier_local_engine::{LocalEngine, LocalEngineOptions};
use osier_protocol::explore::{StoredExplore, TABLE_HEAD, TryStatus, try_options};
use osier_protocol::{
    Client, ClientCommand, ClientEvent, CommandReply, ExploreCommand, ExploreReply, ExploreReport,
    OpenRequest, OpenTarget, Prompt,
};

use crate::closing::close_sessions;
use crate::failure::{local_engine_error, usage_error};
use crate::home::{self, Home};
use crate::layout::{align_table, format_age, sanitize_line, truncate};
use crate::one_shot::OneShot;
use crate::output_writer::{OutputWriter, TextStyle, notice};
use crate::run::signals::{Signals, TerminationSignal};
use crate::trust;

/// The width of the table without a terminal.
const DEFAULT_WIDTH: usize = 160;

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  osier explore 3 'make the parser faster'
  osier explore 2 --model sonnet,gpt-5 'fix the failing test'
  osier explore 2 --instructions 'use a map' --instructions 'use a sorted list' 'speed up lookup'
  osier explore list
  osier explore compare 1a2b3c4d 1 2
  osier explore keep 1a2b3c4d 2

Each try is a branch of the session and works in its own copy of the project. Nothing in the project changes until you keep a try.
Prints a table of the tries: status, files changed, tests run, tokens, cost, last words."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<ExploreAction>,
    /// How many tries
    #[arg(required = true, value_name = "N", value_parser = parse_count)]
    count: Option<usize>,
    /// The prompt
    #[arg(required = true, value_name = "PROMPT")]
    words: Vec<String>,
    /// The models, separated by commas, which the tries use in turn
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    model: Vec<String>,
    /// Text that follows the prompt; with several, the tries use them in turn
    #[arg(long, value_name = "TEXT")]
    instructions: Vec<String>,
    /// Continue the most recent session in this directory
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    go_on: bool,
    /// Continue the session with this id
    #[arg(short, long, value_name = "ID")]
    resume: Option<String>,
    /// Print the tries as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ExploreAction {
    /// List the explores whose copies exist
    #[command(
        after_help = "Examples:\n  osier explore list\n  osier explore list --all --json | jq -r '.[].folder'\n\nPrints the id, the age, the state, the session, the folder and the prompt of each, the newest first."
    )]
    List {
        /// List the explores of all directories
        #[arg(short, long)]
        all: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the tries of an explore
    #[command(after_help = "Examples:\n  osier explore show 1a2b3c4d\n\nPrints a table of the tries.")]
    Show {
        explore: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare two tries: what they said, and how their files differ
    #[command(
        after_help = "Examples:\n  osier explore compare 1a2b3c4d 1 2\n\nPrints the conversations side by side, the changed files, and a patch from the first to the second."
    )]
    Compare {
        explore: String,
        left: u32,
        right: u32,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Move to a try and merge its changes into the working directory
    #[command(
        after_help = "Examples:\n  osier explore keep 1a2b3c4d 2\n\nNothing that you changed meanwhile is overwritten: if changes conflict, they are listed and nothing changes (exit code 1).\nPrints the files that changed."
    )]
    Keep {
        explore: String,
        #[arg(value_name = "TRY")]
        number: u32,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Let a model rank the tries and give reasons
    #[command(
        after_help = "Examples:\n  osier explore rank 1a2b3c4d --model opus\n\nPrints what the model wrote."
    )]
    Rank {
        explore: String,
        /// The model that ranks; by default, the one that writes summaries
        #[arg(long)]
        model: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the copies of an explore, or of one try; the branches stay
    #[command(
        after_help = "Examples:\n  osier explore remove 1a2b3c4d\n  osier explore remove 1a2b3c4d 1\n\nSays on standard error what was removed."
    )]
    Remove {
        explore: String,
        #[arg(value_name = "TRY")]
        number: Option<u32>,
        /// Also if a try was kept only in part and cannot be kept again; your files stay as they are
        #[arg(long)]
        force: bool,
    },
}

fn parse_count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "give the number of tries first, such as `osier explore 3 'PROMPT'`".to_owned())
}

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    match args.command {
        None => start(args, home).await,
        Some(ExploreAction::List { all, json }) => list(&home, all, json),
        Some(ExploreAction::Show { explore, json }) => {
            let (explore, one_shot) = open(&home, &explore, &SummaryModel::Unused).await?;
            let reports = one_shot.client().explores().await?;
            let report = reports.into_iter().find(|report| report.id == explore);
            let report = report.ok_or_else(|| usage_error(format!("no explore {explore}")))?;
            let mut out = OutputWriter::new();
            if json {
                out.json(&report)?;
            } else {
                print_table(&mut out, &report)?;
            }
            out.finish()
        }
        Some(ExploreAction::Compare { explore, left, right, json }) => {
            let (explore, one_shot) = open(&home, &explore, &SummaryModel::Unused).await?;
            let comparison = one_shot.client().compare_tries(Some(explore), left, right).await?;
            let mut out = OutputWriter::new();
            if json {
                out.json(&comparison)?;
                return out.finish();
            }
            for line in comparison.conversation.draw(home::columns().unwrap_or(DEFAULT_WIDTH)) {
                out.line(&sanitize_line(&line))?;
            }
            let sides =
                [(&comparison.left, &comparison.left_files), (&comparison.right, &comparison.right_files)];
            for (one, files) in sides {
                let count = one.files_changed.max(files.len());
                let noun = if count == 1 { "file" } else { "files" };
                out.line(&format!("\nTry {} changed {count} {noun}", one.number))?;
                for file in files {
                    out.line(&format!("  {} {}", file.change.letter(), sanitize_line(&file.path)))?;
                }
                if count > files.len() {
                    out.line(&format!("  … and {} more", count - files.len()))?;
                }
            }
            out.line("")?;
            for line in
                comparison.diff_note().into_iter().chain(comparison.diff.iter().flat_map(|diff| diff.lines()))
            {
                out.line(&sanitize_line(line))?;
            }
            out.finish()
        }
        Some(ExploreAction::Keep { explore, number, json }) => {
            check_directory(&home, &find(&home, &explore)?, number)?;
            let (explore, one_shot) = open(&home, &explore, &SummaryModel::Unused).await?;
            let ExploreReply::Kept(kept) =
                send(&one_shot, ExploreCommand::Keep { explore: Some(explore), number }).await?
            else {
                return Ok(ExitCode::FAILURE);
            };
            let mut out = OutputWriter::new();
            match json {
                true => out.json(&kept)?,
                false => kept.lines().iter().try_for_each(|line| out.line(&sanitize_line(line)))?,
            }
            let code = out.finish()?;
            Ok(if kept.kept { code } else { ExitCode::FAILURE })
        }
        Some(ExploreAction::Rank { explore, model, json }) => {
            let (explore, one_shot) = open(&home, &explore, &SummaryModel::from(model)).await?;
            let ExploreReply::Ranked(ranking) =
                send(&one_shot, ExploreCommand::Rank { explore: Some(explore) }).await?
            else {
                return Ok(ExitCode::FAILURE);
            };
            let mut out = OutputWriter::new();
            match json {
                true => out.json(&ranking)?,
                false => ranking.text.lines().try_for_each(|line| out.line(&sanitize_line(line)))?,
            }
            out.finish()
        }
        Some(ExploreAction::Remove { explore, number, force }) => {
            let stored = find(&home, &explore)?;
            if !home.engine.remove_orphaned_explore(&stored, number).await? {
                let (explore, one_shot) = open(&home, &explore, &SummaryModel::Unused).await?;
                send(&one_shot, ExploreCommand::Remove { explore: Some(explore), number, force }).await?;
            }
            notice(&match number {
                Some(number) => {
                    format!("Removed the copy of try {number} of explore {}; its branch stays", stored.id)
                }
                None => format!("Removed the copies of explore {}; the branches stay", stored.id),
            });
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Opens the session of the explore with this id or prefix. Returns the full id.
async fn open(home: &Home, name: &str, summary: &SummaryModel) -> Result<(String, OneShot)> {
    let stored = find(home, name)?;
    let live = home.engine.open_at(&stored.session.store, &stored.session.key).await?;
    let home = home_of(home, &stored)?;
    Ok((stored.id, OneShot::connect(&home, live, summary).await?))
}

/// What is configured for the directory of an explore.
fn home_of(home: &Home, stored: &StoredExplore) -> Result<Home> {
    let directory = std::path::Path::new(&stored.cwd);
    Ok(if directory == home.cwd { home.clone() } else { home.load_directory(directory).0 })
}

fn find(home: &Home, name: &str) -> Result<StoredExplore> {
    let mut explores = home.engine.list_explores();
    explores.retain(|explore| !name.is_empty() && explore.id.starts_with(name));
    match explores.len() {
        1 => Ok(explores.remove(0)),
        0 => Err(usage_error(format!("no explore {}; `osier explore list` shows them", sanitize_line(name)))),
        count => Err(usage_error(format!("{} could mean {count} explores", sanitize_line(name)))),
    }
}

/// Keeping a try changes files, so it must be in the directory that you are in.
fn check_directory(home: &Home, stored: &StoredExplore, number: u32) -> Result<()> {
    if std::path::Path::new(&stored.cwd) == home.cwd {
        return Ok(());
    }
    let directory = sanitize_line(&stored.cwd);
    Err(usage_error(format!(
        "explore {id} belongs to another directory, {directory}; to change its files, run `cd {directory}` and \
         `osier explore keep {id} {number}`",
        id = stored.id
    )))
}

async fn send(one_shot: &OneShot, command: ExploreCommand) -> Result<ExploreReply> {
    match one_shot.send(ClientCommand::Explore(command)).await? {
        CommandReply::Explore(reply) => Ok(*reply),
        _ => Ok(ExploreReply::Done),
    }
}

fn list(home: &Home, all: bool, json: bool) -> Result<ExitCode> {
    let mut explores = home.engine.list_explores();
    explores.retain(StoredExplore::has_copies);
    let mut out = OutputWriter::new();
    let (mut explores, others): (Vec<StoredExplore>, Vec<StoredExplore>) =
        explores.into_iter().partition(|one| all || std::path::Path::new(&one.cwd) == home.cwd);
    explores.sort_by_key(|explore| std::cmp::Reverse(explore.created));
    if json {
        out.json(&explores)?;
        return out.finish();
    }
    if explores.is_empty() {
        notice(match others.is_empty() {
            true => "no explores; `osier explore 3 'PROMPT'` starts one",
            false => "no explores in this directory; `osier explore list --all` shows those of others",
        });
    }
    for explore in &explores {
        let state = match (explore.unfinished_keep, explore.kept, explore.running) {
            (Some(number), ..) => format!("keep of try {number} interrupted"),
            (_, Some(number), _) => format!("kept try {number}"),
            (_, _, true) => "running".to_owned(),
            _ => "not kept".to_owned(),
        };
        let count = |number: usize, one: &str, more: &str| match number {
            1 => format!("1 {one}"),
            number => format!("{number} {more}"),
        };
        let tries = count(explore.tries as usize, "try", "tries");
        let copies = match explore.copies.len() {
            copies if copies == explore.tries as usize => String::new(),
            copies => format!(", {}", count(copies, "copy", "copies")),
        };
        let session = explore.session_id.get(..8).unwrap_or(&explore.session_id);
        let age = format_age(explore.created, home.now());
        out.line(&sanitize_line(&format!(
            "{}  {age}  {tries}{copies}, {state}  session {session}  {}",
            explore.id, explore.prompt
        )))?;
        if all {
            let project = home.display_path(std::path::Path::new(&explore.cwd));
            out.line(&format!("          {}", sanitize_line(&project)))?;
        }
        let folder = home.display_path(std::path::Path::new(&explore.folder));
        out.line(&out.paint(TextStyle::Dim, &format!("          {}", sanitize_line(&folder))))?;
    }
    out.finish()
}

fn table(report: &ExploreReport) -> Vec<String> {
    let head: Vec<String> = TABLE_HEAD.iter().take(7).map(|name| (*name).to_owned()).collect();
    let rows = report.rows();
    let cells: Vec<Vec<String>> =
        std::iter::once(head).chain(rows.iter().map(|row| row[..7].to_vec())).collect();
    let words = std::iter::once(TABLE_HEAD[7]).chain(rows.iter().map(|row| row[7].as_str()));
    let width = home::columns().unwrap_or(DEFAULT_WIDTH);
    let lines = align_table(&cells);
    lines
        .iter()
        .zip(words)
        .map(|(line, words)| truncate(&sanitize_line(&format!("{line}  {words}")), width))
        .collect()
}

fn print_table(out: &mut OutputWriter, report: &ExploreReport) -> Result<()> {
    table(report).iter().try_for_each(|line| out.line(line))?;
    let note = match report.unfinished_keep {
        Some(number) => format!("keep of try {number} was interrupted; keep it again to finish"),
        None => report.place_note(),
    };
    out.line(&out.paint(TextStyle::Dim, &sanitize_line(&format!("{}: {note}", report.id))))
}

async fn start(args: Args, home: Home) -> Result<ExitCode> {
    trust::print_untrusted(&home);
    let target = match &args.resume {
        Some(name) => OpenTarget::Named { name: name.clone() },
        None if args.go_on => OpenTarget::Latest { cwd: None },
        None => OpenTarget::default(),
    };
    let options = LocalEngineOptions { keep: KeepWhen::Used, ..LocalEngineOptions::default() };
    let engine = LocalEngine::new(home, options);
    let opened = engine.open_session(OpenRequest { target, leaving: None }).await;
    let Some(session) = opened.map_err(local_engine_error)? else { return Ok(ExitCode::FAILURE) };
    let tries = try_options(args.count.unwrap_or_default(), &args.model, &args.instructions);
    let command = ExploreCommand::Start { prompt: Prompt::typed(args.words.join(" ")), tries };
    let ended = follow(&session.client, command).await;
    close_sessions(&engine.engine()).await;
    let (report, signal) = ended?;
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&report)?;
    } else {
        print_table(&mut out, &report)?;
    }
    let code = out.finish()?;
    if !args.json {
        let id = &report.id;
        let useful = report.useful_tries();
        let compare = match useful[..] {
            [first, second, ..] => format!("osier explore compare {id} {first} {second} · "),
            _ => String::new(),
        };
        let keep = useful.first().map(|first| format!("osier explore keep {id} {first} · "));
        notice(&format!("{compare}{}osier explore remove {id}", keep.unwrap_or_default()));
    }
    Ok(match signal {
        Some(signal) => ExitCode::from(signal.exit_code()),
        None if report.tries.iter().any(|one| one.status == TryStatus::Completed) => code,
        None => ExitCode::FAILURE,
    })
}

/// Starts the tries and shows them until all have ended. A signal cancels them.
async fn follow(
    client: &dyn Client,
    command: ExploreCommand,
) -> Result<(ExploreReport, Option<TerminationSignal>)> {
    let mut signals = Signals::listen()?;
    let mut events = client.attach(None).await?.events;
    let CommandReply::Explore(reply) = client.send(ClientCommand::Explore(command)).await? else {
        return Err(usage_error("the tries did not start"));
    };
    let ExploreReply::Started(mut report) = *reply else {
        return Err(usage_error("the tries did not start"));
    };
    let (mut stopped, mut shown) = (None, ShownTable::default());
    notice(&sanitize_line(&format!("exploring, {}", report.place_note())));
    while report.is_running() {
        shown.show(&report);
        tokio::select! {
            signal = signals.next() => {
                if stopped.replace(signal).is_some() {
                    break;
                }
                let cancel = ExploreCommand::Cancel { explore: Some(report.id.clone()), number: None };
                // They may have just ended.
                let _ = client.send(ClientCommand::Explore(cancel)).await;
            }
            event = events.next() => match event {
                Some(ClientEvent::Explore { report: now }) if now.id == report.id => report = *now,
                Some(ClientEvent::Lagged { .. }) | None => {
                    events = client.attach(None).await?.events;
                    let now = client.explores().await?.into_iter().find(|now| now.id == report.id);
                    report = now.unwrap_or(report);
                }
                Some(_) => {}
            },
        }
    }
    shown.clear();
    let last = client.explores().await?.into_iter().find(|now| now.id == report.id);
    Ok((last.unwrap_or(report), stopped))
}

/// The table on a terminal, drawn again in place.
#[derive(Debug, Default)]
struct ShownTable {
    lines: Vec<String>,
}

impl ShownTable {
    fn show(&mut self, report: &ExploreReport) {
        let lines = table(report);
        if std::io::stderr().is_terminal() && lines != self.lines {
            self.clear();
            let mut stderr = std::io::stderr();
            let _ = stderr.write_all((lines.join("\n") + "\n").as_bytes());
            self.lines = lines;
        }
    }

    fn clear(&mut self) {
        if !self.lines.is_empty() {
            let _ = write!(std::io::stderr(), "\x1b[{}A\x1b[J", self.lines.len());
            self.lines.clear();
        }
    }
}
