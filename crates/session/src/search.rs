//! Searches sessions by words: fuzzy in names, literal in paths, ids and messages. Matches the card first, and reads
//! the conversation only for words that the card does not match.

use std::error::Error as _;
use std::sync::Arc;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use osier_store::{PagedHeads, Store, StoreError, for_each_line};
use osier_tree::entry::{MessageRole, parse_entry};
use osier_tree::projection::card::{Card, message_text};
use osier_tree::projection::preview::display_text;
use osier_tree::{EntryKind, Seq};

use crate::{Session, SessionEnv, SessionError, Stores};

/// The bonus for a match in the name.
const NAME_BONUS: u32 = 10_000;

/// A search query. All its parts must match.
#[derive(Debug)]
pub struct SearchQuery(Vec<QueryPart>);

#[derive(Debug)]
enum QueryPart {
    Regex(regex::Regex),
    Phrase(String),
    Word { word: String, fuzzy: Pattern },
}

impl SearchQuery {
    /// `re:…` is a regular expression. In other queries, quotes enclose a phrase.
    pub fn parse(text: &str) -> Result<SearchQuery, SessionError> {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix("re:") {
            let regex = regex::RegexBuilder::new(pattern.trim()).case_insensitive(true).build();
            let regex = regex.map_err(|error| SessionError::InvalidPattern { why: error.to_string() })?;
            return Ok(SearchQuery(vec![QueryPart::Regex(regex)]));
        }
        let mut parts = Vec::new();
        for (at, part) in text.split('"').enumerate() {
            match at % 2 {
                1 => parts.push(QueryPart::Phrase(normalize(part))),
                _ => parts.extend(part.split_whitespace().map(word_part)),
            }
        }
        Ok(SearchQuery(parts))
    }

