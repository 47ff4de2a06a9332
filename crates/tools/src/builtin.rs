//! The built-in tools, one file each.

pub(crate) mod bash;
pub(crate) mod edit;
pub(crate) mod find;
pub(crate) mod grep;
pub(crate) mod ls;
pub(crate) mod read;
pub(crate) mod todo;
pub(crate) mod write;

mod file_change;
pub(crate) mod walk;

use std::sync::Arc;

use schemars::JsonSchema;

use crate::arguments::schema;
use crate::tool::{Tool, ToolKind, ToolSpec};

/// All built-in tools, in the order in which the model sees them.
pub(crate) fn all_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read::Read),
        Arc::new(write::Write),
        Arc::new(edit::Edit),
        Arc::new(bash::Bash),
        Arc::new(grep::Grep),
        Arc::new(find::Find),
        Arc::new(ls::Ls),
        Arc::new(todo::TodoList),
    ]
}

fn tool_spec<Arguments: JsonSchema>(name: &str, kind: ToolKind, description: &str) -> ToolSpec {
    let parameters = schema::<Arguments>();
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters, kind }
}
