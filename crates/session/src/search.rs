//! Searches sessions by words: fuzzy in names, literal in paths, ids and messages. Matches the card first, and reads
//! the conversation only for words that the card does not match.

use std::error::Error as _;
use std::sync::Arc;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use osier_store::{PagedHeads, Store, StoreError, each_line};
use osier_tree::entry::{Role, read_entry};
use osier_tree::projection::card::{Card, text_of};
use osier_tree::projection::preview::display_text;
use osier_tree::{Kind, Seq};

use crate::{Env, Error, Session, Stores};

/// The bonus for a match in the name.
const NAMED: u32 = 10_000;

/// A search query. All its parts must match.
#[derive(Debug)]
pub struct Query(Vec<Part>);

#[derive(Debug)]
enum Part {
    Regex(regex::Regex),
    Phrase(String),
    Word { word: String, fuzzy: Pattern },
}

impl Query {
    /// `re:…` is a regular expression. In other queries, quotes enclose a phrase.
    pub fn parse(text: &str) -> Result<Query, Error> {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix("re:") {
            let regex = regex::RegexBuilder::new(pattern.trim()).case_insensitive(true).build();
            let regex = regex.map_err(|error| Error::Pattern { why: error.to_string() })?;
            return Ok(Query(vec![Part::Regex(regex)]));
        }
        let mut parts = Vec::new();
        for (at, part) in text.split('"').enumerate() {
            match at % 2 {
                1 => parts.push(Part::Phrase(folded(part))),
                _ => parts.extend(part.split_whitespace().map(word)),
            }
        }
        Ok(Query(parts))
    }

