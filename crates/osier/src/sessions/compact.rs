//! `compact`: a summary for the older part of the path.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_agent::{Command, Compacted, Reply};
use osier_session::Session;
use osier_tree::Place;
use osier_tree::tokens::TokenCount;
use serde_json::json;

use super::moving;
use crate::errand::{self, Came, Writer};
use crate::home::Home;
use crate::layout::plain;
use crate::out::{Out, remark};
use crate::{reading, target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions compact 4f89da11
  osier sessions compact 4f89da11 --focus 'keep every decision about the format'
  osier sessions compact 4f89da11 --model offline
  osier sessions compaction 4f89da11          what it dropped
  osier sessions compaction 4f89da11 --undo   as if it had not been

What was said last stays as it is, about as much as the setting compaction.keep_recent_tokens says; a summary stands for the \
rest in what a model is sent. Nothing is removed: it is one more entry. The summary is written by the model of the session, \
by the one that --model names, or by the setting summary_model. Ctrl-C stops it; then, as after any failure, nothing was changed.
Prints the id of the entry; how much shorter it got is told on standard error.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// What the summary should heed above all
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,
    /// The model that writes the summary
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Print {entry, firstKeptEntryId, tokensBefore, tokensAfter, leafId} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let session = target::session(home, &args.session).await?;
    let command = Command::Compact { focus: args.focus.clone() };
    match errand::run(&session, home, Writer::Model(args.model.as_deref()), command).await? {
        Came::Of(Reply::Compacted(made)) => tell(&session, &made, args.json).await,
        Came::Of(_) => bail!("the agent did not answer"),
        Came::Stopped(code) => moving::stopped(&session, args.json, code),
    }
}

async fn tell(session: &Session, made: &Compacted, json: bool) -> Result<ExitCode> {
    let tree = session.tree();
    let compaction = made.entry.as_deref().and_then(|id| tree.find(id));
    let before =
        before(session, compaction.and_then(|seq| tree.head(seq).parent), Some(made.tokens_before)).await?;
    let after = reading::tokens(session, session.main().place()).await?;
    let mut out = Out::new();
    if json {
        let mut value = json!({
            "entry": made.entry, "firstKeptEntryId": made.first_kept_entry_id, "tokensBefore": before.tokens,
            "tokensAfter": after.tokens, "leafId": made.entry,
        });
        for (key, count) in [("tokensBeforeEstimated", before), ("tokensAfterEstimated", after)] {
            if count.estimated {
                value[key] = json!(true);
            }
        }
        out.json(&value)?;
        return out.done();
    }
    if let Some(entry) = &made.entry {
        remark(&format!("{}, kept from {}", shorter(before, after), plain(&made.first_kept_entry_id)));
        out.line(&plain(entry))?;
    }
    out.done()
}

/// The tokens before a compaction at a place. An entry stores only their number: it was measured if a model reported it.
pub(super) async fn before(session: &Session, at: Place, stored: Option<u64>) -> Result<TokenCount> {
    let count = reading::tokens(session, at).await?;
    let tokens = stored.unwrap_or(count.tokens);
    Ok(TokenCount { tokens, estimated: count.estimated || tokens != count.tokens })
}

/// How much a compaction saved, in words.
pub(crate) fn shorter(before: TokenCount, after: TokenCount) -> String {
    format!("{before} tokens before, {after} after")
}
