//! `append`: one entry, to a session or to a new one.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use osier_session::{Commit, Outcome, Session, Stored};
use osier_store::FileStore;
use osier_tree::scan::Raw;
use osier_tree::{Header, Place, PlanError, SessionTree};
use serde_json::json;

use crate::failure::usage;
use crate::home::Home;
use crate::out::Out;
use crate::target::{self, Target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions append 'How do I begin?'                     a new session in this directory
  osier sessions append 4f89da11 --role assistant 'Like so.'
  osier sessions append talk.jsonl --parent root 'Anew'       the file is created if it is not there
  osier sessions append 4f89da11 --entry '{\"type\":\"custom\",\"customType\":\"mine\",\"data\":1}'

TEXT `-` is read from standard input. Prints the id of the new entry.")]
pub(crate) struct Args {
    /// SESSION and TEXT; only TEXT for a new session; only SESSION with --entry
    #[arg(value_name = "SESSION|TEXT", num_args = 0..=2)]
    words: Vec<String>,
    /// Who says TEXT
    #[arg(long, value_enum, default_value_t = Role::User)]
    role: Role,
    /// The entry below which it goes, or `root`; the leaf if not given
    #[arg(long, value_name = "ENTRY")]
    parent: Option<String>,
    /// A whole entry as JSON; missing id, parentId and timestamp are filled in
    #[arg(long, value_name = "JSON")]
    entry: Option<String>,
    /// The name of a new session
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

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let (word, text) = match (args.entry.is_some(), args.words.as_slice()) {
        (true, []) => (None, None),
        (true, [session]) => (Some(session), None),
        (true, _) => return Err(usage("with --entry give a SESSION and no TEXT")),
        (false, [text]) => (None, Some(text)),
        (false, [session, text]) => (Some(session), Some(text)),
        (false, _) => return Err(usage("give a TEXT to append, or an --entry")),
    };
    let object = match (&args.entry, text) {
        (Some(entry), _) => read_stdin(entry)?.into_bytes(),
        (None, text) => said(args.role, &read_stdin(text.map_or("", String::as_str))?, home),
    };
    let session = open(word.map(String::as_str), home).await?;
    if let Some(name) = &args.name {
        session.rename(name).await?;
    }
    let stored = store(&session, &object, &args).await?;
    session.before_prompt().await?;
    let mut out = Out::new();
    if args.json {
        let file = session.file().map(|file| file.display().to_string());
        out.json(
            &json!({ "session": session.id(), "file": file, "id": &*stored.id, "seq": stored.seq.index() }),
        )?;
    } else {
        out.line(&stored.id)?;
    }
    out.done()
}

fn read_stdin(word: &str) -> Result<String> {
    if word != "-" {
        return Ok(word.to_owned());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// A message entry. An assistant's needs the fields that every reader of the format expects.
fn said(role: Role, text: &str, home: &Home) -> Vec<u8> {
    let content = json!([{ "type": "text", "text": text }]);
    let timestamp = home.env().clock.now();
    let message = match role {
        Role::User => json!({ "role": "user", "content": content, "timestamp": timestamp }),
        Role::Assistant => {
            let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
            json!({
                "role": "assistant", "content": content, "api": "none", "provider": "none", "model": "by-hand",
                "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost },
                "stopReason": "stop", "timestamp": timestamp,
            })
        }
    };
    json!({ "type": "message", "message": message }).to_string().into_bytes()
}

async fn open(word: Option<&str>, home: &Home) -> Result<Session> {
    let env = home.env();
    let new = |cwd: &Path| Header::new(env.ids.session(), env.clock.now(), cwd.to_string_lossy());
    match word {
        Some(word) if target::is_path(word) && !Path::new(word).exists() => {
            let store = home.store();
            store.create_at(Path::new(word), &new(&home.cwd), &[]).await?;
            Ok(Session::open(store, &FileStore::id_of_path(Path::new(word))?, env).await?)
        }
        Some(word) => Target::find(home, word).await?.session(home).await,
        None => {
            let store: Arc<FileStore> = home.store();
            Ok(Session::create(store, &new(&home.cwd), &[], env.clone()).await?)
        }
    }
}

async fn store(session: &Session, object: &[u8], args: &Args) -> Result<Stored> {
    let commit = match (&args.entry, &args.parent) {
        (Some(_), Some(_)) => {
            bail!(usage("--parent does not go with --entry; put a parentId into the entry"))
        }
        (Some(_), None) => Commit::entry(object)?,
        (None, parent) => {
            let (object, parent) = (object.to_vec(), parent.clone());
            Commit::new(move |tree, at| {
                let message = Raw::parse(&object).ok().and_then(|object| object.get("message"));
                let message = message.ok_or(PlanError::NotAnEntry { why: "it has no message" })?;
                tree.plan_message(under(tree, at, parent.as_deref())?, message)
            })
        }
    };
    match session.commit(commit).await? {
        Outcome::Stored(stored) => Ok(stored),
        Outcome::Nothing | Outcome::Cancelled => bail!("nothing was appended"),
    }
}

fn under(tree: &SessionTree, leaf: Place, parent: Option<&str>) -> Result<Place, PlanError> {
    match parent {
        None => Ok(leaf),
        Some("root") => Ok(None),
        Some(id) => tree.require(id).map(Some),
    }
}
