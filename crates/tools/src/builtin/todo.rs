//! `todo`: the model's list of things to do. It is set whole each time and kept nowhere but in the details of the result, so
//! the list of a path is that of the last result on it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::spec;
use crate::arguments::parse;
use crate::blocking::Result;
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::port::{Kind, Preview, Tool, ToolSpec};

const NAME: &str = "todo";
const DESCRIPTION: &str = "Sets your list of things to do, which the user sees too. Each call gives the whole list anew. \
    Use it for work of several steps: one item in_progress at a time, completed as soon as it is done. Leave it alone for \
    small tasks.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// All items, in their order; an empty list clears it.
    items: Vec<Todo>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// What is to be done, in a few words.
    pub content: String,
    pub status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
}

/// The list that a result of `todo` set. `None` if these are the details of something else.
pub fn todos_of(details: &Value) -> Option<Vec<Todo>> {
    Vec::deserialize(details.get("items")?).ok()
}

/// See the module.
#[derive(Debug)]
pub(crate) struct TodoList;

#[async_trait]
impl Tool for TodoList {
    fn spec(&self) -> ToolSpec {
        spec::<Arguments>(NAME, Kind::Neutral, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, _: &ToolContext) -> Result<Preview> {
        checked(arguments).map(|_| Preview::nothing())
    }

    async fn run(&self, arguments: Value, _: &ToolContext) -> ToolOutcome {
        match checked(&arguments) {
            Ok(items) => ToolOutcome::text(drawn(&items)).with("items", json!(items)),
            Err(failure) => failure,
        }
    }
}

fn checked(arguments: &Value) -> Result<Vec<Todo>> {
    let items = parse::<Arguments>(NAME, arguments)?.items;
    match items.iter().position(|item| item.content.trim().is_empty()) {
        Some(at) => {
            Err(ToolOutcome::failed(format!("todo: `items[{at}].content` is empty: say what is to be done")))
        }
        None => Ok(items),
    }
}

fn drawn(items: &[Todo]) -> String {
    if items.is_empty() {
        return "the list is empty".to_owned();
    }
    let line = |item: &Todo| {
        let sign = match item.status {
            Status::Pending => "[ ]",
            Status::InProgress => "[>]",
            Status::Completed => "[x]",
        };
        format!("{sign} {}", item.content)
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}
