//! `delete`: sessions, for good. Asked before, unless told not to.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_store::{Deleted, FileStore, Store, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::time::Millis;

use crate::agree::agreed;
use crate::failure::usage;
use crate::home::Home;
use crate::layout::{age, count, plain};
use crate::out::{Out, remark};
use crate::progress::waiting;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions delete 4f89da11
  osier sessions delete --older-than 30d          of this directory; lists them and asks
  osier sessions delete --older-than 6w --all --yes

Sessions that are open in another process are spared. Lists what goes and how much it was, to standard error.")]
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

/// A session that is to go.
struct Chosen {
    key: String,
    row: String,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let store = home.store();
    let chosen = match &args.older_than {
        Some(age) => old(&store, home, home.now().saturating_sub(duration(age)?), args.all).await?,
        None => named(&args.sessions, home).await?,
    };
    for chosen in &chosen {
        remark(&chosen.row);
    }
    if !args.yes && !chosen.is_empty() {
        let question = format!("Delete {} for good?", if chosen.len() == 1 { "it" } else { "them" });
        if !agreed(&question, "add --yes to delete without being asked")? {
            bail!("nothing was deleted");
        }
    }
    let (gone, spared) = delete(&store, &chosen).await?;
    let mut out = Out::new();
    if args.json {
        out.json(&gone)?;
    } else {
        let entries = gone.iter().map(|one| one.counts.entries).sum();
        let sessions = gone.iter().map(|one| one.counts.sessions).sum();
        let (sessions, entries) =
            (count(sessions, "session", "sessions"), count(entries, "entry", "entries"));
        remark(&format!("{sessions} with {entries} deleted"));
    }
    out.done()?;
    let failed = spared > 0 && args.older_than.is_none();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Deletes what is not in use, and tells how many are.
async fn delete(store: &FileStore, chosen: &[Chosen]) -> Result<(Vec<Deleted>, usize)> {
    let (mut gone, mut spared) = (Vec::new(), 0);
    for chosen in chosen {
        match store.delete(&chosen.key).await {
            Ok(deleted) => gone.push(deleted),
            Err(error @ StoreError::Busy { .. }) => {
                spared += 1;
                remark(&format!("osier: {}", plain(&error.to_string())));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((gone, spared))
}

async fn named(words: &[String], home: &Home) -> Result<Vec<Chosen>> {
    let mut chosen: Vec<Chosen> = Vec::new();
    for word in words {
        let target = Target::find(home, word).await?;
        let card = target.store.card(&target.key).await?;
        if !chosen.iter().any(|other| other.key == target.key) {
            chosen.push(Chosen { key: target.key.clone(), row: row(&card, home.now()) });
        }
    }
    Ok(chosen)
}

async fn old(store: &FileStore, home: &Home, before: Millis, all: bool) -> Result<Vec<Chosen>> {
    let _waiting = waiting("reading the sessions");
    let page = store.list(&home.filter(all)).await?;
    // A fork is younger than what was said in it.
    let old = page.cards.iter().filter(|card| card.modified.max(card.created) < before);
    let key = |card: &Card| card.file.clone().unwrap_or_else(|| card.id.clone());
    Ok(old.map(|card| Chosen { key: key(card), row: row(card, home.now()) }).collect())
}

fn row(card: &Card, now: Millis) -> String {
    format!("{}  {:>4}  {}", plain(&card.short_id), age(card.modified, now), one_line(card.title(), 70))
}

/// Milliseconds from `12h`, `30d`, `6w`.
fn duration(text: &str) -> Result<Millis> {
    let hours = |unit: char| match unit {
        'h' => Some(1),
        'd' => Some(24),
        'w' => Some(24 * 7),
        _ => None,
    };
    let parts = text.char_indices().last().map(|(at, unit)| (&text[..at], hours(unit)));
    match parts.and_then(|(count, hours)| Some((count.parse::<u32>().ok()?, hours?))) {
        Some((count, hours)) => Ok(Millis::from(count) * hours * 3_600_000),
        None => Err(usage(format!("{text:?} is no age; write 12h, 30d or 6w"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_hours_days_or_weeks() {
        assert_eq!(duration("12h").unwrap(), 43_200_000);
        assert_eq!(duration("30d").unwrap(), 2_592_000_000);
        assert_eq!(duration("6w").unwrap(), 3_628_800_000);
        for bad in ["", "d", "30", "-1d", "1.5d", "3 d", "1y", "三d", "1三", "99999999999w"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