    /// Whether the query is empty and matches every session.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The score of each session by its card alone; `None` if the card does not match all parts.
    pub fn score_cards<'c>(&self, cards: impl IntoIterator<Item = &'c Card>) -> Vec<Option<u32>> {
        let mut matcher = Matcher::new(Config::DEFAULT);
        cards.into_iter().map(|card| self.score_card(card, &mut matcher)).collect()
    }

    fn score_card(&self, card: &Card, matcher: &mut Matcher) -> Option<u32> {
        if !QueryMatch::with_card(self, card, matcher).is_complete() {
            return None;
        }
        let name = card.name.as_deref().unwrap_or_default();
        let mut named = QueryMatch::new(self);
        let score = named.match_fuzzy(name, matcher);
        named.match_text(name);
        Some(match named.is_complete() {
            true => score + NAME_BONUS,
            false => QueryMatch::new(self).match_fuzzy(card.title(), matcher),
        })
    }

    /// Whether the messages of a session match the parts that its card does not match. A deleted session does not
    /// match. Leaves no log open.
    pub async fn matches_messages(&self, card: &Card, stores: &Stores) -> Result<bool, SessionError> {
        let Some(store) = stores.get(&card.store) else { return Ok(false) };
        let store = store.new_instance().unwrap_or_else(|| store.clone());
        let mut hunt = QueryMatch::with_card(self, card, &mut Matcher::new(Config::DEFAULT));
        let read = for_each_message_text(&store, card, |text| {
            hunt.match_text(text);
            hunt.is_complete()
        });
        match read.await {
            Ok(()) => Ok(hunt.is_complete()),
            Err(SessionError::Store(StoreError::NotFound { .. } | StoreError::Vanished { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The sessions that match: matches of the card first, otherwise in the given order.
    pub async fn filter(&self, cards: Vec<Card>, stores: &Stores) -> (Vec<Card>, SearchErrors) {
        let mut unread = SearchErrors::default();
        let fits = self.score_cards(&cards);
        let (mut by_name, mut by_text) = (Vec::new(), Vec::new());
        for (card, fit) in cards.into_iter().zip(fits) {
            if fit.is_some() {
                by_name.push(card);
            } else if unread.record(&card, self.matches_messages(&card, stores).await) {
                by_text.push(card);
            }
        }
        by_name.append(&mut by_text);
        (by_name, unread)
    }
}

/// The sessions that could not be searched.
#[derive(Debug, Default)]
pub struct SearchErrors {
    count: usize,
    /// The first of them and its error.
    first: String,
}

impl SearchErrors {
    /// Returns whether the session matches. Counts an error as no match.
    pub fn record(&mut self, card: &Card, matches: Result<bool, SessionError>) -> bool {
        matches.unwrap_or_else(|error| {
            if self.count == 0 {
                self.first = format!("{}: {}", card.short_id, error_chain(&error));
            }
            self.count += 1;
            false
        })
    }

    /// A message for the user, if there were errors.
    pub fn summary(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(format!("cannot search 1 session: {}", self.first)),
            count => Some(format!("cannot search {count} sessions; the first error is {}", self.first)),
        }
    }
}

/// An error with its causes.
fn error_chain(error: &SessionError) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn word_part(word: &str) -> QueryPart {
    let fuzzy = Pattern::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
    QueryPart::Word { word: normalize(word), fuzzy }
}

/// Lower case, with whitespace collapsed.
fn normalize(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The parts of a query that a session does not match yet.
struct QueryMatch<'q> {
    missing: Vec<&'q QueryPart>,
}

impl<'q> QueryMatch<'q> {
    fn new(query: &'q SearchQuery) -> QueryMatch<'q> {
        QueryMatch { missing: query.0.iter().collect() }
    }

    /// Matches the card of the session.
    fn with_card(query: &'q SearchQuery, card: &Card, matcher: &mut Matcher) -> QueryMatch<'q> {
        let mut hunt = QueryMatch::new(query);
        for text in [card.title(), &card.first_message, &card.cwd, &card.id] {
            hunt.match_text(text);
        }
        // Only the last component of the directory: a fuzzy match in a full path would match almost anything.
        let folder = card.cwd.rsplit('/').next().unwrap_or_default();
        for name in [card.title(), folder] {
            hunt.match_fuzzy(name, matcher);
        }
        hunt
    }

    fn match_text(&mut self, text: &str) {
        if self.is_complete() {
            return;
        }
        let simple = normalize(text);
        self.missing.retain(|part| match part {
            QueryPart::Regex(regex) => !regex.is_match(text),
            QueryPart::Phrase(words) | QueryPart::Word { word: words, .. } => {
                !simple.contains(words.as_str())
            }
        });
    }

    /// Matches a name fuzzily. Returns the score.
    fn match_fuzzy(&mut self, name: &str, matcher: &mut Matcher) -> u32 {
        let mut buffer = Vec::new();
        let mut all = 0;
        self.missing.retain(|part| match part {
            QueryPart::Word { fuzzy, .. } => {
                let score = fuzzy.score(Utf32Str::new(name, &mut buffer), matcher);
                all += score.unwrap_or(0);
                score.is_none()
            }
            _ => true,
        });
        all
    }

    fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Why reading a session stopped early.
enum ReadStop {
    Enough,
    Failed(SessionError),
}

impl From<StoreError> for ReadStop {
    fn from(error: StoreError) -> ReadStop {
        ReadStop::Failed(error.into())
    }
}

/// Calls `each` with the text of every user and assistant message on branches that are not deleted, until it returns
/// `true`.
async fn for_each_message_text(
    store: &Arc<dyn Store>,
    card: &Card,
    mut each: impl FnMut(&str) -> bool,
) -> Result<(), SessionError> {
    let key = card.file.as_deref().unwrap_or(&card.id);
    let opened = store.open(key).await?;
    let mut heads = PagedHeads::new(&**store, key, opened.version);
    let (mut wanted, mut any_deleted) = (Vec::new(), false);
    for seq in (0..opened.version.entries).map(Seq::new) {
        let head = heads.get(seq).await?;
        any_deleted |= head.kind == EntryKind::DeleteBranch;
        if head.kind == EntryKind::Message && matches!(head.role, MessageRole::User | MessageRole::Assistant)
        {
            wanted.push(seq);
        }
    }
    if any_deleted {
        let env = SessionEnv { watch: false, ..SessionEnv::default() };
        let hidden = Session::open(store.clone(), key, env).await?.tree().hidden_entries();
        wanted.retain(|seq| !hidden.contains(seq));
    }
    let read =
        for_each_line(&**store, key, opened.version.generation, &wanted, |_, line| match parse_entry(line) {
            Ok(entry)
                if each(&display_text(&entry).unwrap_or_default())
                    || each(&entry.message.map(message_text).unwrap_or_default()) =>
            {
                Err(ReadStop::Enough)
            }
            _ => Ok(()),
        });
    match read.await {
        Ok(()) | Err(ReadStop::Enough) => Ok(()),
        Err(ReadStop::Failed(error)) => Err(error),
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
        let query = SearchQuery::parse(query).unwrap();
        let mut hunt = QueryMatch::with_card(&query, &card(), &mut Matcher::new(Config::DEFAULT));
        texts.iter().for_each(|text| hunt.match_text(text));
        hunt.is_complete()
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
        assert!(matches!(SearchQuery::parse("re:("), Err(SessionError::InvalidPattern { .. })));
    }

    #[test]
    fn a_match_in_the_name_scores_highest() {
        let other = Card { name: Some("parser".to_owned()), cwd: "/x".to_owned(), ..card() };
        let fits = SearchQuery::parse("parser").unwrap().score_cards([&card(), &other]);
        assert!(fits[0].is_some() && fits[0] < fits[1], "{fits:?}");
        assert_eq!(SearchQuery::parse("nothing").unwrap().score_cards([&card()]), [None]);
        assert!(SearchQuery::parse("  ").unwrap().is_empty());
    }
}
