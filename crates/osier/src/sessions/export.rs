//! `export`: the path as JSONL (a session of its own), Markdown or JSON.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use osier_session::Session;
use osier_tree::projection::transcript::{TranscriptItem, markdown, transcript, transcript_entries};
use osier_tree::{Place, SessionTree};
use serde_json::json;

use crate::failure::{fail, usage};
use crate::home::Home;
use crate::layout::plain;
use crate::out::Out;
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions export 4f89da11 > talk.md
  osier sessions export 4f89da11 --output path.jsonl
  osier sessions export x.jsonl --format json --at ade7f3fb

Prints the path, all of it, also what a compaction hides from the model: md is for reading, json is the same for \
programs, jsonl is a session file of this path alone, which Osier and pi open.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The format; by default from the extension of the output file, else md
    #[arg(long, short, value_enum)]
    format: Option<Format>,
    /// The entry at which the path ends; where the session stands if not given
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// Write to this new file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum Format {
    Md,
    Jsonl,
    Json,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let format = format(&args)?;
    let target = Target::find(home, &args.session).await?;
    let card = target.card().await?;
    let session = target.session(home).await?;
    let tree = session.tree();
    let at = reading::place(&tree, args.at.as_deref())?;
    let text = match format {
        Format::Jsonl => jsonl(&session, at, home).await?,
        Format::Md => markdown(&items(&session, &tree, at).await?, card.title()).into_bytes(),
        Format::Json => {
            let value = json!({ "session": card, "transcript": items(&session, &tree, at).await? });
            [serde_json::to_vec_pretty(&value)?, b"\n".to_vec()].concat()
        }
    };
    match &args.output {
        Some(path) => write(&text, path)?,
        None => {
            let mut out = Out::new();
            out.raw(&text)?;
            return out.done();
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The format asked for, else the one that the name of the output file stands for.
fn format(args: &Args) -> Result<Format> {
    if let Some(asked) = args.json.then_some(Format::Json).or(args.format) {
        return Ok(asked);
    }
    let extension = args.output.as_deref().and_then(Path::extension).map(OsStr::to_ascii_lowercase);
    match extension.as_deref().map(OsStr::to_string_lossy).as_deref() {
        None | Some("md" | "markdown" | "txt") => Ok(Format::Md),
        Some("jsonl") => Ok(Format::Jsonl),
        Some("json") => Ok(Format::Json),
        Some(other) => Err(usage(format!(
            "cannot export to .{}; name the output .md, .jsonl or .json, or choose one with --format",
            plain(other)
        ))),
    }
}

async fn items(session: &Session, tree: &SessionTree, at: Place) -> Result<Vec<TranscriptItem>> {
    let lines = reading::lines(session, &transcript_entries(tree, at)).await?;
    Ok(transcript(tree, at, &lines))
}

/// A log of the path alone, re-chained, under a fresh header that names no parent.
async fn jsonl(session: &Session, at: Place, home: &Home) -> Result<Vec<u8>> {
    let mut header = home.header(&**session.store(), &session.header().cwd).await?;
    header.agent_id.clone_from(&session.header().agent_id);
    let lines = session.fork_lines(at).await?;
    let mut out = Vec::new();
    for line in std::iter::once(header.line()).chain(lines) {
        out.extend_from_slice(&line);
        out.push(b'\n');
    }
    Ok(out)
}

/// A new file, whole or not at all, that only its owner may read.
fn write(text: &[u8], path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("cannot write {}", path.display());
    let mut file = tempfile::Builder::new().prefix(".osier-").tempfile_in(folder).with_context(cannot)?;
    file.write_all(text).with_context(cannot)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            fail!(AlreadyExists, "{} is there already; give another name or remove it", path.display())
        }
        Err(error) => Err(error.error).with_context(cannot),
    }
}
