//! `ls`: lists a folder.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool_spec;
use super::walk::not_ignored;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::paths::{ResolvedPath, escape_name};
use crate::size;
use crate::tool::{Preview, Tool, ToolKind, ToolSpec};

const NAME: &str = "ls";
const DESCRIPTION: &str = "Lists a folder, including hidden files: folders end with a slash, links show their target. \
    Files ignored by .gitignore are skipped unless all is true. Returns at most 500 names unless limit is set.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The folder; the project by default.
    path: Option<String>,
    /// The maximum number of names; 500 by default.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    /// Also list files ignored by .gitignore.
    all: Option<bool>,
}

/// The `ls` tool.
#[derive(Debug)]
pub(crate) struct Ls;

#[async_trait]
impl Tool for Ls {
    fn spec(&self) -> ToolSpec {
        tool_spec::<Arguments>(NAME, ToolKind::Reads, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, _: &ToolContext) -> Result<Preview> {
        parse::<Arguments>(NAME, arguments).map(|_| Preview::nothing())
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let ls = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::run_read(ctx, move |ctx| ls(&arguments, ctx)).await
        };
        ls.await.unwrap_or_else(|failure| failure)
    }
}

fn ls(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let resolved_path = ResolvedPath::resolve(ctx, arguments.path.as_deref().unwrap_or("."))?;
    let metadata =
        fs::metadata(&resolved_path.real).map_err(|error| resolved_path.io_failure("list", &error))?;
    if !metadata.is_dir() {
        return Err(ToolOutcome::failed(format!(
            "{} is not a folder; use read to see its content",
            resolved_path.display
        )));
    }
    let all =
        fs::read_dir(&resolved_path.real).map_err(|error| resolved_path.io_failure("list", &error))?.count();
    let most = arguments.limit.map_or(ctx.limits.listed, |limit| limit.max(1) as usize);
    let mut first = FirstNames { most, lines: BTreeSet::new(), seen: 0 };
    match arguments.all {
        Some(true) => fs::read_dir(&resolved_path.real).into_iter().flatten().flatten().for_each(|entry| {
            first.push(entry_line(&entry.file_name(), &entry.path(), entry.file_type().ok()));
        }),
        _ => not_ignored(&resolved_path.real).for_each(|entry| {
            first.push(entry_line(entry.file_name(), entry.path(), entry.file_type()));
        }),
    }
    Ok(outcome(&resolved_path, first, all, ctx.limits.bytes))
}

fn outcome(resolved_path: &ResolvedPath, first: FirstNames, all: usize, most_bytes: usize) -> ToolOutcome {
    let mut text = String::new();
    let mut listed = 0;
    for (_, line) in &first.lines {
        if text.len() + line.len() >= most_bytes {
            break;
        }
        text.push_str(&format!("{line}\n"));
        listed += 1;
    }
    let ignored = all.saturating_sub(first.seen);
    let mut notes: Vec<String> = Vec::new();
    if all == 0 {
        notes.push("[the folder is empty]".to_owned());
    }
    if listed < first.seen {
        let left = size::count(first.seen - listed, "more name", "more names");
        notes.push(format!("[{left}; raise limit, or use find to select some]"));
    }
    if ignored > 0 {
        let names = size::count(ignored, "name is", "names are");
        notes.push(format!("[{names} ignored by .gitignore; set all to see them]"));
    }
    notes.extend(resolved_path.link_note());
    let gap = if text.is_empty() || notes.is_empty() { "" } else { "\n" };
    let text = format!("{text}{gap}{}", notes.join("\n"));
    ToolOutcome::text(text.trim_end_matches('\n'))
        .with_details(resolved_path.details())
        .with_detail("entries", json!(first.seen))
        .with_detail("ignored", json!(ignored))
        .with_detail("truncated", json!(listed < first.seen))
}

/// Keeps the first `most` names in sorted order.
#[derive(Debug)]
struct FirstNames {
    most: usize,
    lines: BTreeSet<(String, String)>,
    seen: usize,
}

impl FirstNames {
    fn push(&mut self, line: String) {
        self.seen += 1;
        self.lines.insert((line.to_lowercase(), line));
        if self.lines.len() > self.most {
            self.lines.pop_last();
        }
    }
}

fn entry_line(name: &OsStr, path: &Path, kind: Option<FileType>) -> String {
    let name = escape_name(name);
    match kind {
        Some(kind) if kind.is_dir() => format!("{name}/"),
        Some(kind) if kind.is_symlink() => match fs::read_link(path) {
            Ok(target) => format!("{name} -> {}", escape_name(target)),
            Err(_) => name,
        },
        _ => name,
    }
}
