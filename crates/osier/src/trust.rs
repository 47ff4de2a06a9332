//! The question whether to trust a project, and the notice that its requests are ignored.

pub(crate) mod command;

use std::io::{BufRead, IsTerminal, Write};

use anyhow::Result;
use osier_protocol::visible_line;
use osier_settings::notices;
use osier_settings::trust::{TrustItem, TrustRequest, TrustStatus};

use crate::home::Home;
use crate::layout::truncate;
use crate::output_writer::notice;

/// Limits of the list in the question; more may hide something, and the list says so.
const MAX_WIDTH: usize = 1000;
const MAX_ROWS: usize = 40;

/// Prints a notice if requests of the project are ignored.
pub(crate) fn print_untrusted(home: &Home) {
    if let Some(text) = notices::untrusted_notice(home) {
        notice(&format!("osier: {text}"));
    }
}

/// Asks once whether to trust the project. Without a terminal it only prints a notice.
pub(crate) fn ask_if_undecided(home: Home) -> Result<Home> {
    let is_open =
        |request: &&TrustRequest| matches!(request.status, TrustStatus::Unknown | TrustStatus::Changed);
    if home.ignored_project().is_some() {
        print_untrusted(&home);
    }
    let Some(request) = home.trust_request.as_ref().filter(is_open) else { return Ok(home) };
    if !is_interactive() {
        print_untrusted(&home);
        return Ok(home);
    }
    match ask_user(request, &home)? {
        None => Ok(home),
        Some(yes) => {
            request.store_decision(yes, &home)?;
            Ok(home.reload()?)
        }
    }
}

fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks the question. `None` if there was no answer.
fn ask_user(request: &TrustRequest, home: &Home) -> Result<Option<bool>> {
    let mut stderr = std::io::stderr();
    let since = match request.status {
        TrustStatus::Changed => "has changed what it requests since you decided",
        _ => "requests settings that need your trust",
    };
    let question = format!(
        "{} {since}:\n{}Its authors could read what you send and run commands. Trust this project? [y/N] ",
        visible_line(&home.display_path(&request.root)),
        format_items(&request.items),
    );
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer)?;
    Ok((read > 0).then(|| matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
}

fn format_items(wishes: &[TrustItem]) -> String {
    let mut rows: Vec<String> = wishes
        .iter()
        .take(MAX_ROWS)
        .map(|item| format!("  {}\n", truncate(&visible_line(&item.display), MAX_WIDTH)))
        .collect();
    if wishes.len() > MAX_ROWS {
        rows.push(format!("  and {} more; review the file before you trust it\n", wishes.len() - MAX_ROWS));
    }
    rows.concat()
}
