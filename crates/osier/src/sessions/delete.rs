//! `delete`: permanently deletes sessions in any store, after confirmation.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{DeleteReport, DeleteResult, DeletedCounts, KeptReason, ListOptions};
use osier_store::file::DEFAULT_NAME as FILES;
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::time::Millis;
use serde::Serialize;

use crate::confirm::confirm;
use crate::failure::{coded_error, fail, usage_error, warn};
use crate::home::Home;
use crate::layout::{format_age, pluralize, sanitize_line};
use crate::output_writer::{OutputWriter, notice};
use crate::progress::show_progress;
use crate::{stores, target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions delete 4f89da11
  osier sessions delete --older-than 30d          of this directory; lists them and asks first
  osier sessions delete --older-than 6w --all --yes

A session is found in any store; if several stores have a copy, choose one with --store. --older-than applies to the files in the \
home folder, or to the store of --store. Also deletes the sessions of sub-agents. Keeps sessions that are open in \
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
    let plan = home.engine.plan_delete_with_missing(named, &missing).await?;
    // Finding the sessions has reported the stores that do not answer.
    for card in plan.sessions() {
        notice(&session_row(card, home));
    }
    let how_many = plan.sessions().count();
    if !args.yes && how_many > 0 {
        let question = format!("Permanently delete {}?", pluralize(how_many, "session", "sessions"));
        if !confirm(&question, "cannot ask for confirmation without a terminal; add --yes to delete")? {
            fail!(Cancelled, "nothing was deleted");
        }
    }
    let mut report = home.engine.delete(&plan, args.force).await?;
    report_kept(&report);
    let is_named_kept = report.take_named_kept().is_some();
    // Parents come first, which are not the first to be deleted.
    report.deleted.sort_by_key(|(card, _)| {
        plan.sessions()
            .position(|other| (&other.store, &other.id, &other.file) == (&card.store, &card.id, &card.file))
    });
    let mut results: Vec<DeleteOutcome> = report.deleted.into_iter().map(DeleteOutcome::new).collect();
    let mut out = OutputWriter::new();
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
    let failed = is_named_kept && args.older_than.is_none();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl DeleteOutcome {
    fn new((card, deleted): (Card, DeleteResult)) -> DeleteOutcome {
        let DeleteResult { deleted, store, counts } = deleted;
        let (session, agent_id) = (card.id, Some(card.agent_id));
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
    let several = home.has_several_stores();
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

/// Reports the sessions that were kept.
fn report_kept(report: &DeleteReport) {
    for (card, reason) in &report.kept {
        match reason {
            KeptReason::InUse(error) => {
                let text = format!("{}; use --force to delete it anyway", sanitize_line(&error.to_string()));
                warn(&coded_error(error.code(), text));
            }
            KeptReason::ParentKept => notice(&format!(
                "osier: kept {}, because its parent session was kept",
                sanitize_line(&card.short_id)
            )),
        }
    }
    for (session, error) in &report.outputs_left {
        notice(&format!("osier: cannot remove the kept outputs of {session}: {error}"));
    }
}

/// The sessions named on the command line, and the names that match none.
async fn find_named(words: &[String], home: &Home) -> Result<(Vec<Card>, Vec<String>)> {
    let (mut cards, mut missing): (Vec<Card>, Vec<String>) = (Vec::new(), Vec::new());
    for word in words {
        match target::find_to_delete(home, word, looks_like_id(word)).await? {
            Some(stored) => cards.push(stored.card().await?),
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
    let store = Some(home.named_store().unwrap_or(FILES).to_owned());
    let listed = home.engine.list(&ListOptions { store, subagents: true, ..home.list_options(all) }).await?;
    stores::show_unavailable(&listed.unavailable);
    // A fork is newer than its messages.
    let old = listed.cards.into_iter().filter(|card| card.modified.max(card.created) < before);
    Ok(old.collect())
}

fn session_row(card: &Card, home: &Home) -> String {
    let title = one_line(card.title(), 70);
    let store =
        if home.has_several_stores() { format!("  {}", sanitize_line(&card.store)) } else { String::new() };
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
