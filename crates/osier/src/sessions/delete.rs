//! `delete`: sessions, for good. Asked before, unless told not to.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_store::{Deleted, FileStore, Filter, Store, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;

use crate::failure::usage;
use crate::home::Home;
use crate::out::{Out, age};
use crate::target::{self, Target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions delete 4f89da11
  osier sessions delete --older-than 30d          of this directory; lists them and asks
  osier sessions delete --older-than 6w --all --yes

Sessions that are open in another process are spared.")]
pub(crate) struct Args {
    /// Sessions: first digits of an id, or a .jsonl file
    #[arg(required_unless_present = "older_than", conflicts_with = "older_than")]
    sessions: Vec<String>,
    /// All that nobody spoke in for so long: 12h, 30d, 6w
    #[arg(long, value_name = "AGE")]
    older_than: Option<String>,
    /// With --older-than: of all directories
    #[arg(long, requires = "older_than")]
    all: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print what was deleted as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let store = home.store();
    let now = home.env().clock.now();
    let chosen: Vec<(String, String)> = match &args.older_than {
        Some(age) => old(&store, home, now - duration(age)?, args.all).await?,
        None => named(&args, home).await?,
    };
    if chosen.is_empty() {
        eprintln!("nothing to delete");
    }
    if !args.yes && !chosen.is_empty() && !agreed(&chosen)? {
        bail!("nothing was deleted");
    }
    let mut gone: Vec<Deleted> = Vec::new();
    let mut failed = false;
    for (key, title) in &chosen {
        match store.delete(key).await {
            Ok(deleted) => gone.push(deleted),
            Err(error @ StoreError::Busy { .. }) => {
                failed |= args.older_than.is_none();
                eprintln!("osier: {title}: {error}");
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut out = Out::new();
    if args.json {
        out.json(&gone)?;
    } else if !gone.is_empty() {
        let (sessions, entries) =
            gone.iter().fold((0, 0), |(s, e), one| (s + one.counts.sessions, e + one.counts.entries));
        eprintln!("{sessions} sessions with {entries} entries deleted");
    }
    out.done()?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn named(args: &Args, home: &Home) -> Result<Vec<(String, String)>> {
    let mut chosen = Vec::new();
    for word in &args.sessions {
        // What is gone already needs no deleting; a path that never was is no error either.
        if target::is_path(word) && !std::path::Path::new(word).exists() {
            continue;
        }
        let target = Target::find(home, word).await?;
        let card = target.store.card(&target.key).await?;
        chosen.push((target.key.clone(), row(&card, home.env().clock.now())));
    }
    Ok(chosen)
}

async fn old(store: &FileStore, home: &Home, before: i64, all: bool) -> Result<Vec<(String, String)>> {
    let filter = Filter { cwd: (!all).then(|| home.cwd.clone()), ..Filter::default() };
    let page = store.list(&filter).await?;
    let now = home.env().clock.now();
    let old = page.cards.iter().filter(|card| card.modified < before);
    Ok(old.map(|card| (card.file.clone().unwrap_or_else(|| card.id.clone()), row(card, now))).collect())
}

fn row(card: &Card, now: i64) -> String {
    format!("{}  {:>4}  {}", card.short_id, age(card.modified, now), one_line(card.title(), 70))
}

fn agreed(chosen: &[(String, String)]) -> Result<bool> {
    for (_, row) in chosen {
        eprintln!("{row}");
    }
    if !std::io::stdin().is_terminal() {
        return Err(usage("add --yes to delete them without being asked"));
    }
    eprint!("Delete {} for good? [y/N] ", if chosen.len() == 1 { "it" } else { "them" });
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Milliseconds from `12h`, `30d`, `6w`.
fn duration(text: &str) -> Result<i64> {
    let bad = || usage(format!("{text:?} is no age; write 12h, 30d or 6w"));
    let unit = text.chars().last().ok_or_else(bad)?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        _ => return Err(bad()),
    };
    let count: i64 = text[..text.len() - 1].parse().map_err(|_| bad())?;
    if count < 0 { Err(bad()) } else { Ok(count.saturating_mul(hours * 3_600_000)) }
}
