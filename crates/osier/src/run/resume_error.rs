//! The error for `--resume` without an id and without a terminal to choose a session in.

use anyhow::Error;
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::time::Millis;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::{format_age, sanitize_line};

/// Maximum number of sessions in the message; `osier sessions list` shows all.
const MAX_LISTED: usize = 20;

/// The error message, with the most recent sessions, one per line.
pub(super) fn missing_id_error(cards: &[Card], home: &Home) -> Error {
    let now = home.now();
    let list: String =
        cards.iter().take(MAX_LISTED).map(|card| format!("\n{}", session_row(card, now))).collect();
    let none = if cards.is_empty() { "; this directory has no sessions" } else { "; use one of these ids:" };
    usage_error(format!("--resume without an id needs a terminal{none}{list}"))
}

fn session_row(card: &Card, now: Millis) -> String {
    let title = one_line(card.title(), 80);
    format!(
        "{}  {:>4} msg  {:>4}  {title}",
        sanitize_line(&card.short_id),
        card.message_count,
        format_age(card.modified, now)
    )
}