    /// Whether the query is empty and matches every session.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The score of each session by its card alone; `None` if the card does not match all parts.
    pub fn fits<'c>(&self, cards: impl IntoIterator<Item = &'c Card>) -> Vec<Option<u32>> {
        let mut matcher = Matcher::new(Config::DEFAULT);
        cards.into_iter().map(|card| self.fit(card, &mut matcher)).collect()
    }

    fn fit(&self, card: &Card, matcher: &mut Matcher) -> Option<u32> {
        if !Hunt::of_card(self, card, matcher).is_over() {
            return None;
        }
        let name = card.name.as_deref().unwrap_or_default();
        let mut named = Hunt::new(self);
        let score = named.look_loosely_at(name, matcher);
        named.look_at(name);
        Some(match named.is_over() {
            true => score + NAMED,
            false => Hunt::new(self).look_loosely_at(card.title(), matcher),
        })
    }

    /// Whether the messages of a session match the parts that its card does not match. A deleted session does not
    /// match. Leaves no log open.
    pub async fn is_said_in(&self, card: &Card, stores: &Stores) -> Result<bool, Error> {
        let Some(store) = stores.get(&card.store) else { return Ok(false) };
        let store = store.another().unwrap_or_else(|| store.clone());
        let mut hunt = Hunt::of_card(self, card, &mut Matcher::new(Config::DEFAULT));
        let read = each_said(&store, card, |text| {
            hunt.look_at(text);
            hunt.is_over()
        });
        match read.await {
            Ok(()) => Ok(hunt.is_over()),
            Err(Error::Store(StoreError::NotFound { .. } | StoreError::Vanished { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The sessions that match: matches of the card first, otherwise in the given order.
    pub async fn choose(&self, cards: Vec<Card>, stores: &Stores) -> (Vec<Card>, Unread) {
        let mut unread = Unread::default();
        let fits = self.fits(&cards);
        let (mut by_name, mut by_text) = (Vec::new(), Vec::new());
        for (card, fit) in cards.into_iter().zip(fits) {
            if fit.is_some() {
                by_name.push(card);
            } else if unread.note(&card, self.is_said_in(&card, stores).await) {
                by_text.push(card);
            }
        }
        by_name.append(&mut by_text);
        (by_name, unread)
    }
}

/// The sessions that could not be searched.
#[derive(Debug, Default)]
pub struct Unread {
    count: usize,
    /// The first of them and its error.
    first: String,
}

impl Unread {
    /// Returns whether the session matches. Counts an error as no match.
    pub fn note(&mut self, card: &Card, matches: Result<bool, Error>) -> bool {
        matches.unwrap_or_else(|error| {
            if self.count == 0 {
                self.first = format!("{}: {}", card.short_id, whole(&error));
            }
            self.count += 1;
            false
        })
    }

    /// A message for the user, if there were errors.
    pub fn told(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(format!("cannot search 1 session: {}", self.first)),
            count => Some(format!("cannot search {count} sessions; the first error is {}", self.first)),
        }
    }
}

/// An error with its causes.
fn whole(error: &Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn word(word: &str) -> Part {
    let fuzzy = Pattern::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
    Part::Word { word: folded(word), fuzzy }
}

/// Lower case, with whitespace collapsed.
fn folded(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The parts of a query that a session does not match yet.
struct Hunt<'q> {
    missing: Vec<&'q Part>,
}

impl<'q> Hunt<'q> {
    fn new(query: &'q Query) -> Hunt<'q> {
        Hunt { missing: query.0.iter().collect() }
    }

    /// Matches the card of the session.
    fn of_card(query: &'q Query, card: &Card, matcher: &mut Matcher) -> Hunt<'q> {
        let mut hunt = Hunt::new(query);
        for text in [card.title(), &card.first_message, &card.cwd, &card.id] {
            hunt.look_at(text);
        }
        // Only the last component of the directory: a fuzzy match in a full path would match almost anything.
        let folder = card.cwd.rsplit('/').next().unwrap_or_default();
        for name in [card.title(), folder] {
            hunt.look_loosely_at(name, matcher);
        }
        hunt
    }

    fn look_at(&mut self, text: &str) {
        if self.is_over() {
            return;
        }
        let simple = folded(text);
        self.missing.retain(|part| match part {
            Part::Regex(regex) => !regex.is_match(text),
            Part::Phrase(words) | Part::Word { word: words, .. } => !simple.contains(words.as_str()),
        });
    }

    /// Matches a name fuzzily. Returns the score.
    fn look_loosely_at(&mut self, name: &str, matcher: &mut Matcher) -> u32 {
        let mut buffer = Vec::new();
        let mut all = 0;
        self.missing.retain(|part| match part {
            Part::Word { fuzzy, .. } => {
                let score = fuzzy.score(Utf32Str::new(name, &mut buffer), matcher);
                all += score.unwrap_or(0);
                score.is_none()
            }
            _ => true,
        });
        all
    }

    fn is_over(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Why reading a session stopped early.
enum Stop {
    Enough,
    Failed(Error),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Failed(error.into())
    }
}

/// Calls `each` with the text of every user and assistant message on branches that are not deleted, until it returns
/// `true`.
async fn each_said(
    store: &Arc<dyn Store>,
    card: &Card,
    mut each: impl FnMut(&str) -> bool,
) -> Result<(), Error> {
    let key = card.file.as_deref().unwrap_or(&card.id);
    let opened = store.open(key).await?;
    let mut heads = PagedHeads::new(&**store, key, opened.version);
    let (mut wanted, mut any_deleted) = (Vec::new(), false);
    for seq in (0..opened.version.entries).map(Seq::new) {
        let head = heads.get(seq).await?;
        any_deleted |= head.kind == Kind::DeleteBranch;
        if head.kind == Kind::Message && matches!(head.role, Role::User | Role::Assistant) {
            wanted.push(seq);
        }
    }
    if any_deleted {
        let env = Env { watch: false, ..Env::default() };
        let hidden = Session::open(store.clone(), key, env).await?.tree().hidden();
        wanted.retain(|seq| !hidden.contains(seq));
    }
    let read =
        each_line(&**store, key, opened.version.generation, &wanted, |_, line| match read_entry(line) {
            Ok(entry)
                if each(&display_text(&entry).unwrap_or_default())
                    || each(&entry.message.map(text_of).unwrap_or_default()) =>
            {
                Err(Stop::Enough)
            }
            _ => Ok(()),
        });
    match read.await {
        Ok(()) | Err(Stop::Enough) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        Card {
            id: "4f89da11-5e7b".to_owned(),
            name: Some("JSON flag".to_owned()),
            cwd: "/home/dev/parser".to_owned(),
            ..Card::default()
        }
    }

    fn finds(query: &str, texts: &[&str]) -> bool {
        let query = Query::parse(query).unwrap();
        let mut hunt = Hunt::of_card(&query, &card(), &mut Matcher::new(Config::DEFAULT));
        texts.iter().for_each(|text| hunt.look_at(text));
        hunt.is_over()
    }

    #[test]
    fn names_and_directories_match_fuzzily_and_messages_literally() {
        assert!(finds("jsnflg", &[]));
        assert!(finds("prsr", &[]));
        assert!(finds("home/dev", &[]));
        assert!(!finds("hmprsr", &[]));
        assert!(finds("5e7b", &[]));
        assert!(finds("CURSOR", &["page the\ncursor"]));
        assert!(!finds("crsr", &["page the\ncursor"]));
        assert!(finds("json cursor page", &["cursor", "page"]));
        assert!(!finds("json cursor other", &["cursor", "page"]));
    }

    #[test]
    fn a_phrase_matches_across_whitespace() {
        assert!(finds("\"page the  cursor\"", &["Page\n\tthe cursor"]));
        assert!(!finds("\"the page\"", &["page the cursor"]));
        assert!(finds("\"unclosed cur", &["an unclosed  cur"]));
    }

    #[test]
    fn punctuation_is_matched_literally() {
        assert!(!finds("!nothing", &["other words"]));
        assert!(finds("^x$", &["y=^x$"]));
    }

    #[test]
    fn a_regular_expression_ignores_case() {
        assert!(finds("re:curs(or|e)\\b", &["the CURSOR"]));
        assert!(!finds("re:^the$", &["the cursor"]));
        assert!(matches!(Query::parse("re:("), Err(Error::Pattern { .. })));
    }

    #[test]
    fn a_match_in_the_name_scores_highest() {
        let other = Card { name: Some("parser".to_owned()), cwd: "/x".to_owned(), ..card() };
        let fits = Query::parse("parser").unwrap().fits([&card(), &other]);
        assert!(fits[0].is_some() && fits[0] < fits[1], "{fits:?}");
        assert_eq!(Query::parse("nothing").unwrap().fits([&card()]), [None]);
        assert!(Query::parse("  ").unwrap().is_empty());
    }
}
