//! `delete`: sessions, for good, wherever they are. Asked before, unless told not to.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use osier_session::{Listed, Stores};
use osier_store::{Counts, Deleted, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::time::Millis;
use serde::Serialize;

use crate::agree::agreed;
use crate::failure::{fail, failure, usage, warn};
use crate::home::Home;
use crate::layout::{age, count, plain};
use crate::out::{Out, remark};
use crate::progress::waiting;
use crate::stores::{self, Shelf};
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions delete 4f89da11
  osier sessions delete --older-than 30d          of this directory; lists them and asks
  osier sessions delete --older-than 6w --all --yes

A session is found in whatever store it is; if several stores have a copy, --store says which one goes. --older-than is about the files in the home \
folder, or about the store that --store names. The sessions of sub-agents in the same store go with a session. Sessions that are open in \
another process are spared; with --force they go too, and whoever has one open can store nothing more in it. What is gone \
already is told, and no error. Lists what goes and how much it was, to standard error.")]
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
    /// Also sessions that are open in another process
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print [{session, agentId, store, deleted, counts}] as JSON
    #[arg(long)]
    json: bool,
}

/// What became of one session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Gone {
    session: String,
    /// `null`, as the store, if it was not there.
    agent_id: Option<String>,
    store: Option<String>,
    deleted: bool,
    counts: Counts,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let (named, missing) = match &args.older_than {
        Some(age) => (old(home, home.now().saturating_sub(duration(age)?), args.all).await?, Vec::new()),
        None => named(&args.sessions, home).await?,
    };
    let chosen = Chosen::with_subagents(named, home).await?;
    for card in chosen.all() {
        remark(&row(card, home));
    }
    let how_many = chosen.all().count();
    if !args.yes && how_many > 0 {
        let question = format!("Delete {} for good?", if how_many == 1 { "it" } else { "them" });
        if !agreed(&question, "add --yes to delete without being asked")? {
            fail!(Cancelled, "nothing was deleted");
        }
    }
    let (mut gone, spared) = delete(&chosen, args.force, home).await?;
    let mut out = Out::new();
    if args.json {
        gone.extend(missing.into_iter().map(Gone::nowhere));
        out.json(&gone)?;
    } else {
        for word in &missing {
            remark(&format!("no session {}: it is gone, or never was", plain(word)));
        }
        if !gone.is_empty() || missing.is_empty() {
            tell(&gone, home);
        }
    }
    out.done()?;
    let failed = spared > 0 && args.older_than.is_none();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Gone {
    fn of(card: &Card, deleted: Deleted) -> Gone {
        let Deleted { deleted, store, counts } = deleted;
        let (session, agent_id) = (card.id.clone(), Some(card.agent_id.clone()));
        Gone { session, agent_id, store: Some(store), deleted, counts }
    }

    fn nowhere(word: String) -> Gone {
        Gone { session: word, agent_id: None, store: None, deleted: false, counts: Counts::default() }
    }
}

/// How much went, by store if there are several.
fn tell(gone: &[Gone], home: &Home) {
    let several = home.shelves.len() > 1;
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    for one in gone {
        let store = one.store.as_deref().filter(|_| several).unwrap_or_default();
        let sum = counts.entry(store).or_default();
        sum.sessions += one.counts.sessions;
        sum.entries += one.counts.entries;
    }
    if counts.is_empty() {
        counts.insert("", Counts::default());
    }
    for (store, Counts { sessions, entries }) in counts {
        let (sessions, entries) =
            (count(sessions, "session", "sessions"), count(entries, "entry", "entries"));
        let place = if store.is_empty() { String::new() } else { format!(" from {store}") };
        remark(&format!("{sessions} with {entries} deleted{place}"));
    }
}

/// What is to be deleted, each session once. Sub-agents' sessions come behind those they work for.
#[derive(Debug, Default)]
struct Chosen {
    cards: Vec<Card>,
    below: Vec<Card>,
}

impl Chosen {
    async fn with_subagents(mut cards: Vec<Card>, home: &Home) -> Result<Chosen> {
        if cards.is_empty() {
            return Ok(Chosen::default());
        }
        let concerned =
            home.shelves.iter().filter(|shelf| cards.iter().any(|card| card.store == shelf.name()));
        let mut originals = Vec::new();
        for card in &cards {
            if is_original(card, home).await? {
                originals.push(card.clone());
            }
        }
        let (below, down) = Stores::new(concerned.map(Shelf::store).collect()).below(&originals).await?;
        stores::tell(&down);
        let mut known = below.clone();
        cards.retain(|card| {
            let is_new = !known.iter().any(|other| is_same(card, other));
            known.push(card.clone());
            is_new
        });
        Ok(Chosen { cards, below })
    }

