//! The queries of a client as typed methods, so that callers get the answer they asked for.

use osier_tree::EntryId;
use osier_tree::ErrorCode;
use osier_tree::projection::card::Card;
use osier_tree::projection::compare::Comparison;
use osier_tree::projection::outline::OutlineFilter;
use osier_tree::projection::subagents::SubagentProjection;
use osier_tree::projection::usage::UsageReport;
use serde_json::{Map, Value};

use crate::client::Client;
use crate::error::ClientError;
use crate::explore::{ExploreReport, TryComparison};
use crate::query::{
    AgentDescription, CompactionDetails, EntriesAnswer, EntryAnswer, ForkPoint, Landmark, ModelDetails,
    PathAnswer, PromptCommand, QueryAnswer, SandboxStatus, SessionQuery, SessionStatus,
};
use crate::tree_snapshot::TreeSnapshot;

/// An engine that answers another question than the client asked.
fn unexpected_answer() -> ClientError {
    ClientError::new(ErrorCode::Failed, "unexpected answer from the engine")
}

macro_rules! queries {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $answer:ty: $query:expr => $pattern:pat => $value:expr;)*) => {
        impl dyn Client + '_ {$(
            $(#[$doc])*
            pub async fn $name(&self, $($argument: $type),*) -> Result<$answer, ClientError> {
                match self.query($query).await? {
                    $pattern => Ok($value),
                    _ => Err(unexpected_answer()),
                }
            }
        )*}
    };
}

queries! {
    /// The end of the path: at most `limit` entries.
    path(limit: Option<usize>) -> PathAnswer: SessionQuery::Path { limit } => QueryAnswer::Path(path) => path;
    entry(id: EntryId) -> EntryAnswer: SessionQuery::Entry { id } => QueryAnswer::Entry(entry) => entry;
    /// The first page of all entries, or of those that were stored after one of them.
    entries(after: Option<EntryId>) -> EntriesAnswer:
        SessionQuery::Entries { after } => QueryAnswer::Entries(entries) => entries;
    context() -> Vec<Value>: SessionQuery::Context => QueryAnswer::Context { messages } => messages;
    /// The number of messages in the context.
    message_count() -> usize: SessionQuery::MessageCount => QueryAnswer::MessageCount { messages } => messages;
    last_reply() -> Option<EntryAnswer>: SessionQuery::LastReply => QueryAnswer::LastReply { reply } => reply;
    landmark(id: Option<EntryId>) -> Landmark:
        SessionQuery::Landmark { id } => QueryAnswer::Landmark(landmark) => landmark;
    tree() -> TreeSnapshot: SessionQuery::Tree => QueryAnswer::Tree { tree } => tree;
    /// The tree with the previews around an entry, or around the leaf.
    first_rows(filter: OutlineFilter, around: Option<EntryId>) -> TreeSnapshot:
        SessionQuery::FirstRows { filter, around } => QueryAnswer::Tree { tree } => tree;
    status() -> SessionStatus: SessionQuery::Status => QueryAnswer::Status(status) => status;
    sandbox() -> SandboxStatus: SessionQuery::Sandbox => QueryAnswer::Sandbox { sandbox } => sandbox;
    models() -> Vec<String>: SessionQuery::Models => QueryAnswer::Models { models } => models;
    model_details() -> ModelDetails:
        SessionQuery::ModelDetails => QueryAnswer::ModelDetails(details) => details;
    commands() -> Vec<PromptCommand>: SessionQuery::Commands => QueryAnswer::Commands { commands } => commands;
    files(limit: usize) -> Vec<String>: SessionQuery::Files { limit } => QueryAnswer::Files { files } => files;
    agents() -> Vec<AgentDescription>: SessionQuery::Agents => QueryAnswer::Agents { agents } => agents;
    subagents() -> Vec<SubagentProjection>:
        SessionQuery::Subagents => QueryAnswer::Subagents { batches } => batches;
    explores() -> Vec<ExploreReport>: SessionQuery::Explores => QueryAnswer::Explores { explores } => explores;
    compare_tries(explore: Option<String>, left: u32, right: u32) -> TryComparison:
        SessionQuery::CompareTries { explore, left, right } => QueryAnswer::CompareTries(comparison) => *comparison;
    card() -> Card: SessionQuery::Card => QueryAnswer::Card { card } => card;
    usage() -> UsageReport: SessionQuery::Usage => QueryAnswer::Usage { usage } => usage;
    search(query: String) -> Vec<EntryId>: SessionQuery::Search { query } => QueryAnswer::Search { ids } => ids;
    compare(left: EntryId, right: EntryId) -> Comparison:
        SessionQuery::Compare { left, right } => QueryAnswer::Compare { comparison } => comparison;
    settings() -> Map<String, Value>:
        SessionQuery::Settings => QueryAnswer::Settings { settings } => settings;
    /// A compaction; without an entry, the last one on the path.
    compaction(entry: Option<EntryId>) -> CompactionDetails:
        SessionQuery::Compaction { entry } => QueryAnswer::Compaction(details) => details;
    fork_points(all_branches: bool) -> Vec<ForkPoint>:
        SessionQuery::ForkPoints { all_branches } => QueryAnswer::ForkPoints { points } => points;
}
