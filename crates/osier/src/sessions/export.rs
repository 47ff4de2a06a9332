//! `export`: writes the path as Markdown, JSON, or JSONL (a session file of its own).

use std::ffi::OsStr;
use std::io::{BufWriter, ErrorKind, IntoInnerError, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use osier_session::Session;
use osier_store::LineSource;
use osier_tree::Place;
use osier_tree::projection::card::Card;
use osier_tree::projection::transcript::{MarkdownWriter, TranscriptItem};
use tempfile::NamedTempFile;

use crate::failure::{fail, usage_error};
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::out::Out;
use crate::reading;
use crate::target::SessionTarget;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions export 4f89da11 > talk.md
  osier sessions export 4f89da11 --output path.jsonl
  osier sessions export x.jsonl --format json --at ade7f3fb

Prints the whole path, including what a compaction hides from the model. md is for reading, json has the same content for \
programs, and jsonl is a session file with only this path, which Osier and pi can open.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Output format [default: by the extension of the output file, else md]
    #[arg(long, short, value_enum)]
    format: Option<ExportFormat>,
    /// Last entry of the path [default: the current position]
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// Write to this file, which must not exist, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum ExportFormat {
    Md,
    Jsonl,
    Json,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let format = export_format(&args)?;
    let target = SessionTarget::find(home, &args.session).await?;
    let card = target.card().await?;
    let session = target.open_session(home).await?;
    let tree = session.tree();
    let at = reading::resolve_place(&tree, args.at.as_deref())?;
    let mut output = ExportOutput::new(args.output.as_deref())?;
    match format {
        ExportFormat::Jsonl => write_jsonl(&session, at, home, &mut output).await?,
        ExportFormat::Md => {
            let mut writer = MarkdownWriter::default();
            output.write(writer.title(card.title()).as_bytes())?;
            session.each_item(at, |item| output.write(writer.item(&item).as_bytes())).await?;
        }
        ExportFormat::Json => write_json(&session, at, &card, &mut output).await?,
    }
    output.finish()
}

/// The requested format, else the one of the output file's extension.
fn export_format(args: &Args) -> Result<ExportFormat> {
    if let Some(asked) = args.json.then_some(ExportFormat::Json).or(args.format) {
        return Ok(asked);
    }
    let extension = args.output.as_deref().and_then(Path::extension).map(OsStr::to_ascii_lowercase);
    match extension.as_deref().map(OsStr::to_string_lossy).as_deref() {
        None | Some("md" | "markdown" | "txt") => Ok(ExportFormat::Md),
        Some("jsonl") => Ok(ExportFormat::Jsonl),
        Some("json") => Ok(ExportFormat::Json),
        Some(other) => Err(usage_error(format!(
            "cannot export to .{}: unknown format; use .md, .json or .jsonl, or choose one with --format",
            sanitize_line(other)
        ))),
    }
}

/// Streams the card and the transcript, formatted like one pretty-printed `serde_json` value.
async fn write_json(session: &Session, at: Place, card: &Card, output: &mut ExportOutput) -> Result<()> {
    let card = indent_json(&serde_json::to_string_pretty(card)?, "\n  ");
    output.write(format!("{{\n  \"session\": {card},\n  \"transcript\": [").as_bytes())?;
    let mut items = 0;
    let write = |item: TranscriptItem| {
        let comma = if items > 0 { "," } else { "" };
        items += 1;
        let item = indent_json(&serde_json::to_string_pretty(&item)?, "\n    ");
        output.write(format!("{comma}\n    {item}").as_bytes())
    };
    session.each_item(at, write).await?;
    output.write(if items > 0 { b"\n  ]\n}\n" } else { b"]\n}\n" })
}

/// Indents JSON. Line feeds occur only between its parts; inside strings they are escaped.
fn indent_json(json: &str, line_feed: &str) -> String {
    json.replace('\n', line_feed)
}

/// Writes a log with only the path, with relinked parents and a new header without a parent session.
async fn write_jsonl(session: &Session, at: Place, home: &Home, output: &mut ExportOutput) -> Result<()> {
    let mut header = home.new_header(&**session.store(), &session.header().cwd).await?;
    header.agent_id.clone_from(&session.header().agent_id);
    let mut source = session.fork_lines(at, None);
    let mut lines = vec![header.to_line()];
    while !lines.is_empty() {
        for line in lines {
            output.write(&line)?;
            output.write(b"\n")?;
        }
        lines = source.next_lines().await?;
    }
    Ok(())
}

/// The destination: standard output, or a new private file that appears only when it is complete.
enum ExportOutput {
    Standard(Box<Out>),
    File { file: BufWriter<NamedTempFile>, path: PathBuf },
}

impl ExportOutput {
    fn new(path: Option<&Path>) -> Result<ExportOutput> {
        let Some(path) = path else { return Ok(ExportOutput::Standard(Box::new(Out::new()))) };
        if path.exists() {
            fail!(AlreadyExists, "{} already exists; choose another name or remove it", path.display())
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new().prefix(".osier-").tempfile_in(folder);
        let file = file.with_context(|| cannot_write(path))?;
        Ok(ExportOutput::File { file: BufWriter::new(file), path: path.to_owned() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            ExportOutput::Standard(out) => out.raw(bytes),
            ExportOutput::File { file, path } => file.write_all(bytes).with_context(|| cannot_write(path)),
        }
    }

    fn finish(self) -> Result<ExitCode> {
        let (file, path) = match self {
            ExportOutput::Standard(out) => return out.finish(),
            ExportOutput::File { file, path } => (file, path),
        };
        let file =
            file.into_inner().map_err(IntoInnerError::into_error).with_context(|| cannot_write(&path))?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(ExitCode::SUCCESS),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                fail!(AlreadyExists, "{} already exists; choose another name or remove it", path.display())
            }
            Err(error) => Err(error.error).with_context(|| cannot_write(&path)),
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
