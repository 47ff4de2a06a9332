//! How errors are reported: their text, error code and exit code.

use std::io::Write;
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::Error;
use osier_engine::{AgentError, EngineError, LookupError, SessionError, StoreError};
use osier_local_engine::LocalEngineError;
use osier_protocol::ClientError;
use osier_settings::SettingsError;
use osier_tree::{ErrorCode, PlanError};
use serde_json::{Value, json};

use crate::hints;

/// A usage error: the command line makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

pub(crate) fn usage_error(text: impl Into<String>) -> Error {
    Error::new(UsageError(text.into()))
}

/// A failed command, with its error code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct CodedError {
    code: ErrorCode,
    text: String,
}

pub(crate) fn coded_error(code: ErrorCode, text: impl Into<String>) -> Error {
    Error::new(CodedError { code, text: text.into() })
}

/// The error itself, so that its hints are found, and hints for errors that only an engine of this process has.
pub(crate) fn local_engine_error(error: LocalEngineError) -> Error {
    match error {
        LocalEngineError::Engine(error) => error.into(),
        LocalEngineError::Settings(error) => error.into(),
        LocalEngineError::Client(error) => error.into(),
        LocalEngineError::Model(error) => error.into(),
        LocalEngineError::SummaryModel { source } => {
            Error::new(source).context("cannot use the setting summary_model")
        }
        LocalEngineError::SessionModelUnusable { notice } => {
            Error::msg(format!("{notice}; choose another model with --model, for example --model offline"))
        }
        error => coded_error(error.code(), error.to_string()),
    }
}

/// Like `bail!`, with an error code.
macro_rules! fail {
    ($code:ident, $($text:tt)*) => {
        return Err($crate::failure::coded_error(osier_tree::ErrorCode::$code, format!($($text)*)))
    };
}
pub(crate) use fail;

/// Reports an error on standard error and returns its exit code.
pub(crate) fn report(error: &Error) -> ExitCode {
    // The reader closed the pipe because it has read enough.
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    write_error(error_code(error), "osier: ", &error_chain(error), fields_of(error));
    if error.chain().any(is_usage) { ExitCode::from(2) } else { ExitCode::FAILURE }
}

/// Reports an error that does not end the command.
pub(crate) fn warn(error: &Error) {
    write_error(error_code(error), "osier: ", &error_chain(error), fields_of(error));
}

