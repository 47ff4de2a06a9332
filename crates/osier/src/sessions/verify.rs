//! `verify`: checks a log without using any cache.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use osier_store::StoreError;
use osier_store::file::{VerifyIssue, VerifyReport, verify};
use osier_tree::{Head, Seq};
use serde_json::json;

use crate::home::Home;
use crate::layout::{pluralize, sanitize_line};
use crate::out::{Out, TextStyle};
use crate::target::{self, LogPlace, SessionTarget};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions verify 4f89da11
  osier sessions verify x.jsonl --json

Prints each problem with its line number, then the result. A session in a database is checked as the file it would be: its header is \
line 1. Exits with 1 if the log is damaged; unusual but harmless lines are reported too. Changes nothing.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Print {session, file, entries, sound, oddities} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let place = target::log_place(home, &args.session).await?;
    let verified = match &place {
        LogPlace::File(path) => verify(path)?,
        LogPlace::Database(target) => verify_stored(target).await?,
    };
    let mut out = Out::new();
    if args.json {
        let file = match &place {
            LogPlace::File(path) => Some(path.display().to_string()),
            LogPlace::Database(_) => None,
        };
        out.json(&json!({
            "session": verified.header.id,
            "file": file,
            "entries": verified.tree.len(),
            "sound": verified.is_sound(),
            "oddities": verified.issues,
        }))?;
    } else {
        write_report(&verified, &mut out)?;
    }
    out.finish()?;
    Ok(if verified.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Verifies a log in a database as the file that it would be: the header is its first line. In addition, each entry must be
/// there, and the tree that the database keeps must be the one that the lines make.
async fn verify_stored(target: &SessionTarget) -> Result<VerifyReport> {
    let (header, version) = (&target.opened.header, target.opened.version);
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(header.to_line().as_ref())?;
    file.write_all(b"\n")?;
    let missing = copy_lines(target, &mut file).await?;
    file.flush()?;
    let mut verified = verify(file.path())?;
    let mut damage = |line: usize, what: String| {
        verified.issues.push(VerifyIssue { line, damage: true, what });
    };
    for seq in &missing {
        damage(seq + 2, "the database lacks this entry, or a part of it".to_owned());
    }
    if missing.is_empty() {
        let kept = target.store.heads(&target.key, version.generation, 0, version.entries).await?;
        let made = verified.tree.heads().iter().map(|(_, head)| Head { offset: 0, ..*head });
        if !made.eq(kept.into_iter().map(|head| Head { offset: 0, ..head })) {
            damage(1, "the tree in the database is not the one that the lines make".to_owned());
        }
    }
    verified.issues.sort_by_key(|oddity| oddity.line);
    Ok(verified)
}

/// Writes all lines to a file. The places of entries that cannot be read; each has an empty line.
async fn copy_lines(target: &SessionTarget, file: &mut impl Write) -> Result<Vec<usize>> {
    let (mut missing, mut next) = (Vec::new(), 0);
    let entries = target.opened.version.entries;
    while next < entries {
        let wanted: Vec<Seq> = (next..entries).map(Seq::new).collect();
        let write = |seq: Seq, line: &[u8]| -> Result<()> {
            file.write_all(line)?;
            file.write_all(b"\n")?;
            next = seq.index() + 1;
            Ok(())
        };
        match target.for_each_line(&wanted, write).await {
            Ok(()) => break,
            Err(error) => match error.downcast_ref() {
                Some(StoreError::NoSuchEntry { seq }) => {
                    let seq = *seq;
                    next = copy_single(target, file, next, seq).await?;
                    missing.push(seq);
                    file.write_all(b"\n")?;
                    next = next.max(seq + 1);
                }
                _ => return Err(error),
            },
        }
    }
    Ok(missing)
}

/// Writes the lines before one that is missing; they were asked for together with it.
async fn copy_single(
    target: &SessionTarget,
    file: &mut impl Write,
    from: usize,
    missing: usize,
) -> Result<usize> {
    let wanted: Vec<Seq> = (from..missing).map(Seq::new).collect();
    let write = |_, line: &[u8]| -> Result<()> {
        file.write_all(line)?;
        file.write_all(b"\n")?;
        Ok(())
    };
    target.for_each_line(&wanted, write).await?;
    Ok(missing)
}

fn write_report(verified: &VerifyReport, out: &mut Out) -> Result<()> {
    for oddity in &verified.issues {
        let style = if oddity.damage { TextStyle::Error } else { TextStyle::Dim };
        out.line(&format!("line {}: {}", oddity.line, out.paint(style, &sanitize_line(&oddity.what))))?;
    }
    let verdict = match verified.is_sound() {
        true => "no damage found",
        false => "damaged; all readable entries are used, and the file is unchanged",
    };
    out.line(&format!("{}, {verdict}", pluralize(verified.tree.len(), "entry", "entries")))
}
