//! The commands, as clients write them.

use osier_protocol::session_operation::{NewStoredSession, SessionOperation};
use osier_protocol::{
    ApprovalMode, EntryId, ExploreCommand, Image, ListSessions, MoveCommand, NewSessionOptions, UserCommand,
    plain_json_error,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::dialogs::DialogResponse;

/// A command with the fields that every command may have.
#[derive(Debug)]
pub(crate) struct RpcRequest {
    /// Repeated in the response.
    pub(crate) id: Option<Value>,
    /// The session; by default, the main one.
    pub(crate) session_id: Option<String>,
    pub(crate) name: String,
    pub(crate) command: RpcCommand,
}

/// Why a line is not a command.
#[derive(Debug)]
pub(crate) struct InvalidRpcRequest {
    pub(crate) id: Option<Value>,
    pub(crate) name: String,
    pub(crate) error: String,
}

/// A parameter that is a message of the user.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserMessage {
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) images: Vec<Image>,
}

/// When pi delivers a prompt that arrives during a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum StreamingBehavior {
    Steer,
    FollowUp,
}

/// How many queued messages are delivered at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum QueueMode {
    All,
    OneAtATime,
}

/// How many fields of a command are searched for the one that is wrong.
const MAX_TRIED_FIELDS: usize = 16;

