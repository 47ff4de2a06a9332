//! `copy`: copies a session to another store, with the same id and the same lines.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::CopyReport;

use crate::home::Home;
use crate::layout::pluralize;
use crate::output_writer::{OutputWriter, notice};
use crate::progress::show_progress;
use crate::target;

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
    if home.engine.configured_store(&args.to).is_none() {
        return Err(osier_settings::unknown_store(&args.to, &home.engine).into());
    }
    let stored = target::find_outside(home, &args.session, &args.to).await?;
    let copied = {
        let _progress = show_progress(&format!("copying {}", stored.opened.header.id));
        home.engine.copy(&stored, &args.to).await?
    };
    let mut out = OutputWriter::new();
    match args.json {
        true => out.json(&copied)?,
        false => print_result(&copied),
    }
    out.finish()
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
