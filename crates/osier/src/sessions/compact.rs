//! `compact`: replaces the older part of the context with a summary.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_engine::{Session, SummaryModel, reading};
use osier_protocol::{ClientCommand, CommandReply, CompactionReply};
use osier_tree::Place;
use osier_tree::tokens::TokenCount;
use serde_json::json;

use super::moves;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::one_shot::{OneShot, OneShotOutcome};
use crate::output_writer::{OutputWriter, notice};
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions compact 4f89da11
  osier sessions compact 4f89da11 --focus 'keep every decision about the format'
  osier sessions compact 4f89da11 --model offline
  osier sessions compaction 4f89da11          show what it dropped
  osier sessions compaction 4f89da11 --undo   move to before it

Keeps the most recent messages, about as many tokens as the setting compaction.keep_recent_tokens, and replaces older ones with a \
summary in what a model gets. Removes nothing: a compaction is one more entry. The summary is written by the model of --model, else \
of the setting summary_model, else of the session. Ctrl-C cancels it; after a cancellation or a failure, nothing is changed.
Prints the id of the new entry, and the tokens before and after on standard error.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// What the summary should focus on
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,
    /// Model that writes the summary
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Print {entry, firstKeptEntryId, tokensBefore, tokensAfter, leafId} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let live = target::find_and_open(home, &args.session).await?;
    let one_shot = OneShot::connect(home, live, &SummaryModel::from(args.model.clone())).await?;
    let command = ClientCommand::Compact { focus: args.focus.clone() };
    match one_shot.run(command).await? {
        OneShotOutcome::Reply(CommandReply::Compacted(refused)) if !refused.compressed => {
            moves::print_refused(one_shot.session(), args.json)
        }
        OneShotOutcome::Reply(CommandReply::Compacted(compacted)) => {
            print_result(one_shot.session(), &compacted, args.json).await
        }
        OneShotOutcome::Reply(_) => bail!("the agent sent no reply"),
        OneShotOutcome::Stopped(code) => moves::print_canceled(one_shot.session(), args.json, code),
    }
}

async fn print_result(session: &Session, compacted: &CompactionReply, json: bool) -> Result<ExitCode> {
    let tree = session.tree();
    let compaction = compacted.entry.as_deref().and_then(|id| tree.find(id));
    let before = tokens_before(
        session,
        compaction.and_then(|seq| tree.head(seq).parent),
        Some(compacted.tokens_before),
    )
    .await?;
    let after = reading::context_tokens(session, session.main_cursor().position()).await?;
    let mut out = OutputWriter::new();
    if json {
        let mut value = json!({
            "entry": compacted.entry, "firstKeptEntryId": compacted.first_kept_entry_id, "tokensBefore": before.tokens,
            "tokensAfter": after.tokens, "leafId": compacted.entry,
        });
        for (key, count) in [("tokensBeforeEstimated", before), ("tokensAfterEstimated", after)] {
            if count.estimated {
                value[key] = json!(true);
            }
        }
        out.json(&value)?;
        return out.finish();
    }
    if let Some(entry) = &compacted.entry {
        notice(&format!(
            "{}, kept from {}",
            format_tokens_saved(before, after),
            sanitize_line(&compacted.first_kept_entry_id)
        ));
        out.line(&sanitize_line(entry))?;
    }
    out.finish()
}

/// The tokens before a compaction at a place. The entry stores only their number, not whether it was estimated: recompute that.
pub(super) async fn tokens_before(session: &Session, at: Place, stored: Option<u64>) -> Result<TokenCount> {
    let count = reading::context_tokens(session, at).await?;
    let tokens = stored.unwrap_or(count.tokens);
    Ok(TokenCount { tokens, estimated: count.estimated || tokens != count.tokens })
}

/// The tokens before and after a compaction, as text.
pub(crate) fn format_tokens_saved(before: TokenCount, after: TokenCount) -> String {
    format!("{before} tokens before, {after} after")
}
