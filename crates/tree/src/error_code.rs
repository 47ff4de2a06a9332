//! The machine-readable error codes: one list for all crates, printed with `--json` and described in `docs/json.md`.

macro_rules! error_codes {
    ($($variant:ident $name:literal $meaning:literal,)*) => {
        /// A machine-readable error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum ErrorCode {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)*
        }

        impl ErrorCode {
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The code in JSON output. It never changes.
            pub const fn name(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name,)* }
            }

            /// A short description.
            pub const fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$variant => $meaning,)* }
            }
        }
    };
}

error_codes! {
    Usage "usage" "the command line is invalid; the exit code is 2",
    InvalidRequest "invalid_request" "a request to a gateway is not valid",
    Unauthorized "unauthorized" "a request to a gateway has no valid token",
    Forbidden "forbidden" "the gateway does not allow this request: its token only allows reading, or its host name or its page is not accepted",
    SessionNotFound "session_not_found" "the session or file does not exist",
    EntryNotFound "entry_not_found" "the session has no entry with this id",
    ParentNotFound "parent_not_found" "the parent of the new entry does not exist",
    EntryAmbiguous "entry_ambiguous" "the id prefix matches several entries",
    SessionAmbiguous "session_ambiguous" "the id prefix matches several sessions, or the session is in several stores",
    LeafChanged "leaf_changed" "the leaf of the session is not the expected one",
    SessionBusy "session_busy" "a turn is running, or another process has the session open or locked",
    SessionChanged "session_changed" "the session was changed or replaced in the meantime; try again",
    SessionClosed "session_closed" "the session was closed",
    QuestionClosed "question_closed" "the question was answered, or its turn has ended",
    SessionDamaged "session_damaged" "the file was truncated while it was open",
    NotASession "not_a_session" "the file is not a session",
    AlreadyExists "already_exists" "the name or id is already in use",
    InvalidId "invalid_id" "the id is not valid",
    EntryConflict "entry_conflict" "an entry with this id but different content exists",
    EntryHidden "entry_hidden" "the entry is in a deleted branch",
    EntryImmutable "entry_immutable" "a finished entry never changes",
    NotAnEntry "not_an_entry" "the JSON is not an entry",
    NotDeleted "not_deleted" "the entry is not the start of a deleted branch",
    AlreadyDeleted "already_deleted" "the branch is already deleted",
    NotOnPath "not_on_path" "the entry is not on the path",
    NotEditable "not_editable" "the entry has no text to edit",
    NotACompaction "not_a_compaction" "the entry is not a compaction, or the path has none",
    NothingToUndo "nothing_to_undo" "there is no move to undo",
    NothingToRedo "nothing_to_redo" "there is no move to redo",
    NothingToGraft "nothing_to_graft" "the branch is already part of the path",
    NothingToCompact "nothing_to_compact" "there are no messages that a summary could replace",
    NothingToResume "nothing_to_resume" "the conversation is not waiting for a model or a tool",
    NothingToFork "nothing_to_fork" "the leaf is before the first entry",
    TaskNotRunning "task_not_running" "the task of a sub-agent is not running, or none is",
    IncompleteToolBatch "incomplete_tool_batch" "some tool calls of the entry have no result",
    InvalidCheckpoint "invalid_checkpoint" "the checkpoint does not exist",
    TooManyReturns "too_many_returns" "the model returned to this checkpoint too often",
    UnsupportedVersion "unsupported_version" "the client and the engine speak different versions of the protocol",
    DirectoryNotAllowed "directory_not_allowed" "the engine does not serve this directory",
    ConnectionLost "connection_lost" "the connection to the engine was lost; whether the command ran is unknown",
    InvalidFrame "invalid_frame" "the message is not a frame of the protocol",
    TooManyRequests "too_many_requests" "the connection has too many requests or sessions at the same time",
    AnswerTooLarge "answer_too_large" "the answer is too large for one message; read it over HTTP or in parts",
    Empty "empty" "a required text is empty",
    WrongSetting "wrong_setting" "the value is not valid for this session setting",
    BadPattern "bad_pattern" "the regular expression is invalid",
    Attachment "attachment" "a file cannot be attached to the prompt",
    SkillNotFound "skill_not_found" "the skill does not exist",
    ModelNotFound "model_not_found" "the model does not exist, or it cannot be used",
    ModelFailed "model_failed" "the model did not answer, or the turn failed",
    StepLimit "step_limit" "the prompt reached its limit of model calls; you can continue it",
    SummaryFailed "summary_failed" "the summary could not be written",
    Cancelled "cancelled" "the operation was refused or canceled; nothing was changed",
    StoreUnavailable "store_unavailable" "a database cannot be reached",
    StoreRefused "store_refused" "a database refuses the operation until a problem there is fixed",
    Contended "contended" "other writers interfered repeatedly; try again",
    NotDurable "not_durable" "the data is written, but might not survive a power failure",
    Io "io" "a file cannot be read or written",
    Failed "failed" "any other error",
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn codes_are_unique_and_snake_case() {
        let mut names: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }
}
