//! `--resume` without an id: a numbered list, and a number.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::{Context, Result};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::time::Millis;

use crate::failure::usage;
use crate::home::Home;
use crate::layout::{age, plain};
use crate::out::remark;

/// How many sessions are shown; `osier sessions list` has them all.
const SHOWN: usize = 20;

/// The session that the person at the terminal chooses; none if there is nothing to choose from.
pub(super) fn pick(cards: &[Card], home: &Home) -> Result<Option<Card>> {
    let shown = &cards[..cards.len().min(SHOWN)];
    let rows = rows(cards, home);
    if !std::io::stdin().is_terminal() {
        let list: String = rows.iter().map(|row| format!("\n{row}")).collect();
        let none =
            if shown.is_empty() { "; there is no session in this directory" } else { "; name one of these:" };
        return Err(usage(format!("--resume without an id needs a terminal to choose at{none}{list}")));
    }
    if shown.is_empty() {
        remark("osier: no session in this directory to go on with; a new one begins");
        return Ok(None);
    }
    for (number, row) in rows.iter().enumerate() {
        remark(&format!("{:>3}  {row}", number + 1));
    }
    choose(shown).map(Some)
}

fn choose(shown: &[Card]) -> Result<Card> {
    loop {
        let _ = write!(std::io::stderr(), "which one? [1-{}] ", shown.len());
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).context("cannot read the choice")? == 0 {
            return Err(usage("no session was chosen"));
        }
        let word = line.trim();
        let numbered = word.parse::<usize>().ok().and_then(|number| shown.get(number.checked_sub(1)?));
        let named = || shown.iter().find(|card| word.len() >= 4 && card.id.starts_with(word));
        match numbered.or_else(named) {
            Some(card) => return Ok(card.clone()),
            None => remark("give one of the numbers, or the beginning of an id; Ctrl-C leaves"),
        }
    }
}

/// The sessions used last, a line each.
pub(super) fn rows(cards: &[Card], home: &Home) -> Vec<String> {
    cards.iter().take(SHOWN).map(|card| row(card, home.now())).collect()
}

fn row(card: &Card, now: Millis) -> String {
    let title = one_line(card.title(), 80);
    format!(
        "{}  {:>4} msg  {:>4}  {title}",
        plain(&card.short_id),
        card.message_count,
        age(card.modified, now)
    )
}
