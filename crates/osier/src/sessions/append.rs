//! `append`: appends one entry to a session or to a new one.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use osier_session::{Commit, CommitOutcome, Session, StoredEntry};
use osier_store::{MemoryStore, StoreError};
use osier_tree::projection::context::with_field;
use osier_tree::projection::model::NO_PROVIDER;
use osier_tree::scan::{RawJson, write_json_string};
use osier_tree::{Header, Place, PlanError, Seq, SessionTree};
use serde_json::json;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::out::Out;
use crate::{reading, target};

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

/// The entry to append.
struct AppendRequest {
    /// A complete entry, or an object with only a `message`.
    object: Vec<u8>,
    is_entry: bool,
    parent: Option<String>,
    name: Option<String>,
}

/// A stored entry and its session.
struct Appended {
    session: String,
    file: Option<PathBuf>,
    id: String,
    seq: Seq,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let (word, text) = session_and_text(&args)?;
    let request = build_request(&args, text, home)?;
    let appended = match word {
        None => append_to_new(home, None, &request).await?,
        Some(word) if target::is_path(word) && !Path::new(word).exists() => {
            append_to_new(home, Some(&std::path::absolute(word)?), &request).await?
        }
        Some(word) => append_to_existing(home, word, &request).await?,
    };
    let mut out = Out::new();
    if args.json {
        let Appended { session, file, id, seq } = appended;
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
    let object = match &args.entry {
        Some(_) => text.into_bytes(),
        None if text.trim().is_empty() => return Err(usage_error("TEXT is empty")),
        None => message_entry(args.role, &text, home),
    };
    let (is_entry, parent, name) = (args.entry.is_some(), args.parent.clone(), args.name.clone());
    Ok(AppendRequest { object, is_entry, parent, name })
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

/// A complete entry with the parent of `--parent` added.
fn with_parent(object: &[u8], parent: Option<&str>) -> Result<Vec<u8>> {
    let Some(parent) = parent else { return Ok(object.to_vec()) };
    let raw = RawJson::parse(object).map_err(|_| PlanError::NotAnEntry { why: "it is not JSON" })?;
    if raw.get("parentId").is_some() {
        return Err(usage_error("the entry already has a parentId; omit --parent"));
    }
    let mut value = Vec::new();
    match parent {
        "root" => value.extend_from_slice(b"null"),
        id => write_json_string(id, &mut value),
    }
    Ok(with_field(raw, "parentId", &value))
}

/// A message entry. An assistant's message has all the fields that readers of the format expect.
fn message_entry(role: AppendRole, text: &str, home: &Home) -> Vec<u8> {
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
    json!({ "type": "message", "message": message }).to_string().into_bytes()
}

/// Appends to an existing session.
async fn append_to_existing(home: &Home, word: &str, request: &AppendRequest) -> Result<Appended> {
    if request.name.is_some() {
        return Err(usage_error("--name is for new sessions; use `osier sessions rename` for this one"));
    }
    let session = target::open_session(home, word).await?;
    let parent =
        request.parent.as_deref().map(|word| reading::resolve_id(&session.tree(), word)).transpose()?;
    let stored = commit(&session, request, parent.as_deref()).await?;
    session.sync_if_configured().await?;
    let file = session.file().map(Path::to_owned);
    Ok(Appended { session: session.id().to_owned(), file, id: stored.id.to_string(), seq: stored.seq })
}

/// Creates a session with the entry in it, in the store or at `path`.
async fn append_to_new(home: &Home, path: Option<&Path>, request: &AppendRequest) -> Result<Appended> {
    let store = home.default_store();
    let header = home.new_header(&*store, &home.cwd.to_string_lossy()).await?;
    let (lines, stored) = first_lines(home, &header, request).await?;
    let created = match path {
        Some(path) => home.file_store().create_at(path, &header, &lines).await,
        None => store.create(&header, &lines).await,
    };
    match (created, path.and_then(Path::to_str)) {
        // Another process has just created the file: append to it.
        (Err(StoreError::AlreadyExists { .. }), Some(path)) => {
            Box::pin(append_to_existing(home, path, request)).await
        }
        (created, _) => {
            let file = created?.file;
            Ok(Appended { session: header.id, file, id: stored.id.to_string(), seq: stored.seq })
        }
    }
}

/// The first lines of a session. They are built in a session in memory, so that a rejected entry leaves no file behind.
async fn first_lines(
    home: &Home,
    header: &Header,
    request: &AppendRequest,
) -> Result<(Vec<Vec<u8>>, StoredEntry)> {
    let session = Session::create(Arc::new(MemoryStore::default()), header, &[], home.session_env()).await?;
    if let Some(name) = &request.name {
        session.rename(name).await?;
    }
    let stored = commit(&session, request, request.parent.as_deref()).await?;
    let all: Vec<Seq> = (0..session.version().entries).map(Seq::new).collect();
    let mut lines = Vec::new();
    session
        .for_each_line(session.version(), &all, |_, line| {
            lines.push(line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok((lines, stored))
}

async fn commit(session: &Session, request: &AppendRequest, parent: Option<&str>) -> Result<StoredEntry> {
    let outcome = match request.is_entry {
        true => session.append_entry(&with_parent(&request.object, parent)?).await?,
        false => session.commit(message_commit(request, parent)).await?,
    };
    match outcome {
        CommitOutcome::Stored(stored) => Ok(stored),
        CommitOutcome::Nothing | CommitOutcome::Cancelled => bail!("nothing was appended"),
    }
}

fn message_commit(request: &AppendRequest, parent: Option<&str>) -> Commit {
    let (object, parent) = (request.object.clone(), parent.map(str::to_owned));
    Commit::new(move |tree, at| {
        let message = RawJson::parse(&object).ok().and_then(|object| object.get("message"));
        let message = message.ok_or(PlanError::NotAnEntry { why: "it has no message" })?;
        tree.plan_message(parent_place(tree, at, parent.as_deref())?, message)
    })
}

fn parent_place(tree: &SessionTree, leaf: Place, parent: Option<&str>) -> Result<Place, PlanError> {
    match parent {
        None => Ok(leaf),
        Some("root") => Ok(None),
        Some(id) => tree.require_visible(id).map(Some),
    }
}
