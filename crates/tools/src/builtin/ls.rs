//! `ls`: what is in a folder.

use std::fs::{self, DirEntry};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::spec;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::paths::{Place, shown};
use crate::port::{Kind, Preview, Tool, ToolSpec};
use crate::size;

const NAME: &str = "ls";
const DESCRIPTION: &str = "Lists a folder, hidden and ignored files included: folders end with a slash, links show \
    where they lead. At most 500 names come back unless limit says otherwise.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The folder; the project if not given.
    path: Option<String>,
    /// Most names to show; 500 if not given.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// See the module.
#[derive(Debug)]
pub struct Ls;

#[async_trait]
impl Tool for Ls {
    fn spec(&self) -> ToolSpec {
        spec::<Arguments>(NAME, Kind::Reads, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, _: &ToolContext) -> Result<Preview> {
        parse::<Arguments>(NAME, arguments).map(|_| Preview::nothing())
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let ls = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::look(ctx, move |ctx| ls(&arguments, ctx)).await
        };
        ls.await.unwrap_or_else(|failure| failure)
    }
}

fn ls(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let place = Place::of(ctx, arguments.path.as_deref().unwrap_or("."))?;
    let metadata = fs::metadata(&place.real).map_err(|error| place.failure("list", &error))?;
    if !metadata.is_dir() {
        return Err(ToolOutcome::failed(format!(
            "{} is not a folder: use read to see what is in it",
            place.shown
        )));
    }
    let entries = fs::read_dir(&place.real).map_err(|error| place.failure("list", &error))?;
    let mut lines: Vec<String> = entries.flatten().map(|entry| line(&entry)).collect();
    lines.sort_by_cached_key(|line| (line.to_lowercase(), line.clone()));
    let all = lines.len();
    lines.truncate(arguments.limit.map_or(ctx.limits.listed, |limit| limit.max(1) as usize));
    let listed = lines.len();
    if all == 0 {
        lines.push("[the folder is empty]".to_owned());
    }
    if listed < all {
        let left = size::count(all - listed, "name", "names");
        lines.push(format!("\n[{left} more: set limit, or use find to pick some]"));
    }
    lines.extend(place.note().map(|note| format!("\n{note}")));
    let outcome = ToolOutcome::text(lines.join("\n")).with_all(place.details());
    Ok(outcome.with("entries", json!(all)).with("truncated", json!(listed < all)))
}

fn line(entry: &DirEntry) -> String {
    let name = shown(entry.file_name());
    match entry.file_type() {
        Ok(kind) if kind.is_dir() => format!("{name}/"),
        Ok(kind) if kind.is_symlink() => match fs::read_link(entry.path()) {
            Ok(target) => format!("{name} -> {}", shown(target)),
            Err(_) => name,
        },
        _ => name,
    }
}
