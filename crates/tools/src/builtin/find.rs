//! `find`: lists files and folders whose names match a glob.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool_spec;
use super::walk::{PathGlob, relative_to, walk};
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::paths::{ResolvedPath, escape_name};
use crate::size;
use crate::tool::{Preview, Tool, ToolKind, ToolSpec};

const NAME: &str = "find";
const DESCRIPTION: &str = "Finds files and folders by name with a glob. A glob without a slash, such as *.test.ts, \
    matches names at any depth; one with a slash, such as src/**/mod.rs, matches paths below the folder. Ignored \
    (.gitignore) and hidden files are skipped. Returns at most 1000 names unless limit is set.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The glob.
    pattern: String,
    /// The folder to search; the project by default.
    path: Option<String>,
    /// The maximum number of names; 1000 by default.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    /// Find hidden files too.
    hidden: Option<bool>,
}

/// The `find` tool.
#[derive(Debug)]
pub(crate) struct Find;

#[async_trait]
impl Tool for Find {
    fn spec(&self) -> ToolSpec {
        tool_spec::<Arguments>(NAME, ToolKind::Reads, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, _: &ToolContext) -> Result<Preview> {
        parse::<Arguments>(NAME, arguments).map(|_| Preview::nothing())
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let find = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::run_read(ctx, move |ctx| find(&arguments, ctx)).await
        };
        find.await.unwrap_or_else(|failure| failure)
    }
}

fn find(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let glob = PathGlob::new("pattern", &arguments.pattern)?;
    let resolved_path = ResolvedPath::resolve(ctx, arguments.path.as_deref().unwrap_or("."))?;
    let metadata =
        std::fs::metadata(&resolved_path.real).map_err(|error| resolved_path.io_failure("search", &error))?;
    if !metadata.is_dir() {
        return Err(ToolOutcome::failed(format!(
            "{} is not a folder; give the folder to search",
            resolved_path.display
        )));
    }
    let limit = arguments.limit.map_or(ctx.limits.found, |limit| limit.max(1) as usize);
    let mut names = String::new();
    let (mut found, mut more) = (0, false);
    let walk = walk(&resolved_path.real, arguments.hidden.unwrap_or(false), &ctx.protected);
    for entry in walk.filter(|entry| entry.depth() > 0) {
        if ctx.cancel.is_cancelled() {
            return Err(ToolOutcome::cancelled());
        }
        let path = relative_to(&resolved_path.real, entry.path());
        if !glob.matches(&path) {
            continue;
        }
        more = found == limit || names.len() > ctx.limits.bytes;
        if more {
            break;
        }
        found += 1;
        let folder = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
        let above =
            if resolved_path.display == "." { String::new() } else { format!("{}/", resolved_path.display) };
        names.push_str(&format!("{above}{}{folder}\n", escape_name(&path)));
    }
    Ok(outcome(arguments, &resolved_path, names, found, more))
}

fn outcome(
    arguments: &Arguments,
    resolved_path: &ResolvedPath,
    names: String,
    found: usize,
    more: bool,
) -> ToolOutcome {
    let mut notes: Vec<String> = resolved_path.link_note().into_iter().collect();
    if found == 0 {
        let hidden = if arguments.hidden == Some(true) { "" } else { "hidden and " };
        notes.push(format!("[no matches; {hidden}ignored files were not searched]"));
    } else if more {
        let names = size::count(found, "name", "names");
        notes.push(format!("[more than {names}; narrow the glob, give a path, or raise limit]"));
    }
    let gap = if names.is_empty() || notes.is_empty() { "" } else { "\n" };
    let text = format!("{names}{gap}{}", notes.join("\n"));
    ToolOutcome::text(text.trim_end_matches('\n'))
        .with_details(resolved_path.details())
        .with_detail("found", json!(found))
        .with_detail("truncated", json!(more))
}
