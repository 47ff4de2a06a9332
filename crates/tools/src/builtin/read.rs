//! `read`: returns lines of a text file, or an image.

use std::fs::{File, Metadata};
use std::io::Read as _;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool_spec;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::file_text::{BOM, non_text_reason};
use crate::files_read::FileStamp;
use crate::image_content;
use crate::outcome::ToolOutcome;
use crate::paths::ResolvedPath;
use crate::size;
use crate::tool::{Preview, Tool, ToolKind, ToolSpec};
use crate::window::{LineWindow, WindowText};

const NAME: &str = "read";
const DESCRIPTION: &str = "Reads a text file or an image (PNG, JPEG, GIF, WebP). Returns at most 2000 lines or 50 KB of \
    text; if more is left, the result says which offset to continue with. Read a file before you change it. To search \
    many files, use grep.";

/// Larger files are read only up to the end of the window; their lines are not counted and they are not hashed.
const MAX_HASHED_BYTES: u64 = 256 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The file, relative to the project or absolute.
    path: String,
    /// The number of the first line to show, from 1.
    #[schemars(range(min = 1))]
    offset: Option<u32>,
    /// How many lines to show.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// The `read` tool.
#[derive(Debug)]
pub(crate) struct Read;

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        tool_spec::<Arguments>(NAME, ToolKind::Reads, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, _: &ToolContext) -> Result<Preview> {
        parse::<Arguments>(NAME, arguments).map(|_| Preview::nothing())
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let read = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::run_read(ctx, move |ctx| read(&arguments, ctx)).await
        };
        read.await.unwrap_or_else(|failure| failure)
    }
}

fn read(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let resolved_path = ResolvedPath::resolve(ctx, &arguments.path)?;
    let (mut file, metadata) = resolved_path.open(NAME, ctx)?;
    let mut start = vec![0; 8192];
    let count = read_up_to(&mut file, &mut start).map_err(|error| resolved_path.io_failure(NAME, &error))?;
    start.truncate(count);
    if let Some(format) = image_content::supported_format(&start) {
        return image_outcome(&resolved_path, file, start, format, ctx);
    }
    if let Some(what) = non_text_reason(&start) {
        let size = size::bytes(metadata.len());
        return Err(ToolOutcome::failed(format!("{} ({size}) is {what}", resolved_path.display))
            .with_details(resolved_path.details()));
    }
    let window = window(arguments, ctx)?;
    let (window_text, stamp) = scan(&resolved_path, file, &start, &metadata, window, ctx)?;
    text_outcome(&resolved_path, arguments, window_text, stamp)
}

fn window(arguments: &Arguments, ctx: &ToolContext) -> Result<LineWindow> {
    if arguments.limit == Some(0) {
        return Err(ToolOutcome::failed("read: `limit` must be 1 or more"));
    }
    let lines = arguments.limit.map_or(ctx.limits.lines, |limit| ctx.limits.lines.min(limit as usize));
    Ok(LineWindow::new(arguments.offset.unwrap_or(1) as usize, lines, ctx.limits.bytes))
}

