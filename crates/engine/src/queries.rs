//! Answers to the queries of clients. Each reads the current state of a session and changes nothing.

mod compaction;
mod completions;
pub(crate) mod entries;
mod models;
mod search;
mod status;

use osier_agent::Worker;
use osier_protocol::query::{QueryAnswer, SessionQuery};
use osier_session::Cursor;
use osier_store::LogVersion;
use osier_tree::Seq;
use osier_tree::entry::parse_entry;
use osier_tree::projection::compare::{Comparison, ComparisonBuilder};
use osier_tree::projection::preview::{one_line, shown_text};
use osier_tree::projection::usage::{UsageMeter, UsageReport, usage_entries};

use crate::error::EngineError;
use crate::operations::tree::{first_rows, tree_snapshot};
use crate::reading::{feed_lines, resolve_place};

/// The maximum length of the title of a branch.
const MAX_TITLE_CHARS: usize = 80;

/// Answers the query of a client or an extension about the session of an agent.
pub async fn answer_query(worker: &Worker, query: SessionQuery) -> Result<QueryAnswer, EngineError> {
    Ok(match query {
        SessionQuery::Sandbox => QueryAnswer::Sandbox { sandbox: status::sandbox(worker).await },
        SessionQuery::Models => QueryAnswer::Models { models: models::names(worker) },
        SessionQuery::ModelDetails => QueryAnswer::ModelDetails(models::details(worker).await?),
        SessionQuery::Commands => QueryAnswer::Commands { commands: completions::commands(worker).await },
        SessionQuery::Files { limit } => {
            QueryAnswer::Files { files: completions::files(worker, limit).await }
        }
        SessionQuery::Agents => QueryAnswer::Agents { agents: completions::agents(worker).await },
        SessionQuery::Status => QueryAnswer::Status(status::status(worker).await?),
        query => match answer_from_session(worker.cursor(), query).await? {
            Some(answer) => answer,
            None => return Err(EngineError::NeedsAgent),
        },
    })
}

/// Answers a query from what is stored, without an agent. `None` if only an agent knows the answer.
pub(crate) async fn answer_from_session(
    cursor: &Cursor,
    query: SessionQuery,
) -> Result<Option<QueryAnswer>, EngineError> {
    let session = cursor.session();
    Ok(Some(match query {
        SessionQuery::Path { limit } => QueryAnswer::Path(entries::path(cursor, limit).await?),
        SessionQuery::Entry { id } => QueryAnswer::Entry(entries::entry(cursor, &id).await?),
        SessionQuery::Entries { after } => {
            QueryAnswer::Entries(entries::entries(cursor, after.as_deref()).await?)
        }
        SessionQuery::Context => QueryAnswer::Context { messages: entries::context(cursor).await? },
        SessionQuery::MessageCount => {
            QueryAnswer::MessageCount { messages: entries::message_count(cursor).await? }
        }
        SessionQuery::LastReply => QueryAnswer::LastReply { reply: entries::last_reply(cursor).await? },
        SessionQuery::Landmark { id } => {
            QueryAnswer::Landmark(entries::landmark(cursor, id.as_deref()).await?)
        }
        SessionQuery::Tree => {
            let (state, leaf) = cursor.state_and_place();
            QueryAnswer::Tree { tree: tree_snapshot(session, &state, leaf).await? }
        }
        SessionQuery::FirstRows { filter, around } => {
            let (state, leaf) = cursor.state_and_place();
            QueryAnswer::Tree { tree: first_rows(session, &state, leaf, filter, around.as_deref()).await? }
        }
        SessionQuery::Status => QueryAnswer::Status(status::stored_status(cursor).await?),
        SessionQuery::Card => QueryAnswer::Card { card: session.store().card(session.key()).await? },
        SessionQuery::Usage => QueryAnswer::Usage { usage: usage(cursor).await? },
        SessionQuery::Search { query } => QueryAnswer::Search { ids: search::search(cursor, &query).await? },
        SessionQuery::Compare { left, right } => {
            QueryAnswer::Compare { comparison: compare(cursor, &left, &right).await? }
        }
        SessionQuery::Settings => {
            let settings = session.tree().marks().settings().clone();
            QueryAnswer::Settings { settings: settings.into_iter().collect() }
        }
        SessionQuery::Compaction { entry } => {
            QueryAnswer::Compaction(compaction::details(cursor, entry.as_deref()).await?)
        }
        SessionQuery::ForkPoints { all_branches } => {
            QueryAnswer::ForkPoints { points: entries::fork_points(cursor, all_branches).await? }
        }
        SessionQuery::Subagents => {
            let batches = session.subagent_projections(&session.state()).await?.into_values().collect();
            QueryAnswer::Subagents { batches }
        }
        SessionQuery::Sandbox
        | SessionQuery::Explores
        | SessionQuery::CompareTries { .. }
        | SessionQuery::Agents
        | SessionQuery::Models
        | SessionQuery::ModelDetails
        | SessionQuery::Commands
        | SessionQuery::Files { .. } => return Ok(None),
    }))
}

async fn usage(cursor: &Cursor) -> Result<UsageReport, EngineError> {
    let (state, at) = cursor.state_and_place();
    let seqs: Vec<Seq> = usage_entries(&state.tree).collect();
    let mut meter = UsageMeter::default();
    let add = |seq: Seq, line: &[u8]| -> Result<(), EngineError> {
        if let Ok(entry) = parse_entry(line) {
            meter.add_entry(seq, &entry);
        }
        Ok(())
    };
    cursor.session().for_each_line(state.version, &seqs, add).await?;
    let mut report = meter.report(&state.tree, at);
    set_branch_titles(cursor, state.version, &mut report).await?;
    Ok(report)
}

/// Reads the titles of the branches without a label.
async fn set_branch_titles(
    cursor: &Cursor,
    version: LogVersion,
    report: &mut UsageReport,
) -> Result<(), EngineError> {
    let untitled = report.branches.iter_mut().filter(|branch| branch.title.is_empty());
    let mut untitled: Vec<(Seq, &mut String)> =
        untitled.filter_map(|branch| Some((branch.title_entry?, &mut branch.title))).collect();
    untitled.sort_unstable_by_key(|(seq, _)| *seq);
    let seqs: Vec<Seq> = untitled.iter().map(|(seq, _)| *seq).collect();
    let set_title = |seq: Seq, line: &[u8]| -> Result<(), EngineError> {
        if let Ok(entry) = parse_entry(line)
            && let Ok(at) = untitled.binary_search_by_key(&seq, |(seq, _)| *seq)
        {
            *untitled[at].1 = one_line(&shown_text(&entry), MAX_TITLE_CHARS);
        }
        Ok(())
    };
    cursor.session().for_each_line(version, &seqs, set_title).await
}

async fn compare(cursor: &Cursor, left: &str, right: &str) -> Result<Comparison, EngineError> {
    let tree = cursor.session().tree();
    let (left, right) = (resolve_place(&tree, Some(left))?, resolve_place(&tree, Some(right))?);
    let mut builder = ComparisonBuilder::new(&tree, left, right);
    feed_lines(cursor.session(), &mut builder).await?;
    Ok(builder.finish())
}
