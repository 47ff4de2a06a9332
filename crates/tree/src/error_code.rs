//! The codes that programs know failures by: one list for all crates, printed with `--json` and described in `docs/json.md`.

macro_rules! error_codes {
    ($($variant:ident $name:literal $meaning:literal,)*) => {
        /// See the module.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $variant,)*
        }

        impl ErrorCode {
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The code as programs see it. Never changes.
            pub const fn name(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name,)* }
            }

            /// What it means, in a few words.
            pub const fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$variant => $meaning,)* }
            }
        }
    };
}

error_codes! {
    Usage "usage" "the command line is wrong; the exit code is 2",
    SessionNotFound "session_not_found" "there is no such session or file",
    EntryNotFound "entry_not_found" "the session has no such entry",
    ParentNotFound "parent_not_found" "the entry to append below is not there",
    EntryAmbiguous "entry_ambiguous" "the digits fit several entries",
    SessionAmbiguous "session_ambiguous" "the digits fit several sessions, or the session is in several stores",
    LeafChanged "leaf_changed" "the session stands elsewhere than expected",
    SessionBusy "session_busy" "somebody else works there, or has the session open or locked",
    SessionChanged "session_changed" "the session was changed or replaced meanwhile; try again",
    SessionClosed "session_closed" "the session was closed",
    SessionDamaged "session_damaged" "the file was cut off while it was open",
    NotASession "not_a_session" "the file is not a session",
    AlreadyExists "already_exists" "there is another one of that name or id",
    InvalidId "invalid_id" "this cannot be an id",
    EntryConflict "entry_conflict" "an entry with this id and another content exists",
    EntryHidden "entry_hidden" "the entry is in a deleted branch",
    EntryImmutable "entry_immutable" "a finished entry never changes",
    NotAnEntry "not_an_entry" "the JSON is not an entry",
    NotDeleted "not_deleted" "no deleted branch begins there",
    AlreadyDeleted "already_deleted" "the branch is deleted already",
    NotOnPath "not_on_path" "the entry is not on the path",
    NotEditable "not_editable" "the entry says nothing that could be edited",
    NotACompaction "not_a_compaction" "the entry, or the path, has no compaction",
    NothingToUndo "nothing_to_undo" "there is no move to undo",
    NothingToRedo "nothing_to_redo" "there is no move to redo",
    NothingToGraft "nothing_to_graft" "the branch is part of the path",
    NothingToCompact "nothing_to_compact" "there is nothing that a summary could replace",
    NothingToResume "nothing_to_resume" "the conversation asks for nothing more",
    NothingToFork "nothing_to_fork" "the session stands before its first entry",
    IncompleteToolBatch "incomplete_tool_batch" "calls of tools there were never answered",
    InvalidCheckpoint "invalid_checkpoint" "there is no such checkpoint",
    TooManyReturns "too_many_returns" "the model returned there too often",
    Empty "empty" "a text must not be empty",
    WrongSetting "wrong_setting" "a setting of the session cannot have this value",
    BadPattern "bad_pattern" "the regular expression is wrong",
    Attachment "attachment" "a file cannot be attached to the prompt",
    SkillNotFound "skill_not_found" "there is no such skill",
    ModelNotFound "model_not_found" "there is no such model, or it cannot be used",
    ModelFailed "model_failed" "the model did not answer, or the turn failed",
    StepLimit "step_limit" "the prompt used up its model calls; it can be continued",
    SummaryFailed "summary_failed" "the summary could not be written",
    Cancelled "cancelled" "somebody refused or stopped it; nothing was changed",
    StoreUnavailable "store_unavailable" "a database cannot be reached",
    StoreRefused "store_refused" "a database refuses until something is changed there",
    Contended "contended" "others were faster again and again; try again",
    NotDurable "not_durable" "it is written, but not safe from a power cut",
    Io "io" "a file cannot be read or written",
    Failed "failed" "anything else",
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn every_code_is_a_word_of_its_own() {
        let mut names: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }
}
