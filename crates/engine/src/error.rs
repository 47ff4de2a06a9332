//! The errors of the engine: a code and facts. Hints for users are added by the program that shows them.

use std::path::PathBuf;

use osier_agent::AgentError;
use osier_model::LookupError;
use osier_session::SessionError;
use osier_store::StoreError;
use osier_tree::search_query::InvalidPattern;
use osier_tree::{ErrorCode, PlanError};
use serde_json::{Value, json};

use crate::explore::ExploreError;

/// How many ids a message lists.
const MAX_LISTED: usize = 5;

/// An error of an operation.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    BadPattern(#[from] InvalidPattern),
    #[error(transparent)]
    Explore(#[from] ExploreError),
    #[error(transparent)]
    Model(LookupError),
    /// A model for summaries that the user or a setting names.
    #[error("{}{source}", if *is_setting { "cannot use the setting summary_model: " } else { "" })]
    SummaryModel { source: LookupError, is_setting: bool },
    #[error("cannot write the summary with {model}, the model of this session: {reason}")]
    SessionModelUnusable { model: String, reason: String },
    /// `similar` has the short ids of sessions with similar ids.
    #[error("no session {name}")]
    SessionNotFound { name: String, similar: Vec<String> },
    #[error("no session {name} in the other stores, and {store} is unavailable")]
    NotInOtherStores { name: String, store: String, source: Box<StoreError> },
    /// The prefix of an id matches a session, and could match another one in a store that does not answer.
    #[error("{name} is ambiguous: store {store} is unavailable and may contain another match")]
    MaybeInOtherStore { name: String, store: String, reason: String },
    #[error("no file {}", path.display())]
    FileNotFound { path: PathBuf },
    #[error("{} is a folder", path.display())]
    IsFolder { path: PathBuf },
    /// `ids` are short ids, with their stores if those differ.
    #[error("{name} is ambiguous: it could mean {} sessions: {}", ids.len(), join_some(ids))]
    AmbiguousSession { name: String, ids: Vec<String> },
    #[error("{name} is ambiguous: it could mean {} sessions: {}", files.len(), join_some(files))]
    AmbiguousFile { name: String, files: Vec<String> },
    #[error("session {id} is in the stores {}", stores.join(" and "))]
    InSeveralStores { id: String, stores: Vec<String> },
    #[error("no store {store}")]
    StoreNotFound { store: String },
    #[error("the session is already in the store {store}")]
    AlreadyInStore { store: String },
    #[error("nothing to fork: the session is before its first entry")]
    NothingToFork,
    #[error("the entry already has a parentId")]
    ParentGivenTwice,
    #[error("no task {task} is running")]
    TaskNotRunning { task: String },
    #[error("no task is running")]
    NoTaskRuns,
    #[error("nothing was appended")]
    NothingAppended,
    #[error("a hook refused the operation")]
    Refused,
    #[error("cannot rewrite a damaged log")]
    DamagedLog,
    #[error("the session keeps changing")]
    KeepsChanging,
    #[error("cannot remove deleted branches")]
    GcInUse { source: Box<StoreError>, can_force: bool },
    #[error("{} already exists", path.display())]
    FileExists { path: PathBuf },
    /// The extension of the file is unknown, or it has none.
    #[error("cannot export to {}", if extension.is_empty() { "a file without an extension".to_owned() } else { format!(".{extension}") })]
    UnknownExportFormat { extension: String },
    #[error("cannot write {}", path.display())]
    CannotWrite { path: PathBuf, source: std::io::Error },
    /// `similar` has the ids of entries with similar ids.
    #[error("no entry {name} in this session")]
    EntryNotFound { name: String, similar: Vec<String> },
    #[error("entry {id} cannot be read")]
    UnreadableEntry { id: String },
    #[error(
        "the {what} is larger than 64 MB, which is too much for one message; read the entries in pages, print it with `osier sessions \
         {what}`, or read it over HTTP, which streams it: `GET /api/sessions/ID/{what}`"
    )]
    AnswerTooLarge { what: &'static str },
    /// The client only reads, so it has no agent that could answer.
    #[error("only the agent of the session knows this, and a client that only reads starts none")]
    NeedsAgent,
    #[error("the client can only read the session")]
    ReadOnly,
    #[error("session {id} is open in this process; close it first")]
    OpenHere { id: String },
    #[error("no directory {}", path.display())]
    NoSuchDirectory { path: PathBuf },
    #[error("cannot use {}: sessions are served only for {}, as the setting gateway.directories says", path.display(), display_list(allowed))]
    DirectoryNotAllowed { path: PathBuf, allowed: Vec<PathBuf> },
}

