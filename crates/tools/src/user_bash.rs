//! `!command` and `!!command`: commands that the user runs. The output of `!!` stays out of the model's context.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::shell::{self, CommandEnd};

/// A command as the user typed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserCommand {
    pub command: String,
    #[serde(default)]
    pub exclude_from_context: bool,
}

impl UserCommand {
    /// `None` if the text is an ordinary prompt.
    pub fn parse(text: &str) -> Option<UserCommand> {
        let rest = text.trim().strip_prefix('!')?;
        let (command, exclude_from_context) =
            rest.strip_prefix('!').map_or((rest, false), |rest| (rest, true));
        let command = command.trim();
        (!command.is_empty() && !command.contains('\0'))
            .then(|| UserCommand { command: command.to_owned(), exclude_from_context })
    }
}

/// The fields of a `bashExecution` message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    pub command: String,
    pub output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclude_from_context: bool,
}

impl BashExecution {
    pub fn message(&self, timestamp: i64) -> Value {
        let mut message = json!({ "role": "bashExecution" });
        if let (Some(message), Ok(Value::Object(fields))) =
            (message.as_object_mut(), serde_json::to_value(self))
        {
            message.extend(fields);
            message.insert("timestamp".to_owned(), json!(timestamp));
        }
        message
    }
}

/// Runs the user's command. There is no timeout, because the user can stop it.
pub async fn run(user: UserCommand, ctx: &ToolContext) -> io::Result<BashExecution> {
    let no_timeout = std::time::Duration::MAX;
    let result = shell::run(&user.command, no_timeout, ctx).await?;
    let exit_code = match result.end {
        CommandEnd::Exited(code) => Some(code),
        // As shells report it.
        CommandEnd::Killed { signal } => Some(128 + signal),
        CommandEnd::TimedOut | CommandEnd::Cancelled => None,
    };
    Ok(BashExecution {
        command: user.command,
        output: result.text.trim_end_matches('\n').to_owned(),
        exit_code,
        cancelled: result.end == CommandEnd::Cancelled,
        truncated: result.truncated,
        full_output_path: result.full_output.map(|path| path.to_string_lossy().into_owned()),
        exclude_from_context: user.exclude_from_context,
    })
}