macro_rules! commands {
    ($($(#[$meta:meta])* $variant:ident $name:literal $({ $($body:tt)* })? $(($inner:ty))?,)*) => {
        /// A command.
        #[derive(Debug, Deserialize)]
        #[serde(tag = "type", rename_all_fields = "camelCase")]
        pub(crate) enum RpcCommand {
            $(#[serde(rename = $name)] $(#[$meta])* $variant $({ $($body)* })? $(($inner))?,)*
            /// An operation on a stored session; without a name, on the session of the command.
            #[serde(skip)]
            Operation { session: Option<String>, operation: Box<SessionOperation> },
        }

        /// The names of all commands.
        pub(crate) const COMMAND_NAMES: &[&str] = &[$($name,)*];
    };
}

commands! {
    // pi's commands.
    Prompt "prompt" {
        #[serde(flatten)] message: UserMessage,
        #[serde(default)] streaming_behavior: Option<StreamingBehavior>,
    },
    Steer "steer"(UserMessage),
    FollowUp "follow_up"(UserMessage),
    Abort "abort",
    ClearQueue "clear_queue",
    NewSession "new_session" {},
    GetState "get_state",
    SetModel "set_model" { provider: String, model_id: String },
    CycleModel "cycle_model",
    GetAvailableModels "get_available_models",
    SetThinkingLevel "set_thinking_level" { level: String },
    CycleThinkingLevel "cycle_thinking_level",
    GetAvailableThinkingLevels "get_available_thinking_levels",
    SetSteeringMode "set_steering_mode" { mode: QueueMode },
    SetFollowUpMode "set_follow_up_mode" { mode: QueueMode },
    Compact "compact" { #[serde(default)] custom_instructions: Option<String> },
    SetAutoCompaction "set_auto_compaction" { enabled: bool },
    SetAutoRetry "set_auto_retry" { enabled: bool },
    AbortRetry "abort_retry",
    Bash "bash"(UserCommand),
    AbortBash "abort_bash",
    GetSessionStats "get_session_stats",
    ExportHtml "export_html" { #[serde(default)] output_path: Option<String> },
    SwitchSession "switch_session" { session_path: String },
    Fork "fork" { entry_id: EntryId },
    Clone "clone",
    GetForkMessages "get_fork_messages",
    GetEntries "get_entries" { #[serde(default)] since: Option<EntryId> },
    GetTree "get_tree",
    GetLastAssistantText "get_last_assistant_text",
    SetSessionName "set_session_name" { name: String },
    GetMessages "get_messages",
    GetCommands "get_commands",

    // Beyond pi.
    NavigateTree "navigate_tree"(MoveCommand),
    Undo "undo",
    Redo "redo",
    UndoCompaction "undo_compaction" { #[serde(default)] entry_id: Option<EntryId> },
    SetLabel "set_label" { #[serde(default)] entry_id: Option<EntryId>, #[serde(default)] label: Option<String> },
    Compare "compare" { left: EntryId, right: EntryId },
    Graft "graft" {
        tip_id: EntryId,
        #[serde(default)] summarize: bool,
        #[serde(default)] custom_instructions: Option<String>,
    },
    DeleteBranch "delete_branch" { entry_id: EntryId },
    RestoreBranch "restore_branch" { entry_id: EntryId },
    Resume "resume",
    GetSubagents "get_subagents",
    CancelTasks "cancel_tasks" { #[serde(default)] task: Option<String> },
    SteerTask "steer_task" { #[serde(default)] task: Option<String>, message: String },
    Explore "explore"(ExploreCommand),
    GetExplores "get_explores",
    CompareTries "compare_tries" { #[serde(default)] explore: Option<String>, left: u32, right: u32 },
    SetApprovalMode "set_approval_mode" { mode: ApprovalMode },
    GetSnapshot "get_snapshot" {
        #[serde(default)] session: Option<String>,
        #[serde(default)] since: Option<usize>,
        #[serde(default)] generation: Option<String>,
        #[serde(default)] without_context: bool,
    },
    CreateSession "create_session"(NewStoredSession),
    OpenSession "open_session" {
        #[serde(default)] session: Option<String>,
        #[serde(flatten)] options: NewSessionOptions,
    },
    CloseSession "close_session",
    ListSessions "list_sessions"(ListSessions),
    SearchSessions "search_sessions"(ListSessions),
    RenameSession "rename_session" { session: String, name: String },
    DeleteSession "delete_session" { session: String },
}

/// Whether a line is a command or an answer to a dialog; otherwise the reason. Any text is accepted.
pub fn check_command(line: &str) -> Result<(), String> {
    let object = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match IncomingLine::parse(object) {
        Ok(_) => Ok(()),
        Err(invalid) => Err(invalid.error),
    }
}

/// What a client sends.
#[derive(Debug)]
pub(crate) enum IncomingLine {
    Command(RpcRequest),
    /// An answer to a dialog; `None` if it is not one.
    DialogResponse(Option<DialogResponse>),
}

impl IncomingLine {
    pub(crate) fn parse(object: Map<String, Value>) -> Result<IncomingLine, InvalidRpcRequest> {
        if object.get("type").is_some_and(|name| name == "extension_ui_response") {
            return Ok(IncomingLine::DialogResponse(serde_json::from_value(Value::Object(object)).ok()));
        }
        RpcRequest::parse(object).map(IncomingLine::Command)
    }
}

impl RpcRequest {
    fn parse(mut object: Map<String, Value>) -> Result<RpcRequest, InvalidRpcRequest> {
        let id = object.remove("id");
        let name = match object.get("type") {
            Some(Value::String(name)) => name.clone(),
            _ => {
                return Err(InvalidRpcRequest {
                    id,
                    name: String::new(),
                    error: "the command has no `type`; for example {\"type\": \"get_state\"}".to_owned(),
                });
            }
        };
        let is_operation = SessionOperation::NAMES.contains(&name.as_str());
        if !is_operation && !COMMAND_NAMES.contains(&name.as_str()) {
            let error = format!("Unknown command: {name}");
            return Err(InvalidRpcRequest { id, name, error });
        }
        let parsed = parse_session(&mut object, "sessionId").and_then(|session_id| {
            let command = match is_operation {
                true => parse_operation(object)?,
                false => parse_fields(object)?,
            };
            Ok(match command {
                // `id` is the id of the request.
                RpcCommand::CreateSession(new) => {
                    (None, RpcCommand::CreateSession(NewStoredSession { id: session_id, ..new }))
                }
                command => (session_id, command),
            })
        });
        match parsed {
            Ok((session_id, command)) => Ok(RpcRequest { id, session_id, name, command }),
            Err(error) => Err(InvalidRpcRequest { id, name, error }),
        }
    }
}

fn parse_operation(mut object: Map<String, Value>) -> Result<RpcCommand, String> {
    let session = parse_session(&mut object, "session")?;
    Ok(RpcCommand::Operation { session, operation: Box::new(parse_fields(object)?) })
}

/// A field that names a session. Anything but a name is refused: without one, the command would change the main session.
fn parse_session(object: &mut Map<String, Value>, field: &str) -> Result<Option<String>, String> {
    match object.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name)),
        Some(_) => Err(format!("`{field}` must be a string, the id of a session")),
    }
}

fn parse_fields<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, String> {
    let parse = |object: &Map<String, Value>| {
        T::deserialize(object).map_err(|error| plain_json_error(&error.to_string()))
    };
    parse(&object).map_err(|error| match wrong_field(&object, &error, |rest| parse(rest).err()) {
        Some(field) => format!("`{field}`: {error}"),
        None => error,
    })
}

/// The field that an error is about. The reader does not say it: it collects the fields before it knows the command. Without
/// that field, the error is another one.
fn wrong_field<'a>(
    object: &'a Map<String, Value>,
    error: &str,
    error_of: impl Fn(&Map<String, Value>) -> Option<String>,
) -> Option<&'a str> {
    if error.starts_with("missing field") {
        return None;
    }
    let fields = object.keys().filter(|field| *field != "type").take(MAX_TRIED_FIELDS);
    fields.map(String::as_str).find(|field| {
        let mut rest = object.clone();
        rest.remove(*field);
        error_of(&rest).is_none_or(|other| other != error)
    })
}

impl RpcCommand {
    /// Whether the earlier commands for the session must have started. Commands that stop something do not wait, and lists are of
    /// no session.
    pub(crate) fn waits_for_earlier(&self) -> bool {
        !matches!(
            self,
            RpcCommand::Abort
                | RpcCommand::AbortBash
                | RpcCommand::AbortRetry
                | RpcCommand::ClearQueue
                | RpcCommand::ListSessions(_)
                | RpcCommand::SearchSessions(_)
        )
    }

    /// Whether the next command is handled before this one has ended. Such commands may take long, or wait for an answer of
    /// the user.
    pub(crate) fn runs_alongside(&self) -> bool {
        matches!(
            self,
            RpcCommand::Prompt { .. }
                | RpcCommand::Steer(_)
                | RpcCommand::FollowUp(_)
                | RpcCommand::Bash(_)
                | RpcCommand::Compact { .. }
                | RpcCommand::NavigateTree(_)
                | RpcCommand::Undo
                | RpcCommand::Redo
                | RpcCommand::UndoCompaction { .. }
                | RpcCommand::Graft { .. }
                | RpcCommand::Resume
                // A model call.
                | RpcCommand::Explore(ExploreCommand::Rank { .. })
                | RpcCommand::ListSessions(_)
                | RpcCommand::SearchSessions(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_name_is_a_command_of_the_page() {
        let page = include_str!("../../../docs/rpc.md");
        for name in COMMAND_NAMES.iter().chain(&SessionOperation::NAMES) {
            let object = json!({ "type": name }).as_object().unwrap().clone();
            if let Err(invalid) = RpcRequest::parse(object) {
                assert!(invalid.error.starts_with("missing field"), "{}", invalid.error);
            }
            assert!(page.contains(&format!("`{name}`")), "docs/rpc.md lacks {name}");
        }
    }

    #[test]
    fn what_calls_a_model_does_not_hold_up_the_next_command() {
        for object in [
            json!({ "type": "prompt", "message": "m" }),
            json!({ "type": "compact" }),
            json!({ "type": "explore", "action": "rank" }),
        ] {
            let request = RpcRequest::parse(object.as_object().unwrap().clone()).unwrap();
            assert!(request.command.runs_alongside(), "{object}");
        }
    }

    #[test]
    fn a_session_that_is_not_a_name_is_refused() {
        for (name, field) in
            [("get_state", "sessionId"), ("get_session", "sessionId"), ("get_session", "session")]
        {
            for value in [json!(7), json!(true), json!({}), json!(["s"])] {
                let object = json!({ "type": name, field: value, "id": 1 });
                let invalid = RpcRequest::parse(object.as_object().unwrap().clone()).unwrap_err();
                assert_eq!(invalid.error, format!("`{field}` must be a string, the id of a session"));
                assert_eq!(invalid.id, Some(json!(1)));
            }
            let object = json!({ "type": name, field: null });
            assert!(RpcRequest::parse(object.as_object().unwrap().clone()).is_ok(), "absent");
        }
    }

    #[test]
    fn an_error_names_the_field() {
        for (object, start) in [
            (json!({ "type": "prompt", "message": 5 }), "`message`: invalid type: integer `5`"),
            (
                json!({ "type": "set_model", "provider": "p", "modelId": [] }),
                "`modelId`: invalid type: array",
            ),
            (json!({ "type": "list_entries", "limit": "x", "after": 1 }), "`limit`: invalid type: string"),
            (json!({ "type": "set_model", "provider": "p" }), "missing field `modelId`"),
        ] {
            let invalid = RpcRequest::parse(object.as_object().unwrap().clone()).unwrap_err();
            assert!(invalid.error.starts_with(start), "{}", invalid.error);
        }
    }

    #[test]
    fn a_session_is_created_with_the_given_id() {
        let object = json!({ "type": "create_session", "id": "request", "sessionId": "mine" });
        let request = RpcRequest::parse(object.as_object().unwrap().clone()).unwrap();
        assert_eq!((request.id, request.session_id), (Some(json!("request")), None));
        assert!(
            matches!(request.command, RpcCommand::CreateSession(new) if new.id.as_deref() == Some("mine"))
        );
    }

    #[test]
    fn unknown_fields_are_ignored_and_the_id_may_be_any_value() {
        let object = json!({ "type": "steer", "message": "m", "extra": 1, "id": [1], "sessionId": "s" });
        let request = RpcRequest::parse(object.as_object().unwrap().clone()).unwrap();
        assert_eq!((request.id, request.session_id.as_deref()), (Some(json!([1])), Some("s")));
    }
}
