//! `edit`: exact replacements in one file, all or none.

mod locate;
mod mismatch;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::file_change::{OldFile, PlannedFileChange};
use super::tool_spec;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::file_text::{FileText, non_text_reason};
use crate::files_read::FileKnowledge;
use crate::outcome::ToolOutcome;
use crate::paths::ResolvedPath;
use crate::save::lock_path;
use crate::size;
use crate::tool::{Preview, Tool, ToolKind, ToolSpec};

const NAME: &str = "edit";
const DESCRIPTION: &str = "Replaces exact text in one file. Each oldText must occur in the file exactly once, including \
    whitespace and line breaks; add a few surrounding lines to make it unique, but no more. All edits apply to the file \
    as it is now and must not overlap; if one does not match, nothing is changed. Put all changes to a file into one call.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, relative to the project or absolute.
    path: String,
    /// The replacements; at least one.
    #[schemars(length(min = 1))]
    edits: Vec<Replacement>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    /// The text to replace, exactly as it is in the file.
    old_text: String,
    /// The text to put in its place; empty to remove it.
    new_text: String,
}

/// The `edit` tool.
#[derive(Debug)]
pub(crate) struct Edit;

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        tool_spec::<Arguments>(NAME, ToolKind::Writes, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, ctx: &ToolContext) -> Result<Preview> {
        let arguments = parse::<Arguments>(NAME, arguments)?;
        blocking::run_read(ctx, move |ctx| {
            Ok(plan(ResolvedPath::resolve(ctx, &arguments.path)?, &arguments, ctx)?.preview())
        })
        .await
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let edit = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::run_write(ctx, move |ctx| edit(&arguments, ctx)).await
        };
        edit.await.unwrap_or_else(|failure| failure)
    }
}

fn edit(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let resolved_path = ResolvedPath::resolve(ctx, &arguments.path)?;
    let _one_at_a_time = lock_path(&resolved_path.real);
    let planned = plan(resolved_path, arguments, ctx)?;
    let stale = planned
        .old
        .as_ref()
        .is_some_and(|old| old.knowledge(&planned.resolved_path, ctx) == FileKnowledge::Stale);
    let count = size::count(arguments.edits.len(), "place", "places");
    let mut text = format!(
        "edited {count} in {} (+{} −{})",
        planned.resolved_path.display, planned.diff.added, planned.diff.removed
    );
    if stale {
        text.push_str(
            "\n[the file changed since you last saw it; read it again before you rely on the rest of it]",
        );
    }
    Ok(planned.apply(&text, ctx)?.with_detail("edits", json!(arguments.edits.len())))
}

fn plan(resolved_path: ResolvedPath, arguments: &Arguments, ctx: &ToolContext) -> Result<PlannedFileChange> {
    if arguments.edits.is_empty() {
        return Err(ToolOutcome::failed("edit: `edits` is empty: give at least one { oldText, newText }"));
    }
    let Some(old) = OldFile::read(&resolved_path, ctx)? else {
        return Err(resolved_path.io_failure(NAME, &std::io::ErrorKind::NotFound.into()));
    };
    if let Some(what) = non_text_reason(&old.bytes) {
        return Err(ToolOutcome::failed(format!("{} is {what}", resolved_path.display)));
    }
    let text = FileText::new(&old.bytes);
    let changes = locate::locate_all(&text, &arguments.edits).map_err(|faults| {
        ToolOutcome::failed(format!(
            "nothing was changed in {}\n{}",
            resolved_path.display,
            faults.join("\n")
        ))
    })?;
    let borrowed: Vec<_> = changes.iter().map(|(range, new)| (range.clone(), new.as_bytes())).collect();
    let new = text.replace_ranges(&old.bytes, &borrowed);
    Ok(PlannedFileChange::new(resolved_path, Some(old), new))
}