/// Reports an invalid command line and exits.
pub(crate) fn exit_with_usage_error(error: &clap::Error) -> ! {
    if !error.use_stderr() || !wants_json() {
        error.exit();
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    write_error(ErrorCode::Usage, "", text.split("\n\n").next().unwrap_or(text).trim(), json!({}));
    std::process::exit(2)
}

/// Writes an error as text or, if the caller wants JSON, as JSON.
fn write_error(code: ErrorCode, before: &str, text: &str, fields: Value) {
    let line = match wants_json() {
        true => {
            let mut error = json!({ "code": code.name(), "message": text });
            if let (Value::Object(error), Value::Object(fields)) = (&mut error, fields) {
                error.extend(fields.into_iter().filter(|(_, value)| *value != "" && !value.is_null()));
            }
            json!({ "error": error }).to_string()
        }
        false => format!("{before}{text}"),
    };
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether the command line has `--json` or `--mode json`. Works on the raw arguments, because parsing may have failed.
fn wants_json() -> bool {
    static WANTS: OnceLock<bool> = OnceLock::new();
    *WANTS.get_or_init(|| {
        let words: Vec<_> = std::env::args_os().skip(1).take_while(|word| word != "--").collect();
        let mode = |two: &[std::ffi::OsString]| two[0] == "--mode" && two[1] == "json";
        words.iter().any(|word| word == "--json" || word == "--mode=json") || words.windows(2).any(mode)
    })
}

/// The code of the outermost cause that has one.
pub(crate) fn error_code(error: &Error) -> ErrorCode {
    error.chain().find_map(cause_code).unwrap_or(ErrorCode::Failed)
}

pub(crate) fn cause_code(cause: &(dyn std::error::Error + 'static)) -> Option<ErrorCode> {
    let own = cause.downcast_ref::<CodedError>().map(|failure| failure.code);
    let client = || cause.downcast_ref::<ClientError>().map(|error| error.code);
    let engine = || cause.downcast_ref::<EngineError>().map(EngineError::code);
    let agent = || cause.downcast_ref::<AgentError>().map(AgentError::code);
    let session = || cause.downcast_ref::<SessionError>().map(SessionError::code);
    let store = || cause.downcast_ref::<StoreError>().map(StoreError::code);
    let plan = || cause.downcast_ref::<PlanError>().map(PlanError::code);
    let usage = || cause.is::<UsageError>().then_some(ErrorCode::Usage);
    let model = || cause.is::<LookupError>().then_some(ErrorCode::ModelNotFound);
    let io = || cause.is::<std::io::Error>().then_some(ErrorCode::Io);
    let settings = || cause.downcast_ref::<SettingsError>().map(SettingsError::code);
    own.or_else(client)
        .or_else(settings)
        .or_else(usage)
        .or_else(engine)
        .or_else(agent)
        .or_else(session)
        .or_else(store)
        .or_else(plan)
        .or_else(model)
        .or_else(io)
}

/// The fields that a JSON error adds: those of the outermost cause that has any.
fn fields_of(error: &Error) -> Value {
    let fields = error.chain().find_map(|cause| {
        let client = cause.downcast_ref::<ClientError>().map(|error| Value::Object(error.facts.clone()));
        let engine = || cause.downcast_ref::<EngineError>().map(EngineError::fields);
        let agent = || cause.downcast_ref::<AgentError>().map(AgentError::fields);
        let session = || cause.downcast_ref::<SessionError>().map(SessionError::fields);
        let store = || cause.downcast_ref::<StoreError>().map(StoreError::fields);
        let plan = || cause.downcast_ref::<PlanError>().map(PlanError::fields);
        client.or_else(engine).or_else(agent).or_else(session).or_else(store).or_else(plan)
    });
    fields.unwrap_or_else(|| json!({}))
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

fn is_usage(cause: &(dyn std::error::Error + 'static)) -> bool {
    let session = cause.downcast_ref().or_else(|| match cause.downcast_ref() {
        Some(EngineError::Session(session)) => Some(session),
        _ => None,
    });
    let plan = cause.downcast_ref::<PlanError>().or_else(|| match (session, cause.downcast_ref()) {
        (Some(SessionError::Plan(plan)), _) | (_, Some(EngineError::Plan(plan))) => Some(plan),
        _ => None,
    });
    let is_usage_code = |error: &ClientError| {
        matches!(
            error.code,
            ErrorCode::Usage | ErrorCode::NotAnEntry | ErrorCode::Empty | ErrorCode::WrongSetting
        )
    };
    cause.is::<UsageError>()
        || cause.downcast_ref().is_some_and(is_usage_code)
        || cause.downcast_ref().is_some_and(|error: &SettingsError| error.code() == ErrorCode::Usage)
        || cause.downcast_ref().is_some_and(|error: &EngineError| error.code() == ErrorCode::Usage)
        || matches!(
            plan,
            Some(PlanError::NotAnEntry { .. } | PlanError::Empty { .. } | PlanError::WrongSetting { .. })
        )
}

/// The error with its causes, in the same form as in the terminal interface, and with hints for the user.
pub(crate) fn error_chain(error: &Error) -> String {
    let mut hinted = false;
    osier_tui::join_causes(error.chain().map(|cause| {
        let hint = hints::hint(cause).filter(|_| !hinted);
        hinted |= hint.is_some();
        hint.map_or_else(|| cause.to_string(), |hint| hints::with_hint(&cause.to_string(), &hint))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn error_chain_repeats_no_cause_and_indents_continuation_lines() {
        let error = anyhow!("disk full").context("cannot write a\nosier: all is well").context("cannot save");
        assert_eq!(error_chain(&error), "cannot save: cannot write a\n  osier: all is well: disk full");
        let passed_on = SessionError::from(PlanError::NothingToUndo);
        assert_eq!(error_chain(&passed_on.into()), "there is no move to undo");
    }
}
