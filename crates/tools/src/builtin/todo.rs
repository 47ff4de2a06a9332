//! `todo`: the to-do list of the model. Each call sets the whole list. It is stored only in the details of the result, so the list
//! of a path is the one in the last result on that path.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tool_spec;
use crate::arguments::parse;
use crate::blocking::Result;
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::tool::{Preview, Tool, ToolKind, ToolSpec};

const NAME: &str = "todo";
const DESCRIPTION: &str = "Sets your to-do list, which the user also sees. Each call replaces the whole list. Use it for \
    work with several steps: keep one item in_progress at a time, and mark it completed as soon as it is done. Do not use \
    it for small tasks.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// All items in order; an empty list clears it.
    items: Vec<Todo>,
}

/// A to-do item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// What to do, in a few words.
    pub content: String,
    pub status: TodoStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// The list in the details of a `todo` result. `None` for details of other tools.
pub fn todos_from_details(details: &Value) -> Option<Vec<Todo>> {
    Vec::deserialize(details.get("items")?).ok()
}

/// The `todo` tool.
#[derive(Debug)]
pub(crate) struct TodoList;

#[async_trait]
impl Tool for TodoList {
    fn spec(&self) -> ToolSpec {
        tool_spec::<Arguments>(NAME, ToolKind::Neutral, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, _: &ToolContext) -> Result<Preview> {
        parse_checked(arguments).map(|_| Preview::nothing())
    }

    async fn run(&self, arguments: Value, _: &ToolContext) -> ToolOutcome {
        match parse_checked(&arguments) {
            Ok(items) => ToolOutcome::text(render_list(&items)).with_detail("items", json!(items)),
            Err(failure) => failure,
        }
    }
}

fn parse_checked(arguments: &Value) -> Result<Vec<Todo>> {
    let items = parse::<Arguments>(NAME, arguments)?.items;
    match items.iter().position(|item| item.content.trim().is_empty()) {
        Some(at) => Err(ToolOutcome::failed(format!("todo: `items[{at}].content` is empty; say what to do"))),
        None => Ok(items),
    }
}

fn render_list(items: &[Todo]) -> String {
    if items.is_empty() {
        return "the list is empty".to_owned();
    }
    let line = |item: &Todo| {
        let sign = match item.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Completed => "[x]",
        };
        format!("{sign} {}", item.content)
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}
