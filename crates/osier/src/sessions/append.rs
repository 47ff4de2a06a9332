//! `append`: appends one entry to a session or to a new one.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use osier_engine::{AppendContent, AppendRequest, AppendedEntry, EngineError, KeepWhen, StoreError, is_path};
use osier_tree::projection::model::NO_PROVIDER;
use serde_json::json;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::output_writer::OutputWriter;
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions append 'How do I begin?'                     a new session in this directory
  osier sessions append 4f89da11 --role assistant 'Like so.'
  osier sessions append 4f89da11 -- '--help says nothing'     TEXT that begins with a dash
  osier sessions append talk.jsonl --parent root 'Again'      creates the file if it does not exist
  osier sessions append 4f89da11 --entry '{\"type\":\"custom\",\"customType\":\"mine\",\"data\":1}'

Use `-` to read TEXT or JSON from standard input. Appending an entry that already exists with the same content changes nothing.
Prints the id of the entry.")]
pub(crate) struct Args {
    /// SESSION and TEXT; only TEXT for a new session; only SESSION with --entry
    #[arg(value_name = "SESSION|TEXT", num_args = 0..=2)]
    words: Vec<String>,
    /// Role of the message
    #[arg(long, value_enum, default_value_t = AppendRole::User, conflicts_with = "entry")]
    role: AppendRole,
    /// Parent entry, or `root` [default: the leaf]
    #[arg(long, value_name = "ENTRY")]
    parent: Option<String>,
    /// Complete entry as JSON; missing id, parentId and timestamp are filled in
    #[arg(long, value_name = "JSON")]
    entry: Option<String>,
    /// Name of the new session
    #[arg(long)]
    name: Option<String>,
    /// Print {session, file, id, seq} as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum AppendRole {
    User,
    Assistant,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let (word, text) = session_and_text(&args)?;
    let request = build_request(&args, text, home)?;
    let appended = match word {
        None => append_to_new(&args, None, &request, home).await?,
        Some(word) if is_path(word) && !Path::new(word).exists() => {
            append_to_new(&args, Some(word), &request, home).await?
        }
        Some(word) => append_to_existing(&args, word, &request, home).await?,
    };
    let mut out = OutputWriter::new();
    if args.json {
        let AppendedEntry { session, file, id, seq } = appended;
        let file = file.map(|file| file.display().to_string());
        out.json(&json!({ "session": session, "file": file, "id": id, "seq": seq.index() }))?;
    } else {
        out.line(&sanitize_line(&appended.id))?;
    }
    out.finish()
}

/// The session, if one is given, and the text or entry.
fn session_and_text(args: &Args) -> Result<(Option<&str>, &str)> {
    match (&args.entry, args.words.as_slice()) {
        (Some(entry), []) => Ok((None, entry)),
        (Some(entry), [session]) => Ok((Some(session), entry)),
        (Some(_), _) => Err(usage_error("--entry takes a SESSION and no TEXT")),
        (None, [id]) if looks_like_session(id) => {
            Err(usage_error(format!("{} is a session; also give the TEXT to append", sanitize_line(id))))
        }
        (None, [text]) => Ok((None, text)),
        (None, [session, text]) => Ok((Some(session), text)),
        (None, _) => Err(usage_error("give TEXT to append, or --entry")),
    }
}

/// Whether a single argument looks like a session, not like text.
fn looks_like_session(word: &str) -> bool {
    let is_id = word.len() == 36 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_id || word.ends_with(".jsonl") && Path::new(word).exists()
}

fn build_request(args: &Args, text: &str, home: &Home) -> Result<AppendRequest> {
    let text = read_stdin(text)?;
    let content = match &args.entry {
        Some(_) => AppendContent::Entry(text.into_bytes()),
        None if text.trim().is_empty() => return Err(usage_error("TEXT is empty")),
        None => AppendContent::Message(message(args.role, &text, home)),
    };
    Ok(AppendRequest { content, parent: args.parent.clone() })
}

/// Limit for standard input, against endless devices.
const MAX_STDIN: u64 = 256 << 20;

fn read_stdin(word: &str) -> Result<String> {
    if word != "-" {
        return Ok(word.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().take(MAX_STDIN + 1).read_to_string(&mut text).context("cannot read standard input")?;
    if text.len() as u64 > MAX_STDIN {
        return Err(usage_error("standard input is longer than 256 MiB"));
    }
    Ok(text.trim_end_matches('\n').to_owned())
}

/// A message. An assistant's message has all the fields that readers of the format expect.
fn message(role: AppendRole, text: &str, home: &Home) -> Vec<u8> {
    let content = json!([{ "type": "text", "text": text }]);
    let timestamp = home.now();
    let message = match role {
        AppendRole::User => json!({ "role": "user", "content": content, "timestamp": timestamp }),
        AppendRole::Assistant => {
            let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
            json!({
                "role": "assistant", "content": content, "api": "none", "provider": NO_PROVIDER, "model": "by-hand",
                "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost },
                "stopReason": "stop", "timestamp": timestamp,
            })
        }
    };
    message.to_string().into_bytes()
}

/// Appends to an existing session.
async fn append_to_existing(
    args: &Args,
    word: &str,
    request: &AppendRequest,
    home: &Home,
) -> Result<AppendedEntry> {
    if args.name.is_some() {
        return Err(usage_error("--name is for new sessions; use `osier sessions rename` for this one"));
    }
    Ok(home.engine.append(&target::find(home, word).await?, request).await?)
}

/// Creates a session with the entry in it, in the store or at `path`.
async fn append_to_new(
    args: &Args,
    path: Option<&str>,
    request: &AppendRequest,
    home: &Home,
) -> Result<AppendedEntry> {
    let (new, file) = (home.new_session(KeepWhen::Always), path.map(std::path::absolute).transpose()?);
    let appended = home.engine.append_to_new(&new, args.name.as_deref(), file.as_deref(), request).await;
    match (appended, path) {
        // Another process has just created the file: append to it.
        (Err(EngineError::Store(StoreError::AlreadyExists { .. })), Some(path)) => {
            append_to_existing(args, path, request, home).await
        }
        (appended, _) => Ok(appended?),
    }
}
