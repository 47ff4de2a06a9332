//! What the user can do about an error of the engine, in terms of the command line.

use osier_engine::{EngineError, join_some};

/// The hint for an error, if there is one.
pub(crate) fn hint(error: &EngineError) -> Option<String> {
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
            "try FILE.md for Markdown or FILE.jsonl for a session".to_owned()
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
