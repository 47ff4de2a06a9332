//! `write`: creates or replaces a whole file.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::file_change::{OldFile, PlannedFileChange};
use super::tool_spec;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::file_text::{BOM, FileText, with_crlf};
use crate::files_read::FileKnowledge;
use crate::outcome::ToolOutcome;
use crate::paths::ResolvedPath;
use crate::save::lock_path;
use crate::size;
use crate::tool::{Preview, Tool, ToolKind, ToolSpec};

const NAME: &str = "write";
const DESCRIPTION: &str = "Writes a whole file: creates it with any missing folders, or replaces its content. The old \
    content is lost, so read an existing file first. To change part of a file, use edit.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, relative to the project or absolute.
    path: String,
    /// The full content of the file.
    content: String,
}

/// The `write` tool.
#[derive(Debug)]
pub(crate) struct Write;

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        tool_spec::<Arguments>(NAME, ToolKind::Writes, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, ctx: &ToolContext) -> Result<Preview> {
        let arguments = parse::<Arguments>(NAME, arguments)?;
        blocking::run_read(ctx, move |ctx| {
            Ok(plan(resolve_target(&arguments, ctx)?, &arguments, ctx)?.preview())
        })
        .await
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let write = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::run_write(ctx, move |ctx| write(&arguments, ctx)).await
        };
        write.await.unwrap_or_else(|failure| failure)
    }
}

fn write(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let resolved_path = resolve_target(arguments, ctx)?;
    let _one_at_a_time = lock_path(&resolved_path.real);
    let planned = plan(resolved_path, arguments, ctx)?;
    let verb = if planned.old.is_none() { "created" } else { "wrote" };
    let lines = size::count(arguments.content.lines().count(), "line", "lines");
    let mut text = format!(
        "{verb} {} ({lines}, {})",
        planned.resolved_path.display,
        size::bytes(planned.new.len() as u64)
    );
    if planned.new.len() > arguments.content.len() {
        text.push_str("\nkept the file's line endings (CRLF) or byte order mark");
    }
    planned.apply(&text, ctx)
}

fn resolve_target(arguments: &Arguments, ctx: &ToolContext) -> Result<ResolvedPath> {
    if arguments.path.ends_with('/') {
        let text = format!("{} ends with `/`: give a file name; missing folders are created", arguments.path);
        return Err(ToolOutcome::failed(text));
    }
    ResolvedPath::resolve(ctx, &arguments.path)
}

fn plan(resolved_path: ResolvedPath, arguments: &Arguments, ctx: &ToolContext) -> Result<PlannedFileChange> {
    let old = OldFile::read(&resolved_path, ctx)?;
    let new = match &old {
        None => arguments.content.clone().into_bytes(),
        Some(old) => {
            check_seen(&resolved_path, old, ctx)?;
            with_format_of(old, &arguments.content)
        }
    };
    Ok(PlannedFileChange::new(resolved_path, old, new))
}

fn check_seen(resolved_path: &ResolvedPath, old: &OldFile, ctx: &ToolContext) -> Result<()> {
    let name = &resolved_path.display;
    match old.knowledge(resolved_path, ctx) {
        FileKnowledge::Current => Ok(()),
        FileKnowledge::Unseen => Err(ToolOutcome::failed(format!(
            "{name} exists and you have not read it; read it first, or use edit to change part of it"
        ))),
        FileKnowledge::Stale => Err(ToolOutcome::failed(format!(
            "{name} changed since you last saw it; read it again, then write"
        ))),
    }
}

/// Restores CRLF and the byte order mark of the old file, because `read` hides them from the model.
fn with_format_of(old: &OldFile, content: &str) -> Vec<u8> {
    let text = FileText::new(&old.bytes);
    let mut new = Vec::new();
    if text.has_bom() && !content.as_bytes().starts_with(BOM) {
        new.extend_from_slice(BOM);
    }
    match text.only_crlf() && !content.contains('\r') {
        true => new.extend(with_crlf(content.as_bytes())),
        false => new.extend_from_slice(content.as_bytes()),
    }
    new
}
