//! `grep`: searches files for lines that match, with the libraries of ripgrep.

use std::io;
use std::path::Path;

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::tool_spec;
use super::walk::{PathGlob, relative_to, walk};
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::folder::OpenFolder;
use crate::outcome::ToolOutcome;
use crate::paths::{ResolvedPath, escape_name};
use crate::size;
use crate::tool::{Preview, Tool, ToolKind, ToolSpec};

const NAME: &str = "grep";
const DESCRIPTION: &str = "Searches files line by line for a regular expression (Rust syntax) and shows each match with \
    its line number. Ignored (.gitignore), hidden and binary files are skipped. Returns at most 100 matches unless limit \
    is set.";

/// The longest line that is searched, because a line must fit into memory. Normal source files have much shorter lines.
const MAX_LINE_BYTES: usize = 8 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// The regular expression, or plain text if literal is true.
    pattern: String,
    /// The folder or file to search; the project by default.
    path: Option<String>,
    /// Search only files whose name matches, such as *.rs, or whose path below the folder matches, such as src/**/*.ts.
    glob: Option<String>,
    /// Ignore case.
    ignore_case: Option<bool>,
    /// Treat the pattern as plain text.
    literal: Option<bool>,
    /// Lines to show before and after each match.
    context: Option<u32>,
    /// The maximum number of matches; 100 by default.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    /// Search hidden files too.
    hidden: Option<bool>,
}

/// The `grep` tool.
#[derive(Debug)]
pub(crate) struct Grep;

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        tool_spec::<Arguments>(NAME, ToolKind::Reads, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, _: &ToolContext) -> Result<Preview> {
        parse::<Arguments>(NAME, arguments).map(|_| Preview::nothing())
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let grep = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::run_read(ctx, move |ctx| grep(&arguments, ctx)).await
        };
        grep.await.unwrap_or_else(|failure| failure)
    }
}

fn grep(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let matcher = matcher(arguments)?;
    let glob = arguments.glob.as_deref().map(|glob| PathGlob::new("glob", glob)).transpose()?;
    let resolved_path = ResolvedPath::resolve(ctx, arguments.path.as_deref().unwrap_or("."))?;
    let metadata =
        std::fs::metadata(&resolved_path.real).map_err(|error| resolved_path.io_failure("search", &error))?;
    let shut = ctx.protected.key_files();
    if !metadata.is_dir() {
        resolved_path.require_regular_file(&metadata)?;
        if shut.contains(&metadata) {
            return Err(resolved_path.key_file_outcome());
        }
    }
    let mut hits = GrepResults::new(arguments, ctx);
    let mut searcher = searcher(arguments);
    for entry in walk(&resolved_path.real, arguments.hidden.unwrap_or(false), &ctx.protected) {
        if hits.is_done() {
            break;
        }
        let path = relative_to(&resolved_path.real, entry.path());
        let wanted =
            entry.file_type().is_some_and(|kind| kind.is_file()) || entry.depth() == 0 && metadata.is_file();
        let wanted = wanted && glob.as_ref().is_none_or(|glob| glob.matches(&path));
        if wanted && !shut.contains_path(entry.path()) {
            hits.begin_file(display_name(&resolved_path, &path, metadata.is_dir()));
            let searched = match ctx.protected.closes_paths() {
                false => searcher.search_path(&matcher, entry.path(), &mut hits),
                // A link that takes the place of a folder now must not lead to closed files.
                true => OpenFolder::open_parent(entry.path(), false)
                    .and_then(|(folder, name)| folder.open_file(&name))
                    .and_then(|file| searcher.search_file(&matcher, &file, &mut hits)),
            };
            if let Err(error) = searched {
                hits.skipped.count(&error);
            }
        }
    }
    if ctx.cancel.is_cancelled() {
        return Err(ToolOutcome::cancelled());
    }
    Ok(hits.outcome(arguments, &resolved_path))
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher> {
    let built = RegexMatcherBuilder::new()
        .case_insensitive(arguments.ignore_case.unwrap_or(false))
        .fixed_strings(arguments.literal.unwrap_or(false))
        .line_terminator(Some(b'\n'))
        .build(&arguments.pattern);
    built.map_err(|error| {
        let hint = match arguments.pattern.contains('\n') || arguments.pattern.contains("\\n") {
            true => "each line is searched separately; remove the line break",
            false => "to search for plain text, set literal to true",
        };
        ToolOutcome::failed(format!(
            "`pattern` is not a valid regular expression for single lines: {error}\n{hint}"
        ))
    })
}

fn searcher(arguments: &Arguments) -> Searcher {
    let context = arguments.context.unwrap_or(0).min(50) as usize;
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .heap_limit(Some(MAX_LINE_BYTES))
        .before_context(context)
        .after_context(context)
        .build()
}

/// The name of a file as the model can use it: including the searched folder.
fn display_name(resolved_path: &ResolvedPath, path: &Path, in_folder: bool) -> String {
    match (in_folder, resolved_path.display.as_str()) {
        (false, file) => file.to_owned(),
        (true, ".") => escape_name(path),
        (true, folder) => format!("{folder}/{}", escape_name(path)),
    }
}

/// Collects matches, grouped by file.
#[derive(Debug)]
struct GrepResults {
    text: String,
    file: String,
    /// Whether `text` already contains the name of the current file.
    name_shown: bool,
    matches: usize,
    files: usize,
    limit: usize,
    max_bytes: usize,
    line_chars: usize,
    /// There are more matches than shown.
    more: bool,
    skipped: SkippedFiles,
    cancel: CancellationToken,
}

impl GrepResults {
    fn new(arguments: &Arguments, ctx: &ToolContext) -> GrepResults {
        GrepResults {
            text: String::new(),
            file: String::new(),
            name_shown: false,
            matches: 0,
            files: 0,
            limit: arguments.limit.map_or(ctx.limits.matches, |limit| limit.max(1) as usize),
            max_bytes: ctx.limits.bytes,
            line_chars: ctx.limits.line_chars,
            more: false,
            skipped: SkippedFiles::default(),
            cancel: ctx.cancel.clone(),
        }
    }

    fn begin_file(&mut self, file: String) {
        self.file = file;
        self.name_shown = false;
    }

    fn is_done(&self) -> bool {
        self.more || self.cancel.is_cancelled()
    }

    fn push_line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        if !self.name_shown {
            let gap = if self.text.is_empty() { "" } else { "\n" };
            self.text.push_str(&format!("{gap}{}\n", self.file));
            self.name_shown = true;
        }
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let (line, more) = match line.char_indices().nth(self.line_chars) {
            Some((at, _)) => (&line[..at], "…"),
            None => (line, ""),
        };
        self.text.push_str(&format!("{}{mark} {line}{more}\n", number.unwrap_or_default()));
    }

    fn outcome(self, arguments: &Arguments, resolved_path: &ResolvedPath) -> ToolOutcome {
        let mut notes: Vec<String> = resolved_path.link_note().into_iter().collect();
        if self.matches == 0 {
            let hidden = if arguments.hidden == Some(true) { "" } else { "hidden and " };
            notes.push(format!("[no matches; {hidden}ignored files were not searched]"));
        } else if self.more {
            notes.push(format!(
                "[more than {}; narrow the search with path, glob or pattern, or raise limit]",
                size::count(self.matches, "match", "matches")
            ));
        }
        notes.extend(self.skipped.notes());
        let gap = if self.text.is_empty() || notes.is_empty() { "" } else { "\n" };
        let text = format!("{}{gap}{}", self.text, notes.join("\n"));
        ToolOutcome::text(text.trim_end_matches('\n'))
            .with_details(resolved_path.details())
            .with_detail("matches", json!(self.matches))
            .with_detail("files", json!(self.files))
            .with_detail("truncated", json!(self.more))
    }
}

