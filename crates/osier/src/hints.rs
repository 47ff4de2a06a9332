//! What the user can do about an error, in terms of the command line. Libraries know no command line: their errors have a code
//! and facts.

use std::error::Error;

use osier_engine::{EngineError, LookupError, UnattendedHints, join_some};
use osier_settings::SettingsError;
use osier_tree::ErrorCode;

use crate::failure::cause_code;

/// The hint for an error, if there is one.
pub(crate) fn hint(cause: &(dyn Error + 'static)) -> Option<String> {
    let of_engine = cause.downcast_ref().and_then(engine_hint);
    let is_file = matches!(cause.downcast_ref(), Some(EngineError::FileNotFound { .. }));
    let of_code = || code_hint(cause_code(cause).filter(|_| !is_file)?).map(str::to_owned);
    of_engine.or_else(|| lookup_hint(cause)).or_else(of_code)
}

/// The error with its hint.
pub(crate) fn with_hint(text: &str, hint: &str) -> String {
    let separator = if text.ends_with('?') { "" } else { ";" };
    format!("{text}{separator} {hint}")
}

fn code_hint(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::SessionNotFound => "`osier sessions list --all` lists all sessions",
        ErrorCode::EntryNotFound => "`osier sessions tree --ids` lists the entries",
        ErrorCode::EntryHidden => "restore the branch with `osier sessions restore-branch`",
        ErrorCode::IncompleteToolBatch => "choose an earlier entry, or move to it with `--exact`",
        _ => return None,
    })
}

/// The error of a failed model call with its hint. A session stores only the text of such an error.
pub(crate) fn with_model_hint(error: &str) -> String {
    let hints = [
        ("rejected the API key", "`osier doctor` checks the key"),
        ("has no model", "`osier models` lists the available models"),
    ];
    match hints.iter().find(|(problem, _)| error.contains(problem)) {
        Some((_, hint)) => with_hint(error.trim_end_matches('.'), hint),
        None => error.to_owned(),
    }
}

/// For the name of a model that does not exist.
fn lookup_hint(cause: &(dyn Error + 'static)) -> Option<String> {
    let lookup = cause.downcast_ref().or_else(|| match (cause.downcast_ref(), cause.downcast_ref()) {
        (Some(EngineError::Model(error) | EngineError::SummaryModel { source: error, .. }), _)
        | (_, Some(SettingsError::Model(error))) => Some(error),
        _ => None,
    });
    let is_unknown = matches!(lookup, Some(LookupError::Unknown { .. }));
    is_unknown.then(|| "`osier models` lists the available models".to_owned())
}

/// How to allow tool calls that nobody can approve, for the model to report.
pub(crate) fn unattended_hints() -> UnattendedHints {
    UnattendedHints {
        writes:
            "`--approval autoEdit` allows file changes in the project, `--approval yolo` allows everything"
                .to_owned(),
        runs: "`--approval sandbox` allows commands in the sandbox, `--approval yolo` allows everything"
            .to_owned(),
        other: "`--approval yolo` allows it".to_owned(),
    }
}

fn engine_hint(error: &EngineError) -> Option<String> {
    Some(match error {
        EngineError::SessionNotFound { similar, .. } => {
            suggest(similar, "`osier sessions list --all` lists the sessions")
        }
        EngineError::EntryNotFound { similar, .. } => {
            suggest(similar, "`osier sessions tree --ids` lists the entries")
        }
        EngineError::MaybeInOtherStore { reason, .. } => {
            format!("give the full id, or choose a store with --store: {reason}")
        }
        EngineError::SessionModelUnusable { .. } => {
            "choose another model with --model, for example --model offline, or \
             permanently with `osier config set summary_model NAME`"
                .to_owned()
        }
        EngineError::IsFolder { .. } => "give a .jsonl file in it".to_owned(),
        EngineError::AmbiguousSession { .. } => "give more characters".to_owned(),
        EngineError::AmbiguousFile { .. } => "give one of these files".to_owned(),
        EngineError::AlreadyInStore { .. } => "choose another one with --to".to_owned(),
        EngineError::NothingToFork => "give an ENTRY".to_owned(),
        EngineError::ParentGivenTwice => "omit --parent".to_owned(),
        EngineError::DamagedLog => "run `osier sessions verify` for details".to_owned(),
        EngineError::KeepsChanging => "try again when no other process writes to it".to_owned(),
        EngineError::UnknownExportFormat { .. } => {
            "try FILE.md for Markdown, FILE.html for a page or FILE.jsonl for a session".to_owned()
        }
        EngineError::FileExists { .. } => "choose another name or remove it".to_owned(),
        EngineError::InSeveralStores { .. } => "choose one with --store".to_owned(),
        _ => return None,
    })
}

fn suggest(similar: &[String], otherwise: &str) -> String {
    match similar.is_empty() {
        true => otherwise.to_owned(),
        false => format!("did you mean {}?", join_some(similar)),
    }
}