    fn all(&self) -> impl Iterator<Item = &Card> {
        self.cards.iter().chain(&self.below)
    }
}

/// Whether a card is of the session that its id means in its store. Sub-agents work for that one, and not for a copy of its file.
async fn is_original(card: &Card, home: &Home) -> Result<bool> {
    let (Some(file), Some(shelf)) = (&card.file, home.shelf(&card.store)) else { return Ok(true) };
    let own = match shelf.store().card(&card.id).await {
        Ok(own) => own.file,
        Err(StoreError::NotFound { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let real = |path: &str| std::fs::canonicalize(path).ok();
    Ok(own.is_some_and(|own| real(&own) == real(file)))
}

fn is_same(card: &Card, other: &Card) -> bool {
    card.store == other.store && card.id == other.id && card.file == other.file
}

/// Deletes what is not in use, and tells how many are. Whose session is in use keeps those of its sub-agents.
async fn delete(chosen: &Chosen, force: bool, home: &Home) -> Result<(Vec<Gone>, usize)> {
    let (mut gone, mut spared): (Vec<Gone>, Vec<&Card>) = (Vec::new(), Vec::new());
    for (at, card) in chosen.all().enumerate() {
        let works_for = |parent: &&Card| {
            parent.store == card.store && card.parent_session_id.as_ref() == Some(&parent.id)
        };
        if at >= chosen.cards.len() && spared.iter().any(works_for) {
            remark(&format!("osier: {} stays with the session it works for", plain(&card.short_id)));
            spared.push(card);
            continue;
        }
        let is_original = is_original(card, home).await?;
        match delete_one(card, force, home).await {
            Ok(deleted) => {
                if is_original {
                    home.remove_outputs(&card.id);
                }
                gone.push(Gone::of(card, deleted));
            }
            Err(error @ StoreError::Busy { .. }) => {
                spared.push(card);
                let text = format!("{}; --force deletes it all the same", plain(&error.to_string()));
                warn(&failure(error.code(), text));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((gone, spared.len()))
}

async fn delete_one(card: &Card, force: bool, home: &Home) -> Result<Deleted, StoreError> {
    let key = card.file.as_deref().unwrap_or(&card.id);
    let not_found = || StoreError::NotFound { store: card.store.clone(), id: card.id.clone() };
    let shelf = home.shelf(&card.store).ok_or_else(not_found)?;
    match (force, shelf, shelf.files()) {
        (true, Shelf::Database(store), _) => store.delete_in_use(key).await,
        (true, _, Some(files)) => files.delete_in_use(key).await,
        _ => shelf.store().delete(key).await,
    }
}

/// The sessions that words mean, and the words that mean none.
async fn named(words: &[String], home: &Home) -> Result<(Vec<Card>, Vec<String>)> {
    let (mut cards, mut missing): (Vec<Card>, Vec<String>) = (Vec::new(), Vec::new());
    for word in words {
        match Target::find_to_delete(home, word, is_id(word)).await? {
            Some(target) => cards.push(target.card().await?),
            None => missing.push(word.clone()),
        }
    }
    Ok((cards, missing))
}

/// Whether a word can be an id that was once shown; anything shorter may be a slip.
fn is_id(word: &str) -> bool {
    word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Of the files in the home folder, unless another store is named: what others keep there too is not old for all of them.
async fn old(home: &Home, before: Millis, all: bool) -> Result<Vec<Card>> {
    let _waiting = waiting("reading the sessions");
    let stores = match home.named_store() {
        Some(_) => home.listed(),
        None => Stores::new(vec![home.files()]),
    };
    let Listed { page, down } = stores.list(&home.filter(all)).await?;
    stores::tell(&down);
    // A fork is younger than what was said in it.
    let old = page.cards.into_iter().filter(|card| card.modified.max(card.created) < before);
    Ok(old.collect())
}

fn row(card: &Card, home: &Home) -> String {
    let title = one_line(card.title(), 70);
    let store = if home.shelves.len() > 1 { format!("  {}", plain(&card.store)) } else { String::new() };
    let whose =
        if card.agent_id == "main" { String::new() } else { format!("{}: ", one_line(&card.agent_id, 20)) };
    format!("{}{store}  {:>4}  {whose}{title}", plain(&card.short_id), age(card.modified, home.now()))
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
