//! `delete`: permanently deletes sessions in any store, after confirmation.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use osier_session::{ListResult, Stores};
use osier_store::{DeleteResult, DeletedCounts, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::time::Millis;
use serde::Serialize;

use crate::confirm::confirm;
use crate::failure::{coded_error, fail, usage_error, warn};
use crate::home::Home;
use crate::layout::{format_age, pluralize, sanitize_line};
use crate::out::{Out, notice};
use crate::progress::show_progress;
use crate::stores::{self, StoreHandle};
use crate::target::SessionTarget;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions delete 4f89da11
  osier sessions delete --older-than 30d          of this directory; lists them and asks first
  osier sessions delete --older-than 6w --all --yes

A session is found in any store; if several stores have a copy, choose one with --store. --older-than applies to the files in the \
home folder, or to the store of --store. Also deletes the sessions of sub-agents in the same store. Keeps sessions that are open in \
another process; --force deletes them too, and the other process can then no longer write to them. A session that no longer exists \
is not an error. Lists the deleted sessions and their size on standard error.")]
pub(crate) struct Args {
    /// Sessions: the first characters of an id, or a .jsonl file
    #[arg(required_unless_present = "older_than", conflicts_with = "older_than")]
    sessions: Vec<String>,
    /// Delete all sessions without activity for this long: 12h, 30d, 6w
    #[arg(long, value_name = "AGE")]
    older_than: Option<String>,
    /// With --older-than: in all directories
    #[arg(long, requires = "older_than")]
    all: bool,
    /// Delete sessions even if another process has them open
    #[arg(long)]
    force: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print [{session, agentId, store, deleted, counts}] as JSON
    #[arg(long)]
    json: bool,
}

/// The result for one session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeleteOutcome {
    session: String,
    /// `null`, like the store, if the session did not exist.
    agent_id: Option<String>,
    store: Option<String>,
    deleted: bool,
    counts: DeletedCounts,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let (named, missing) = match &args.older_than {
        Some(age) => {
            (find_old(home, home.now().saturating_sub(parse_age(age)?), args.all).await?, Vec::new())
        }
        None => find_named(&args.sessions, home).await?,
    };
    let chosen = DeleteSelection::with_subagents(named, home).await?;
    for card in chosen.all() {
        notice(&session_row(card, home));
    }
    let how_many = chosen.all().count();
    if !args.yes && how_many > 0 {
        let question = format!("Permanently delete {}?", pluralize(how_many, "session", "sessions"));
        if !confirm(&question, "cannot ask for confirmation without a terminal; add --yes to delete")? {
            fail!(Cancelled, "nothing was deleted");
        }
    }
    let (mut results, kept) = delete_all(&chosen, args.force, home).await?;
    let mut out = Out::new();
    if args.json {
        results.extend(missing.into_iter().map(DeleteOutcome::not_found));
        out.json(&results)?;
    } else {
        for word in &missing {
            notice(&format!("no session {}; it may already be deleted", sanitize_line(word)));
        }
        if !results.is_empty() || missing.is_empty() {
            print_totals(&results, home);
        }
    }
    out.finish()?;
    let failed = kept > 0 && args.older_than.is_none();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl DeleteOutcome {
    fn new(card: &Card, deleted: DeleteResult) -> DeleteOutcome {
        let DeleteResult { deleted, store, counts } = deleted;
        let (session, agent_id) = (card.id.clone(), Some(card.agent_id.clone()));
        DeleteOutcome { session, agent_id, store: Some(store), deleted, counts }
    }

    fn not_found(word: String) -> DeleteOutcome {
        DeleteOutcome {
            session: word,
            agent_id: None,
            store: None,
            deleted: false,
            counts: DeletedCounts::default(),
        }
    }
}

/// Prints how many sessions and entries were deleted, by store if there are several.
fn print_totals(results: &[DeleteOutcome], home: &Home) {
    let several = home.store_handles.len() > 1;
    let mut counts: BTreeMap<&str, DeletedCounts> = BTreeMap::new();
    for result in results {
        let store = result.store.as_deref().filter(|_| several).unwrap_or_default();
        let sum = counts.entry(store).or_default();
        sum.sessions += result.counts.sessions;
        sum.entries += result.counts.entries;
    }
    if counts.is_empty() {
        counts.insert("", DeletedCounts::default());
    }
    for (store, DeletedCounts { sessions, entries }) in counts {
        let (sessions, entries) =
            (pluralize(sessions, "session", "sessions"), pluralize(entries, "entry", "entries"));
        let place = if store.is_empty() { String::new() } else { format!(" from {store}") };
        notice(&format!("Deleted {sessions} ({entries}){place}"));
    }
}

/// The sessions to delete, each once. Sessions of sub-agents come after their parents.
#[derive(Debug, Default)]
struct DeleteSelection {
    cards: Vec<Card>,
    subagents: Vec<Card>,
}

impl DeleteSelection {
    async fn with_subagents(mut cards: Vec<Card>, home: &Home) -> Result<DeleteSelection> {
        if cards.is_empty() {
            return Ok(DeleteSelection::default());
        }
        let concerned =
            home.store_handles.iter().filter(|handle| cards.iter().any(|card| card.store == handle.name()));
        let mut originals = Vec::new();
        for card in &cards {
            if is_original(card, home).await? {
                originals.push(card.clone());
            }
        }
        let (below, down) =
            Stores::new(concerned.map(StoreHandle::store).collect()).subagent_sessions(&originals).await?;
        stores::show_unavailable(&down);
        let mut known = below.clone();
        cards.retain(|card| {
            let is_new = !known.iter().any(|other| is_same(card, other));
            known.push(card.clone());
            is_new
        });
        Ok(DeleteSelection { cards, subagents: below })
    }

    fn all(&self) -> impl Iterator<Item = &Card> {
        self.cards.iter().chain(&self.subagents)
    }
}

/// Whether a card is the session that its store opens by id, not a copy of its file. Sub-agents belong to that one only.
async fn is_original(card: &Card, home: &Home) -> Result<bool> {
    let (Some(file), Some(handle)) = (&card.file, home.store_handle(&card.store)) else { return Ok(true) };
    let own = match handle.store().card(&card.id).await {
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

/// Deletes the sessions that are not in use, and returns how many were kept. A kept session also keeps those of its sub-agents.
async fn delete_all(
    chosen: &DeleteSelection,
    force: bool,
    home: &Home,
) -> Result<(Vec<DeleteOutcome>, usize)> {
    let (mut results, mut kept): (Vec<DeleteOutcome>, Vec<&Card>) = (Vec::new(), Vec::new());
    for (at, card) in chosen.all().enumerate() {
        let works_for = |parent: &&Card| {
            parent.store == card.store && card.parent_session_id.as_ref() == Some(&parent.id)
        };
        if at >= chosen.cards.len() && kept.iter().any(works_for) {
            notice(&format!(
                "osier: kept {}, because its parent session was kept",
                sanitize_line(&card.short_id)
            ));
            kept.push(card);
            continue;
        }
        let is_original = is_original(card, home).await?;
        match delete_one(card, force, home).await {
            Ok(deleted) => {
                if is_original {
                    home.remove_outputs(&card.id);
                }
                results.push(DeleteOutcome::new(card, deleted));
            }
            Err(error @ StoreError::Busy { .. }) => {
                kept.push(card);
                let text = format!("{}; use --force to delete it anyway", sanitize_line(&error.to_string()));
                warn(&coded_error(error.code(), text));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((results, kept.len()))
}

async fn delete_one(card: &Card, force: bool, home: &Home) -> Result<DeleteResult, StoreError> {
    let key = card.file.as_deref().unwrap_or(&card.id);
    let not_found = || StoreError::NotFound { store: card.store.clone(), id: card.id.clone() };
    let handle = home.store_handle(&card.store).ok_or_else(not_found)?;
    match (force, handle, handle.file_store()) {
        (true, StoreHandle::Database(store), _) => store.delete_in_use(key).await,
        (true, _, Some(files)) => files.delete_in_use(key).await,
        _ => handle.store().delete(key).await,
    }
}

/// The sessions named on the command line, and the names that match none.
async fn find_named(words: &[String], home: &Home) -> Result<(Vec<Card>, Vec<String>)> {
    let (mut cards, mut missing): (Vec<Card>, Vec<String>) = (Vec::new(), Vec::new());
    for word in words {
        match SessionTarget::find_to_delete(home, word, looks_like_id(word)).await? {
            Some(target) => cards.push(target.card().await?),
            None => missing.push(word.clone()),
        }
    }
    Ok((cards, missing))
}

/// Whether a word can be a displayed session id; anything shorter may be a typo.
fn looks_like_id(word: &str) -> bool {
    word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Old sessions among the files in the home folder, or in the store of `--store`. Other stores may be shared, so they must be named.
async fn find_old(home: &Home, before: Millis, all: bool) -> Result<Vec<Card>> {
    let _progress = show_progress("reading the sessions");
    let stores = match home.named_store() {
        Some(_) => home.listed_stores(),
        None => Stores::new(vec![home.file_store()]),
    };
    let ListResult { page, unavailable: down } = stores.list(&home.session_filter(all)).await?;
    stores::show_unavailable(&down);
    // A fork is newer than its messages.
    let old = page.cards.into_iter().filter(|card| card.modified.max(card.created) < before);
    Ok(old.collect())
}

fn session_row(card: &Card, home: &Home) -> String {
    let title = one_line(card.title(), 70);
    let store = if home.store_handles.len() > 1 {
        format!("  {}", sanitize_line(&card.store))
    } else {
        String::new()
    };
    let whose =
        if card.agent_id == "main" { String::new() } else { format!("{}: ", one_line(&card.agent_id, 20)) };
    format!(
        "{}{store}  {:>4}  {whose}{title}",
        sanitize_line(&card.short_id),
        format_age(card.modified, home.now())
    )
}

/// Milliseconds from `12h`, `30d`, `6w`.
fn parse_age(text: &str) -> Result<Millis> {
    let hours = |unit: char| match unit {
        'h' => Some(1),
        'd' => Some(24),
        'w' => Some(24 * 7),
        _ => None,
    };
    let parts = text.char_indices().last().map(|(at, unit)| (&text[..at], hours(unit)));
    match parts.and_then(|(count, hours)| Some((count.parse::<u32>().ok()?, hours?))) {
        Some((count, hours)) => Ok(Millis::from(count) * hours * 3_600_000),
        None => Err(usage_error(format!("invalid age {text:?}; use 12h, 30d or 6w"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_hours_days_or_weeks() {
        assert_eq!(parse_age("12h").unwrap(), 43_200_000);
        assert_eq!(parse_age("30d").unwrap(), 2_592_000_000);
        assert_eq!(parse_age("6w").unwrap(), 3_628_800_000);
        for bad in ["", "d", "30", "-1d", "1.5d", "3 d", "1y", "三d", "1三", "99999999999w"] {
            assert!(parse_age(bad).is_err(), "{bad}");
        }
    }
}
