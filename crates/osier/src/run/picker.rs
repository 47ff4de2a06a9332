//! What is said when `--resume` names no session and nobody can choose one.

use anyhow::Error;
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::time::Millis;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::{format_age, sanitize_line};

/// How many sessions are shown; `osier sessions list` has them all.
const SHOWN: usize = 20;

/// The complaint, with the sessions used last, a line each.
pub(super) fn unnamed(cards: &[Card], home: &Home) -> Error {
    let now = home.now();
    let list: String = cards.iter().take(SHOWN).map(|card| format!("\n{}", row(card, now))).collect();
    let none =
        if cards.is_empty() { "; there is no session in this directory" } else { "; name one of these:" };
    usage_error(format!("--resume without an id needs a terminal to choose at{none}{list}"))
}

fn row(card: &Card, now: Millis) -> String {
    let title = one_line(card.title(), 80);
    format!(
        "{}  {:>4} msg  {:>4}  {title}",
        sanitize_line(&card.short_id),
        card.message_count,
        format_age(card.modified, now)
    )
}
