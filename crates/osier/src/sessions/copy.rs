//! `copy`: copies a session to another store, with the same id and the same lines.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::CopyReport;
use osier_store::StoreError;
use osier_tree::header::is_valid_id;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::pluralize;
use crate::out::{Out, notice};
use crate::progress::show_progress;
use crate::stores;
use crate::target::SessionTarget;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions copy 4f89da11 --to team
  osier sessions copy 4f89da11 --store team --to file     the copy in the store `team`

The copy has the same id and the same entries, byte for byte; each is read back and compared. An interrupted copy is resumed, and \
an existing copy is not an error, even if it has newer entries. Fails if the other store has a different session with that id. \
The two copies are independent; choose one with --store. Approvals in a session from a database, a project's folder or a file \
outside your stores do not count in its copy.
Prints what was copied on standard error.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Destination store
    #[arg(long, value_name = "STORE")]
    to: String,
    /// Print {session, from, to, entries, copied, oddLines} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let handle =
        home.store_handle(&args.to).ok_or_else(|| stores::unknown_store(&args.to, &home.store_handles))?;
    let target = SessionTarget::find_outside(home, &args.session, &args.to).await?;
    let to = handle.store();
    let lies_there =
        target.opened.file.as_deref().map_or(target.store.name() == to.name(), |file| handle.contains(file));
    if lies_there {
        return Err(usage_error(format!(
            "the session is already in the store {}; choose another one with --to",
            to.name()
        )));
    }
    let is_kept = target.opened.file.as_deref().is_some_and(|file| home.is_own_file(file));
    if !is_kept {
        home.mark_foreign(valid_id(&target)?)?;
    }
    let copied = {
        let _progress = show_progress(&format!("copying {}", target.opened.header.id));
        osier_session::copy_session(&*target.store, &target.key, &*to).await?
    };
    let mut out = Out::new();
    match args.json {
        true => out.json(&copied)?,
        false => print_result(&copied),
    }
    out.finish()
}

/// The id in the header, checked because it becomes part of a file name.
fn valid_id(target: &SessionTarget) -> Result<&str, StoreError> {
    let id = target.opened.header.id.as_str();
    match is_valid_id(id) {
        true => Ok(id),
        false => Err(StoreError::InvalidId { id: id.to_owned() }),
    }
}

fn print_result(copied: &CopyReport) {
    let CopyReport { session, from, to, entries, copied, odd_lines } = copied;
    let all = pluralize(*entries, "entry", "entries");
    notice(&match (copied, entries) {
        (0, 1..) => format!("Session {session} is already in {to}, with all {all} from {from}"),
        (copied, entries) if copied < entries => {
            format!(
                "Copied {copied} of {all} of session {session} from {from} to {to}; the others were already there"
            )
        }
        _ => format!("Copied session {session} ({all}) from {from} to {to}"),
    });
    if *odd_lines > 0 {
        let odd = pluralize(*odd_lines, "line that is not an entry", "lines that are not entries");
        notice(&format!("Did not copy {odd}; run `osier sessions verify` for details"));
    }
}