/// Fills the buffer, unless the file ends before.
fn read_up_to(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match file.read(&mut buffer[count..])? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

/// Reads the rest in chunks, for the window, the line count and the hash.
fn scan(
    resolved_path: &ResolvedPath,
    mut file: File,
    start: &[u8],
    metadata: &Metadata,
    mut window: LineWindow,
    ctx: &ToolContext,
) -> Result<(WindowText, Option<FileStamp>)> {
    let whole = metadata.len() <= MAX_HASHED_BYTES;
    let mut hasher = blake3::Hasher::new();
    hasher.update(start);
    window.push(start.strip_prefix(BOM).unwrap_or(start));
    let mut buffer = vec![0; 256 * 1024];
    while whole || !window.is_closed() {
        if ctx.cancel.is_cancelled() {
            return Err(ToolOutcome::cancelled());
        }
        let count = file.read(&mut buffer).map_err(|error| resolved_path.io_failure(NAME, &error))?;
        if count == 0 {
            return Ok((window.finish(), Some(FileStamp::new(metadata, Some(hasher.finalize())))));
        }
        hasher.update(&buffer[..count]);
        window.push(&buffer[..count]);
    }
    Ok((window.finish(), None))
}

fn text_outcome(
    resolved_path: &ResolvedPath,
    arguments: &Arguments,
    window_text: WindowText,
    stamp: Option<FileStamp>,
) -> Result {
    let first = arguments.offset.unwrap_or(1).max(1) as usize;
    let counted = stamp.is_some();
    if window_text.total < first && window_text.total > 0 {
        let lines = size::count(window_text.total, "line", "lines");
        let text = format!("offset {first} is past the end: {} has {lines}", resolved_path.display);
        return Err(ToolOutcome::failed(text).with_details(resolved_path.details()));
    }
    let valid = std::str::from_utf8(&window_text.text).is_ok();
    let mut lines = String::from_utf8_lossy(&window_text.text).replace("\r\n", "\n");
    if lines.ends_with('\r') {
        lines.pop();
    }
    let mut notes: Vec<String> = resolved_path.link_note().into_iter().collect();
    if !valid {
        notes.push("[not valid UTF-8: invalid bytes are shown as \u{fffd}]".to_owned());
    }
    let cut = window_text.cut || window_text.last < window_text.total || !counted;
    notes.extend(range_note(first, &window_text, counted));
    let text = match notes.is_empty() {
        true => lines,
        false => format!("{lines}\n\n{}", notes.join("\n")).trim_start_matches('\n').to_owned(),
    };
    let mut outcome = ToolOutcome::text(text)
        .with_details(resolved_path.details())
        .with_detail("startLine", json!(first))
        .with_detail("endLine", json!(window_text.last))
        .with_detail("truncated", json!(cut));
    if let Some(stamp) = stamp {
        outcome =
            outcome.with_detail("totalLines", json!(window_text.total)).with_detail("stamp", json!(stamp));
    }
    Ok(outcome)
}

/// A note that says which part of the file this is and how to continue, unless it is the whole file.
fn range_note(first: usize, window_text: &WindowText, counted: bool) -> Option<String> {
    let last = window_text.last;
    let next = last + 1;
    if window_text.total == 0 {
        return Some("[the file is empty]".to_owned());
    }
    if window_text.cut {
        let more =
            if window_text.total > last { format!("; continue with offset {next}") } else { String::new() };
        return Some(format!(
            "[line {first} is too long to show in full; view the rest with bash, for example with cut or jq{more}]"
        ));
    }
    match counted {
        false => Some(format!("[lines {first} to {last} of a very large file; continue with offset {next}]")),
        true if last < window_text.total => {
            Some(format!("[lines {first} to {last} of {}; continue with offset {next}]", window_text.total))
        }
        true if first > 1 => Some(format!("[lines {first} to {last} of {last}: the end]")),
        true => None,
    }
}

fn image_outcome(
    resolved_path: &ResolvedPath,
    mut file: File,
    mut bytes: Vec<u8>,
    format: image::ImageFormat,
    ctx: &ToolContext,
) -> Result {
    let max_bytes = ctx.limits.file_bytes as u64;
    let more = (&mut file)
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| resolved_path.io_failure(NAME, &error))?;
    if more as u64 > max_bytes {
        return Err(ToolOutcome::failed(format!(
            "{} is an image of more than {}",
            resolved_path.display,
            size::bytes(max_bytes)
        )));
    }
    let shown = image_content::encode_for_model(&bytes, format, &ctx.limits).map_err(|reason| {
        ToolOutcome::failed(format!("{} looks like an image, but {reason}", resolved_path.display))
    })?;
    let mut text = format!("[{}: image, {}×{} pixels", resolved_path.display, shown.width, shown.height);
    if let Some((width, height)) = shown.original {
        text.push_str(&format!(", scaled down from {width}×{height}"));
    }
    text.push(']');
    text.extend(resolved_path.link_note().map(|note| format!("\n{note}")));
    let mut outcome = ToolOutcome::text(text)
        .with_details(resolved_path.details())
        .with_detail("width", json!(shown.width))
        .with_detail("height", json!(shown.height));
    outcome.content.push(shown.content);
    Ok(outcome)
}
