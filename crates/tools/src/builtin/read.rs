//! `read`: returns lines of a text file, or an image.

use std::fs::{File, Metadata};
use std::io::Read as _;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::spec;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::filetext::{BOM, not_text};
use crate::outcome::ToolOutcome;
use crate::paths::Place;
use crate::picture;
use crate::port::{Kind, Preview, Tool, ToolSpec};
use crate::seen::Stamp;
use crate::size;
use crate::window::{Seen, Window};

const NAME: &str = "read";
const DESCRIPTION: &str = "Reads a text file or an image (PNG, JPEG, GIF, WebP). Returns at most 2000 lines or 50 KB of \
    text; if more is left, the result says which offset to continue with. Read a file before you change it. To search \
    many files, use grep.";

/// Larger files are read only up to the end of the window; their lines are not counted and they are not hashed.
const WHOLE: u64 = 256 << 20;

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
        spec::<Arguments>(NAME, Kind::Reads, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, _: &ToolContext) -> Result<Preview> {
        parse::<Arguments>(NAME, arguments).map(|_| Preview::nothing())
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let read = async {
            let arguments = parse::<Arguments>(NAME, &arguments)?;
            blocking::look(ctx, move |ctx| read(&arguments, ctx)).await
        };
        read.await.unwrap_or_else(|failure| failure)
    }
}

fn read(arguments: &Arguments, ctx: &ToolContext) -> Result {
    let place = Place::of(ctx, &arguments.path)?;
    let (mut file, metadata) = place.open(NAME, ctx)?;
    let mut start = vec![0; 8192];
    let got = fill(&mut file, &mut start).map_err(|error| place.failure(NAME, &error))?;
    start.truncate(got);
    if let Some(format) = picture::kind(&start) {
        return image(&place, file, start, format, ctx);
    }
    if let Some(what) = not_text(&start) {
        let size = size::bytes(metadata.len());
        return Err(
            ToolOutcome::failed(format!("{} ({size}) is {what}", place.shown)).with_all(place.details())
        );
    }
    let window = window(arguments, ctx)?;
    let (seen, stamp) = scan(&place, file, &start, &metadata, window, ctx)?;
    text(&place, arguments, seen, stamp)
}

fn window(arguments: &Arguments, ctx: &ToolContext) -> Result<Window> {
    if arguments.limit == Some(0) {
        return Err(ToolOutcome::failed("read: `limit` must be 1 or more"));
    }
    let lines = arguments.limit.map_or(ctx.limits.lines, |limit| ctx.limits.lines.min(limit as usize));
    Ok(Window::new(arguments.offset.unwrap_or(1) as usize, lines, ctx.limits.bytes))
}

/// Fills the buffer, unless the file ends before.
fn fill(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read(&mut buffer[got..])? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

/// Reads the rest in chunks, for the window, the line count and the hash.
fn scan(
    place: &Place,
    mut file: File,
    start: &[u8],
    metadata: &Metadata,
    mut window: Window,
    ctx: &ToolContext,
) -> Result<(Seen, Option<Stamp>)> {
    let whole = metadata.len() <= WHOLE;
    let mut hasher = blake3::Hasher::new();
    hasher.update(start);
    window.push(start.strip_prefix(BOM).unwrap_or(start));
    let mut buffer = vec![0; 256 * 1024];
    while whole || !window.is_closed() {
        if ctx.cancel.is_cancelled() {
            return Err(ToolOutcome::cancelled());
        }
        let got = file.read(&mut buffer).map_err(|error| place.failure(NAME, &error))?;
        if got == 0 {
            return Ok((window.finish(), Some(Stamp::new(metadata, Some(hasher.finalize())))));
        }
        hasher.update(&buffer[..got]);
        window.push(&buffer[..got]);
    }
    Ok((window.finish(), None))
}

fn text(place: &Place, arguments: &Arguments, seen: Seen, stamp: Option<Stamp>) -> Result {
    let first = arguments.offset.unwrap_or(1).max(1) as usize;
    let counted = stamp.is_some();
    if seen.total < first && seen.total > 0 {
        let lines = size::count(seen.total, "line", "lines");
        let text = format!("offset {first} is past the end: {} has {lines}", place.shown);
        return Err(ToolOutcome::failed(text).with_all(place.details()));
    }
    let valid = std::str::from_utf8(&seen.text).is_ok();
    let mut lines = String::from_utf8_lossy(&seen.text).replace("\r\n", "\n");
    if lines.ends_with('\r') {
        lines.pop();
    }
    let mut notes: Vec<String> = place.note().into_iter().collect();
    if !valid {
        notes.push("[not valid UTF-8: invalid bytes are shown as \u{fffd}]".to_owned());
    }
    let cut = seen.cut || seen.last < seen.total || !counted;
    notes.extend(position(first, &seen, counted));
    let text = match notes.is_empty() {
        true => lines,
        false => format!("{lines}\n\n{}", notes.join("\n")).trim_start_matches('\n').to_owned(),
    };
    let mut outcome = ToolOutcome::text(text)
        .with_all(place.details())
        .with("startLine", json!(first))
        .with("endLine", json!(seen.last))
        .with("truncated", json!(cut));
    if let Some(stamp) = stamp {
        outcome = outcome.with("totalLines", json!(seen.total)).with("stamp", json!(stamp));
    }
    Ok(outcome)
}

/// A note that says which part of the file this is and how to continue, unless it is the whole file.
fn position(first: usize, seen: &Seen, counted: bool) -> Option<String> {
    let last = seen.last;
    let next = last + 1;
    if seen.total == 0 {
        return Some("[the file is empty]".to_owned());
    }
    if seen.cut {
        let more = if seen.total > last { format!("; continue with offset {next}") } else { String::new() };
        return Some(format!(
            "[line {first} is too long to show in full; view the rest with bash, for example with cut or jq{more}]"
        ));
    }
    match counted {
        false => Some(format!("[lines {first} to {last} of a very large file; continue with offset {next}]")),
        true if last < seen.total => {
            Some(format!("[lines {first} to {last} of {}; continue with offset {next}]", seen.total))
        }
        true if first > 1 => Some(format!("[lines {first} to {last} of {last}: the end]")),
        true => None,
    }
}

fn image(
    place: &Place,
    mut file: File,
    mut bytes: Vec<u8>,
    format: image::ImageFormat,
    ctx: &ToolContext,
) -> Result {
    let most = ctx.limits.file_bytes as u64;
    let more =
        (&mut file).take(most + 1).read_to_end(&mut bytes).map_err(|error| place.failure(NAME, &error))?;
    if more as u64 > most {
        return Err(ToolOutcome::failed(format!(
            "{} is an image of more than {}",
            place.shown,
            size::bytes(most)
        )));
    }
    let shown = picture::picture(&bytes, format, &ctx.limits)
        .map_err(|why| ToolOutcome::failed(format!("{} looks like an image, but {why}", place.shown)))?;
    let mut text = format!("[{}: image, {}×{} pixels", place.shown, shown.width, shown.height);
    if let Some((width, height)) = shown.original {
        text.push_str(&format!(", scaled down from {width}×{height}"));
    }
    text.push(']');
    text.extend(place.note().map(|note| format!("\n{note}")));
    let mut outcome = ToolOutcome::text(text)
        .with_all(place.details())
        .with("width", json!(shown.width))
        .with("height", json!(shown.height));
    outcome.content.push(shown.content);
    Ok(outcome)
}
