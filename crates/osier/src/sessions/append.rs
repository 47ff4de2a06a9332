//! `append`: appends one entry to a session or to a new one.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use osier_session::{Commit, Outcome, Session, Stored};
use osier_store::{MemoryStore, StoreError};
use osier_tree::projection::context::with_field;
use osier_tree::projection::model::NO_PROVIDER;
use osier_tree::scan::{Raw, quote};
use osier_tree::{Header, Place, PlanError, Seq, SessionTree};
use serde_json::json;

use crate::failure::usage;
use crate::home::Home;
use crate::layout::plain;
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
    #[arg(long, value_enum, default_value_t = Role::User, conflicts_with = "entry")]
    role: Role,
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
enum Role {
    User,
    Assistant,
}

/// The entry to append.
struct Wish {
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
    let (word, text) = words(&args)?;
    let request = wish(&args, text, home)?;
    let appended = match word {
        None => begin(home, None, &request).await?,
        Some(word) if target::is_path(word) && !Path::new(word).exists() => {
            begin(home, Some(&std::path::absolute(word)?), &request).await?
        }
        Some(word) => go_on(home, word, &request).await?,
    };
    let mut out = Out::new();
    if args.json {
        let Appended { session, file, id, seq } = appended;
        let file = file.map(|file| file.display().to_string());
        out.json(&json!({ "session": session, "file": file, "id": id, "seq": seq.index() }))?;
    } else {
        out.line(&plain(&appended.id))?;
    }
    out.done()
}

/// The session, if one is given, and the text or entry.
fn words(args: &Args) -> Result<(Option<&str>, &str)> {
    match (&args.entry, args.words.as_slice()) {
        (Some(entry), []) => Ok((None, entry)),
        (Some(entry), [session]) => Ok((Some(session), entry)),
        (Some(_), _) => Err(usage("--entry takes a SESSION and no TEXT")),
        (None, [id]) if names_a_session(id) => {
            Err(usage(format!("{} is a session; also give the TEXT to append", plain(id))))
        }
        (None, [text]) => Ok((None, text)),
        (None, [session, text]) => Ok((Some(session), text)),
        (None, _) => Err(usage("give TEXT to append, or --entry")),
    }
}

/// Whether a single argument looks like a session, not like text.
fn names_a_session(word: &str) -> bool {
    let is_id = word.len() == 36 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_id || word.ends_with(".jsonl") && Path::new(word).exists()
}

fn wish(args: &Args, text: &str, home: &Home) -> Result<Wish> {
    let text = read_stdin(text)?;
    let object = match &args.entry {
        Some(_) => text.into_bytes(),
        None if text.trim().is_empty() => return Err(usage("TEXT is empty")),
        None => said(args.role, &text, home),
    };
    let (is_entry, parent, name) = (args.entry.is_some(), args.parent.clone(), args.name.clone());
    Ok(Wish { object, is_entry, parent, name })
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
        return Err(usage("standard input is longer than 256 MiB"));
    }
    Ok(text.trim_end_matches('\n').to_owned())
}

/// A complete entry with the parent of `--parent` added.
fn below(object: &[u8], parent: Option<&str>) -> Result<Vec<u8>> {
    let Some(parent) = parent else { return Ok(object.to_vec()) };
    let raw = Raw::parse(object).map_err(|_| PlanError::NotAnEntry { why: "it is not JSON" })?;
    if raw.get("parentId").is_some() {
        return Err(usage("the entry already has a parentId; omit --parent"));
    }
    let mut value = Vec::new();
    match parent {
        "root" => value.extend_from_slice(b"null"),
        id => quote(id, &mut value),
    }
    Ok(with_field(raw, "parentId", &value))
}

/// A message entry. An assistant's message has all the fields that readers of the format expect.
fn said(role: Role, text: &str, home: &Home) -> Vec<u8> {
    let content = json!([{ "type": "text", "text": text }]);
    let timestamp = home.now();
    let message = match role {
        Role::User => json!({ "role": "user", "content": content, "timestamp": timestamp }),
        Role::Assistant => {
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
async fn go_on(home: &Home, word: &str, request: &Wish) -> Result<Appended> {
    if request.name.is_some() {
        return Err(usage("--name is for new sessions; use `osier sessions rename` for this one"));
    }
    let session = target::session(home, word).await?;
    let parent =
        request.parent.as_deref().map(|word| reading::whole_id(&session.tree(), word)).transpose()?;
    let stored = commit(&session, request, parent.as_deref()).await?;
    session.before_prompt().await?;
    let file = session.file().map(Path::to_owned);
    Ok(Appended { session: session.id().to_owned(), file, id: stored.id.to_string(), seq: stored.seq })
}

/// Creates a session with the entry in it, in the store or at `path`.
async fn begin(home: &Home, path: Option<&Path>, request: &Wish) -> Result<Appended> {
    let store = home.store();
    let header = home.header(&*store, &home.cwd.to_string_lossy()).await?;
    let (lines, stored) = first_lines(home, &header, request).await?;
    let created = match path {
        Some(path) => home.files().create_at(path, &header, &lines).await,
        None => store.create(&header, &lines).await,
    };
    match (created, path.and_then(Path::to_str)) {
        // Another process has just created the file: append to it.
        (Err(StoreError::AlreadyExists { .. }), Some(path)) => Box::pin(go_on(home, path, request)).await,
        (created, _) => {
            let file = created?.file;
            Ok(Appended { session: header.id, file, id: stored.id.to_string(), seq: stored.seq })
        }
    }
}

/// The first lines of a session. They are built in a session in memory, so that a rejected entry leaves no file behind.
async fn first_lines(home: &Home, header: &Header, request: &Wish) -> Result<(Vec<Vec<u8>>, Stored)> {
    let session = Session::create(Arc::new(MemoryStore::default()), header, &[], home.env()).await?;
    if let Some(name) = &request.name {
        session.rename(name).await?;
    }
    let stored = commit(&session, request, request.parent.as_deref()).await?;
    let all: Vec<Seq> = (0..session.version().entries).map(Seq::new).collect();
    let mut lines = Vec::new();
    session
        .each_line(session.version(), &all, |_, line| {
            lines.push(line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok((lines, stored))
}

async fn commit(session: &Session, request: &Wish, parent: Option<&str>) -> Result<Stored> {
    let outcome = match request.is_entry {
        true => session.append_entry(&below(&request.object, parent)?).await?,
        false => session.commit(message(request, parent)).await?,
    };
    match outcome {
        Outcome::Stored(stored) => Ok(stored),
        Outcome::Nothing | Outcome::Cancelled => bail!("nothing was appended"),
    }
}

fn message(request: &Wish, parent: Option<&str>) -> Commit {
    let (object, parent) = (request.object.clone(), parent.map(str::to_owned));
    Commit::new(move |tree, at| {
        let message = Raw::parse(&object).ok().and_then(|object| object.get("message"));
        let message = message.ok_or(PlanError::NotAnEntry { why: "it has no message" })?;
        tree.plan_message(under(tree, at, parent.as_deref())?, message)
    })
}

fn under(tree: &SessionTree, leaf: Place, parent: Option<&str>) -> Result<Place, PlanError> {
    match parent {
        None => Ok(leaf),
        Some("root") => Ok(None),
        Some(id) => tree.require_shown(id).map(Some),
    }
}
