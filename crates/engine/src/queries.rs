//! Answers to the queries of clients. Each reads the current state of a session and changes nothing.

mod compaction;
mod completions;
mod entries;
mod models;
mod status;

use osier_agent::Worker;
use osier_protocol::TreeSnapshot;
use osier_protocol::query::{QueryAnswer, SessionQuery};
use osier_tree::Seq;
use osier_tree::entry::parse_entry;
use osier_tree::projection::compare::Comparison;
use osier_tree::projection::compare::ComparisonBuilder;
use osier_tree::projection::usage::{UsageMeter, UsageReport, usage_entries};

use crate::error::EngineError;
use crate::operations::tree::tree_snapshot;
use crate::reading::{feed_lines, resolve_place};

pub(crate) async fn answer(worker: &Worker, query: SessionQuery) -> Result<QueryAnswer, EngineError> {
    let session = worker.session();
    Ok(match query {
        SessionQuery::Path { limit } => QueryAnswer::Path(entries::path(worker, limit).await?),
        SessionQuery::Entry { id } => QueryAnswer::Entry(entries::entry(worker, &id).await?),
        SessionQuery::Entries { after } => {
            QueryAnswer::Entries(entries::entries(worker, after.as_deref()).await?)
        }
        SessionQuery::Context => QueryAnswer::Context { messages: entries::context(worker).await? },
        SessionQuery::LastReply => QueryAnswer::LastReply { reply: entries::last_reply(worker).await? },
        SessionQuery::Landmark { id } => {
            QueryAnswer::Landmark(entries::landmark(worker, id.as_deref()).await?)
        }
        SessionQuery::Tree => QueryAnswer::Tree { tree: tree(worker).await? },
        SessionQuery::Sandbox => QueryAnswer::Sandbox { sandbox: status::sandbox(worker).await },
        SessionQuery::Models => QueryAnswer::Models { models: models::names(worker) },
        SessionQuery::ModelDetails => QueryAnswer::ModelDetails(models::details(worker).await?),
        SessionQuery::Commands => QueryAnswer::Commands { commands: completions::commands(worker).await },
        SessionQuery::Files { limit } => {
            QueryAnswer::Files { files: completions::files(worker, limit).await }
        }
        SessionQuery::Status => QueryAnswer::Status(status::status(worker).await?),
        SessionQuery::Card => QueryAnswer::Card { card: session.store().card(session.key()).await? },
        SessionQuery::Usage => QueryAnswer::Usage { usage: usage(worker).await? },
        SessionQuery::Compare { left, right } => {
            QueryAnswer::Compare { comparison: compare(worker, &left, &right).await? }
        }
        SessionQuery::Settings => {
            let settings = session.tree().marks().settings().clone();
            QueryAnswer::Settings { settings: settings.into_iter().collect() }
        }
        SessionQuery::Compaction { entry } => {
            QueryAnswer::Compaction(compaction::details(worker, entry.as_deref()).await?)
        }
        SessionQuery::ForkPoints { all_branches } => {
            QueryAnswer::ForkPoints { points: entries::fork_points(worker, all_branches).await? }
        }
    })
}

async fn tree(worker: &Worker) -> Result<TreeSnapshot, EngineError> {
    let (state, leaf) = worker.cursor().state_and_place();
    tree_snapshot(worker.session(), &state, leaf).await
}

async fn usage(worker: &Worker) -> Result<UsageReport, EngineError> {
    let (state, at) = worker.cursor().state_and_place();
    let seqs: Vec<Seq> = usage_entries(&state.tree).collect();
    let mut meter = UsageMeter::default();
    let add = |seq: Seq, line: &[u8]| -> Result<(), EngineError> {
        if let Ok(entry) = parse_entry(line) {
            meter.add_entry(seq, &entry);
        }
        Ok(())
    };
    worker.session().for_each_line(state.version, &seqs, add).await?;
    Ok(meter.report(&state.tree, at))
}

async fn compare(worker: &Worker, left: &str, right: &str) -> Result<Comparison, EngineError> {
    let tree = worker.session().tree();
    let (left, right) = (resolve_place(&tree, Some(left))?, resolve_place(&tree, Some(right))?);
    let mut builder = ComparisonBuilder::new(&tree, left, right);
    feed_lines(worker.session(), &mut builder).await?;
    Ok(builder.finish())
}