/// The files that were not searched to their end.
#[derive(Debug, Default)]
struct SkippedFiles {
    /// They have a line that is too long to search.
    long_lines: usize,
    unreadable: usize,
}

impl SkippedFiles {
    fn count(&mut self, error: &io::Error) {
        match error.to_string().contains("allocation limit") {
            true => self.long_lines += 1,
            // It was removed in the meantime.
            false if error.kind() == io::ErrorKind::NotFound => {}
            false => self.unreadable += 1,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.long_lines > 0 {
            notes.push(format!(
                "[{} not searched to the end: a line is longer than {}; use bash for it]",
                size::count(self.long_lines, "file was", "files were"),
                size::bytes(MAX_LINE_BYTES as u64)
            ));
        }
        if self.unreadable > 0 {
            let files = size::count(self.unreadable, "file", "files");
            notes.push(format!("[{files} could not be read, so matches may be missing]"));
        }
        notes
    }
}

impl Sink for GrepResults {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.matches == self.limit || self.text.len() > self.max_bytes {
            self.more = true;
            return Ok(false);
        }
        self.files += usize::from(!self.name_shown);
        self.matches += 1;
        self.push_line(found.line_number(), ':', found.bytes());
        Ok(!self.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        if self.matches < self.limit || self.name_shown {
            self.files += usize::from(!self.name_shown);
            self.push_line(line.line_number(), '-', line.bytes());
        }
        Ok(!self.cancel.is_cancelled())
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text.push_str("--\n");
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_read_are_reported_and_those_that_are_gone_are_not() {
        let mut skipped = SkippedFiles::default();
        skipped.count(&io::ErrorKind::NotFound.into());
        assert_eq!(skipped.notes(), [""; 0]);
        skipped.count(&io::ErrorKind::PermissionDenied.into());
        assert_eq!(skipped.notes(), ["[1 file could not be read, so matches may be missing]"]);
    }
}
