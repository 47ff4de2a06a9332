//! The details of a tool's result that Osier shows. A result may have others; those of other programs may be of any type.

use serde_json::Value;

use crate::builtin::todo::{Todo, todos_from_details};

/// See the module documentation. A field of another type counts as missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResultDetails {
    /// What changed in a file.
    pub diff: Option<String>,
    /// The number of added and of removed lines.
    pub added: Option<u64>,
    pub removed: Option<u64>,
    /// How a command ended.
    pub exit_code: Option<i64>,
    pub signal: Option<i64>,
    pub timed_out: bool,
    pub cancelled: bool,
    /// Whether the text is only a part of the output, and where the rest is.
    pub truncated: bool,
    pub total_lines: Option<u64>,
    pub full_output_path: Option<String>,
    /// The to-do list that the result sets.
    pub todos: Option<Vec<Todo>>,
}

impl ResultDetails {
    pub fn read(details: &Value) -> ResultDetails {
        let text = |key: &str| details[key].as_str().map(str::to_owned);
        let is_true = |key: &str| details[key] == true;
        ResultDetails {
            diff: text("diff"),
            added: details["added"].as_u64(),
            removed: details["removed"].as_u64(),
            exit_code: details["exitCode"].as_i64(),
            signal: details["signal"].as_i64(),
            timed_out: is_true("timedOut"),
            cancelled: is_true("cancelled"),
            truncated: is_true("truncated"),
            total_lines: details["totalLines"].as_u64(),
            full_output_path: text("fullOutputPath"),
            todos: todos_from_details(details),
        }
    }
}
