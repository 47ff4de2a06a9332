//! Which sessions fit what was typed: `re:` is a pattern, quotes hold a phrase, other words are looked for letter by letter.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Matcher, Utf32Str};
use osier_tree::projection::card::Card;
use regex::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;

/// Forks of forks are followed so far.
const DEEPEST: usize = 1000;

/// See the module.
#[derive(Debug)]
pub(super) enum Query {
    Everything,
    /// None if the pattern is wrong: then nothing fits.
    Pattern(Option<Regex>),
    Words {
        phrases: Vec<String>,
        words: Pattern,
    },
}

impl Query {
    pub(super) fn new(typed: &str) -> Query {
        let typed = typed.trim();
        if let Some(pattern) = typed.strip_prefix("re:") {
            return Query::Pattern(RegexBuilder::new(pattern).case_insensitive(true).build().ok());
        }
        if typed.is_empty() {
            return Query::Everything;
        }
        let mut phrases = Vec::new();
        let mut words = Vec::new();
        for (at, piece) in typed.split('"').enumerate() {
            match at % 2 {
                0 => words.push(piece),
                _ => phrases.push(folded(piece)),
            }
        }
        let words = Pattern::parse(&words.join(" "), CaseMatching::Ignore, Normalization::Smart);
        Query::Words { phrases: phrases.into_iter().filter(|phrase| !phrase.is_empty()).collect(), words }
    }

    /// How well a session fits; none if it does not.
    pub(super) fn score(&self, card: &Card, matcher: &mut Matcher) -> Option<u32> {
        let name = card.name.as_deref().unwrap_or_default();
        let text = [
            card.id.as_str(),
            name,
            &card.first_message,
            card.summary.as_deref().unwrap_or_default(),
            &card.cwd,
        ]
        .join(" ");
        match self {
            Query::Everything => Some(0),
            Query::Pattern(pattern) => pattern.as_ref()?.is_match(&text).then_some(0),
            Query::Words { phrases, words } => {
                let plain = folded(&text);
                if !phrases.iter().all(|phrase| plain.contains(phrase)) {
                    return None;
                }
                let mut letters = Vec::new();
                let found = words.score(Utf32Str::new(&text, &mut letters), matcher)?;
                // A hit in the name counts most.
                let named = words.score(Utf32Str::new(name, &mut letters), matcher);
                Some(found + named.map_or(0, |score| score + 10_000))
            }
        }
    }
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Sessions below those they were forked from, each with its depth. A thread stands where its latest member would.
pub(super) fn threaded(cards: &[Card], found: &[usize]) -> Vec<(usize, usize)> {
    let by_id: FxHashMap<&str, usize> = found.iter().map(|at| (cards[*at].id.as_str(), *at)).collect();
    let parent = |at: usize| {
        let wanted = cards[at].parent_session_id.as_deref()?;
        by_id.get(wanted).copied().filter(|above| *above != at)
    };
    let mut below: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for at in found.iter().rev() {
        if let Some(above) = parent(*at) {
            below.entry(above).or_default().push(*at);
        }
    }
    // Sessions that name each other in a circle have no root; then the one used last stands for it.
    let root = |at: usize| {
        let (mut root, mut steps) = (at, 0);
        while let Some(above) = parent(root).filter(|_| steps < DEEPEST) {
            (root, steps) = (above, steps + 1);
        }
        root
    };
    let mut rows = Vec::new();
    let mut placed = vec![false; cards.len()];
    for at in found {
        let mut open = if placed[*at] { Vec::new() } else { vec![(root(*at), 0)] };
        while let Some((card, depth)) = open.pop() {
            if !std::mem::replace(&mut placed[card], true) {
                rows.push((card, depth));
                open.extend(below.get(&card).into_iter().flatten().map(|other| (*other, depth + 1)));
            }
        }
    }
    rows
}
