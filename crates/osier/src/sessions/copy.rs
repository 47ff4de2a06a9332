//! `copy`: a session into another store, with its id and every line as it is.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::Copied;
use osier_store::StoreError;
use osier_tree::header::is_valid_id;

use crate::failure::usage;
use crate::home::Home;
use crate::layout::count;
use crate::out::{Out, remark};
use crate::progress::waiting;
use crate::stores;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions copy 4f89da11 --to team
  osier sessions copy 4f89da11 --store team --to file     of two copies, the one in `team`

The copy has the same id and the same entries, byte for byte; each is read back and compared. A copy that was cut off is \
gone on with, and one that is there already is no error, also if somebody went on in it. If the other store has another \
session of that id, nothing is changed. From then on the two are apart: name one with --store. What was allowed in a session of a database, of a \
project's folder or of a file from elsewhere does not count in a copy of it.
Prints what was copied, to standard error.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The store that gets it
    #[arg(long, value_name = "STORE")]
    to: String,
    /// Print {session, from, to, entries, copied, oddLines} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let shelf = home.shelf(&args.to).ok_or_else(|| stores::unknown(&args.to, &home.shelves))?;
    let target = Target::find_outside(home, &args.session, &args.to).await?;
    let to = shelf.store();
    let lies_there =
        target.opened.file.as_deref().map_or(target.store.name() == to.name(), |file| shelf.holds(file));
    if lies_there {
        return Err(usage(format!(
            "the session is in the store {} already; name another one with --to",
            to.name()
        )));
    }
    let is_kept = target.opened.file.as_deref().is_some_and(|file| home.keeps(file));
    if !is_kept {
        home.mark_foreign(known_id(&target)?)?;
    }
    let copied = {
        let _waiting = waiting(&format!("copying {}", target.opened.header.id));
        osier_session::copy(&*target.store, &target.key, &*to).await?
    };
    let mut out = Out::new();
    match args.json {
        true => out.json(&copied)?,
        false => tell(&copied),
    }
    out.done()
}

/// The id that the header gives. It becomes part of a file name.
fn known_id(target: &Target) -> Result<&str, StoreError> {
    let id = target.opened.header.id.as_str();
    match is_valid_id(id) {
        true => Ok(id),
        false => Err(StoreError::InvalidId { id: id.to_owned() }),
    }
}

fn tell(copied: &Copied) {
    let Copied { session, from, to, entries, copied, odd_lines } = copied;
    let all = count(*entries, "entry", "entries");
    remark(&match (copied, entries) {
        (0, 1..) => format!("{session} is in {to} already, with all {all} of {from}"),
        (copied, entries) if copied < entries => {
            format!(
                "{session} is in {to} now: {copied} of its {all} copied from {from}, the others were there"
            )
        }
        _ => format!("{session} is in {to} now: {all} copied from {from}"),
    });
    if *odd_lines > 0 {
        let odd = count(*odd_lines, "line that is no entry stays", "lines that are no entries stay");
        remark(&format!("{odd} in {from}; `osier sessions verify` tells which"));
    }
}
