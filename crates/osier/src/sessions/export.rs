//! `export`: the path as JSONL (a session of its own), Markdown or JSON.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use osier_session::Session;
use osier_tree::projection::transcript::{markdown, transcript, transcript_entries};
use osier_tree::{Header, Place, SessionTree};
use serde_json::json;

use crate::home::Home;
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions export 4f89da11 > talk.md\n  osier sessions export 4f89da11 --format jsonl --output path.jsonl\n  osier sessions export x.jsonl --format json --at ade7f3fb"
)]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The form: md, jsonl or json; by default from the name of the output, else md
    #[arg(long, short, value_enum)]
    format: Option<Format>,
    /// The entry at which the path ends; where the session stands if not given
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// Write to this new file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum Format {
    Md,
    Jsonl,
    Json,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let card = osier_store::Store::card(&*target.store, &target.key).await?;
    let session = target.session(home).await?;
    let tree = session.tree();
    let at = reading::place(&tree, args.at.as_deref())?;
    let by_name = args.output.as_ref().and_then(|path| match path.extension()?.to_str()? {
        "jsonl" => Some(Format::Jsonl),
        "json" => Some(Format::Json),
        _ => None,
    });
    let text = match args.format.or(by_name).unwrap_or(Format::Md) {
        Format::Jsonl => jsonl(&session, &tree, at, home).await?,
        Format::Md => markdown(&items(&session, &tree, at).await?, card.title()).into_bytes(),
        Format::Json => {
            let value = json!({ "session": card, "transcript": items(&session, &tree, at).await? });
            [serde_json::to_vec_pretty(&value)?, b"\n".to_vec()].concat()
        }
    };
    write(&text, args.output)?;
    Ok(ExitCode::SUCCESS)
}

async fn items(
    session: &Session,
    tree: &SessionTree,
    at: Place,
) -> Result<Vec<osier_tree::projection::transcript::TranscriptItem>> {
    let lines = reading::lines(session, &transcript_entries(tree, at)).await?;
    Ok(transcript(tree, at, &lines))
}

/// A log of the path alone, re-chained, under a fresh header that names no parent.
async fn jsonl(session: &Session, tree: &SessionTree, at: Place, home: &Home) -> Result<Vec<u8>> {
    let env = home.env();
    let lines = reading::lines(session, &tree.fork_entries(at)).await?;
    let header = Header::new(env.ids.session(), env.clock.now(), session.header().cwd.clone());
    let mint = |taken: &dyn Fn(&str) -> bool| {
        std::iter::repeat_with(|| env.ids.entry()).find(|id| !taken(id)).unwrap_or_default()
    };
    let mut out = header.line();
    out.push(b'\n');
    for line in tree.fork(at, &lines, env.clock.now(), mint) {
        out.extend_from_slice(&line);
        out.push(b'\n');
    }
    Ok(out)
}

fn write(text: &[u8], output: Option<PathBuf>) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let Some(path) = output else {
        let mut out = std::io::stdout().lock();
        out.write_all(text)?;
        return Ok(out.flush()?);
    };
    let open = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut file = open.with_context(|| format!("cannot create {}", path.display()))?;
    Ok(file.write_all(text)?)
}