impl EngineError {
    /// The machine-readable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            EngineError::Agent(error) => error.code(),
            EngineError::Session(error) => error.code(),
            EngineError::Store(error) => error.code(),
            EngineError::NotInOtherStores { source, .. } | EngineError::GcInUse { source, .. } => {
                source.code()
            }
            EngineError::Plan(error) => error.code(),
            EngineError::BadPattern(_) => ErrorCode::BadPattern,
            EngineError::Explore(error) => error.code(),
            EngineError::SessionNotFound { .. } | EngineError::FileNotFound { .. } => {
                ErrorCode::SessionNotFound
            }
            EngineError::SummaryModel { is_setting: false, .. } => ErrorCode::Usage,
            EngineError::Model(_) | EngineError::SummaryModel { .. } => ErrorCode::ModelNotFound,
            EngineError::SessionModelUnusable { .. } => ErrorCode::Failed,
            EngineError::IsFolder { .. } => ErrorCode::NotASession,
            EngineError::MaybeInOtherStore { .. }
            | EngineError::AmbiguousSession { .. }
            | EngineError::AmbiguousFile { .. }
            | EngineError::InSeveralStores { .. } => ErrorCode::SessionAmbiguous,
            EngineError::EntryNotFound { .. } | EngineError::UnreadableEntry { .. } => {
                ErrorCode::EntryNotFound
            }
            EngineError::StoreNotFound { .. }
            | EngineError::UnknownExportFormat { .. }
            | EngineError::AlreadyInStore { .. }
            | EngineError::NoSuchDirectory { .. }
            | EngineError::ParentGivenTwice => ErrorCode::Usage,
            EngineError::DirectoryNotAllowed { .. } => ErrorCode::DirectoryNotAllowed,
            EngineError::NeedsAgent | EngineError::ReadOnly => ErrorCode::Forbidden,
            EngineError::AnswerTooLarge { .. } => ErrorCode::AnswerTooLarge,
            EngineError::OpenHere { .. } => ErrorCode::SessionBusy,
            EngineError::NothingToFork => ErrorCode::NothingToFork,
            EngineError::Refused => ErrorCode::Cancelled,
            EngineError::KeepsChanging => ErrorCode::Contended,
            EngineError::FileExists { .. } => ErrorCode::AlreadyExists,
            EngineError::CannotWrite { .. } => ErrorCode::Io,
            EngineError::TaskNotRunning { .. } | EngineError::NoTaskRuns => ErrorCode::TaskNotRunning,
            EngineError::NothingAppended | EngineError::DamagedLog => ErrorCode::Failed,
        }
    }

    /// What programs need to know in addition to the code: an object whose fields `docs/json.md` lists.
    pub fn fields(&self) -> Value {
        match self {
            EngineError::Agent(error) => error.fields(),
            EngineError::Session(error) => error.fields(),
            EngineError::Store(error) => error.fields(),
            EngineError::NotInOtherStores { source, .. } | EngineError::GcInUse { source, .. } => {
                source.fields()
            }
            EngineError::Plan(error) => error.fields(),
            EngineError::OpenHere { id } => json!({ "session": id }),
            EngineError::DirectoryNotAllowed { path, allowed } => {
                json!({ "directory": path, "directories": allowed })
            }
            _ => json!({}),
        }
    }
}

fn display_list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The first few of these texts.
pub fn join_some(texts: &[String]) -> String {
    let shown: Vec<&str> = texts.iter().take(MAX_LISTED).map(String::as_str).collect();
    format!("{}{}", shown.join(", "), if texts.len() > MAX_LISTED { ", …" } else { "" })
}

/// The ids that share the longest prefix with `name`, sorted. Less than half of `name` in common is a coincidence.
pub(crate) fn similar_ids<'a>(ids: impl Iterator<Item = &'a str>, name: &str) -> Vec<String> {
    let mut longest = name.len().div_ceil(2).max(2);
    let mut similar: Vec<String> = Vec::new();
    for id in ids {
        let shared = id.bytes().zip(name.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        if shared > longest {
            similar.clear();
            longest = shared;
        }
        if shared == longest && similar.len() <= MAX_LISTED {
            similar.push(id.to_owned());
        }
    }
    similar.sort();
    similar.dedup();
    similar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_share_half_of_the_name_are_similar() {
        let ids = ["a1b2c3d4", "a1b2ffff", "a1000000"];
        assert_eq!(similar_ids(ids.into_iter(), "a1b2c3d9"), ["a1b2c3d4"]);
        assert_eq!(similar_ids(ids.into_iter(), "a1b2"), ["a1b2c3d4", "a1b2ffff"]);
        assert_eq!(similar_ids(ids.into_iter(), "a1999999"), Vec::<String>::new());
    }
}
