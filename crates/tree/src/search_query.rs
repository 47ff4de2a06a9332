//! Search queries. Over sessions they are fuzzy in names, and literal in paths, ids and messages: the card is matched first; words
//! that it does not match may be in messages, which the caller reads. Over the entries of a session they are literal.

mod excerpt;
mod message_search;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::projection::card::Card;
use crate::projection::entry_view::EntryView;
use crate::text_signature::{SignatureBuilder, may_contain};

pub use excerpt::ExcerptLine;
pub use message_search::{
    MessageHit, MessageMatches, MessageSearch, SearchDetail, SearchedRole, for_each_searched_text,
    is_searched,
};

/// The bonus for a match in the name.
const NAME_BONUS: u32 = 10_000;

/// The query is not a valid regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid regular expression: {reason}")]
pub struct InvalidPattern {
    /// It can have several lines. The last one is the shortest description.
    pub reason: String,
}

/// A search query. All its parts must match.
#[derive(Debug)]
pub struct SearchQuery(Vec<QueryPart>);

#[derive(Debug)]
enum QueryPart {
    Regex(regex::Regex),
    Phrase(String),
    Word { word: String, fuzzy: Pattern },
}

impl QueryPart {
    fn may_be_in(&self, signature: &[u8]) -> bool {
        match self {
            QueryPart::Regex(_) => true,
            QueryPart::Phrase(words) | QueryPart::Word { word: words, .. } => may_contain(signature, words),
        }
    }
}

impl SearchQuery {
    /// `re:…` is a regular expression. In other queries, quotes enclose a phrase.
    pub fn parse(text: &str) -> Result<SearchQuery, InvalidPattern> {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix("re:") {
            let regex = regex::RegexBuilder::new(pattern.trim()).case_insensitive(true).build();
            let regex = regex.map_err(|error| InvalidPattern { reason: error.to_string() })?;
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

    /// Whether the texts of an entry, and its label, match all parts.
    pub fn matches_entry(&self, entry: &EntryView, label: Option<&str>) -> bool {
        let mut query_match = QueryMatch::new(self);
        label.into_iter().for_each(|label| query_match.match_text(label));
        entry.for_each_text(&mut |text| query_match.match_text(text));
        query_match.is_complete()
    }

    /// How many parts of the query a text matches.
    pub fn count_matches(&self, text: &str) -> usize {
        let mut query_match = QueryMatch::new(self);
        query_match.match_text(text);
        self.0.len() - query_match.missing.len()
    }

    /// The offset of the first match of a part in a line.
    fn first_match(&self, line: &str) -> Option<usize> {
        let lower = line.to_lowercase();
        let find = |part: &QueryPart| match part {
            QueryPart::Regex(regex) => regex.find(line).map(|found| found.start()),
            QueryPart::Phrase(words) | QueryPart::Word { word: words, .. } => lower.find(words.as_str()),
        };
        // The offset in the lower-case line is that in the line, except for a few letters.
        self.0.iter().filter_map(find).min().filter(|at| line.is_char_boundary(*at))
    }
}

/// Matches cards. Reuse it: it has a large buffer.
#[derive(Debug)]
pub struct CardMatcher(Matcher);

impl Default for CardMatcher {
    fn default() -> CardMatcher {
        CardMatcher(Matcher::new(Config::DEFAULT))
    }
}

/// Adds a message to the signature of the text of a session.
pub fn add_to_signature(builder: &mut SignatureBuilder, text: &str) {
    builder.add(&normalize(text));
}

fn word_part(word: &str) -> QueryPart {
    let fuzzy = Pattern::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
    QueryPart::Word { word: normalize(word), fuzzy }
}

/// Lower case, with whitespace collapsed.
fn normalize(text: &str) -> String {
    if text.is_ascii() { normalize_ascii(text) } else { join_words(&text.to_lowercase()) }
}

fn join_words(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut joined = String::with_capacity(text.len());
    joined.push_str(words.next().unwrap_or_default());
    for word in words {
        joined.push(' ');
        joined.push_str(word);
    }
    joined
}

/// Like `normalize`, in one pass.
fn normalize_ascii(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut gap = false;
    for ch in text.chars() {
        if ch.is_whitespace() {
            gap = !normal.is_empty();
            continue;
        }
        if std::mem::take(&mut gap) {
            normal.push(' ');
        }
        normal.push(ch.to_ascii_lowercase());
    }
    normal
}

/// The parts of a query that a session does not match yet.
#[derive(Debug)]
pub struct QueryMatch<'q> {
    missing: Vec<&'q QueryPart>,
}

impl<'q> QueryMatch<'q> {
    fn new(query: &'q SearchQuery) -> QueryMatch<'q> {
        QueryMatch { missing: query.0.iter().collect() }
    }

    /// Matches the card of the session.
    fn with_card(query: &'q SearchQuery, card: &Card, matcher: &mut Matcher) -> QueryMatch<'q> {
        let mut query_match = QueryMatch::new(query);
        for text in [card.title(), &card.first_message, &card.cwd, &card.id] {
            query_match.match_text(text);
        }
        // Only the last component of the directory: a fuzzy match in a full path would match almost anything.
        let folder = card.cwd.rsplit('/').next().unwrap_or_default();
        for name in [card.title(), folder] {
            query_match.match_fuzzy(name, matcher);
        }
        query_match
    }

    pub fn match_text(&mut self, text: &str) {
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

    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        let mut query_match = QueryMatch::with_card(&query, &card(), &mut Matcher::new(Config::DEFAULT));
        texts.iter().for_each(|text| query_match.match_text(text));
        query_match.is_complete()
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

    proptest! {
        #[test]
        fn ascii_is_normalized_like_any_text(text in "[\\x00-\\x7f]{0,80}") {
            prop_assert_eq!(normalize_ascii(&text), join_words(&text.to_lowercase()));
        }
    }

    #[test]
    fn a_regular_expression_ignores_case() {
        assert!(finds("re:curs(or|e)\\b", &["the CURSOR"]));
        assert!(!finds("re:^the$", &["the cursor"]));
        assert!(matches!(SearchQuery::parse("re:("), Err(InvalidPattern { .. })));
    }

    #[test]
    fn a_match_in_the_name_scores_highest() {
        let other = Card { name: Some("parser".to_owned()), cwd: "/x".to_owned(), ..card() };
        let fits = SearchQuery::parse("parser").unwrap().score_cards([&card(), &other]);
        assert!(fits[0].is_some() && fits[0] < fits[1], "{fits:?}");
        assert_eq!(SearchQuery::parse("nothing").unwrap().score_cards([&card()]), [None]);
        assert!(SearchQuery::parse("  ").unwrap().is_empty());
    }

    /// Whether an entry matches.
    fn finds_entry(query: &str, line: &str, label: Option<&str>) -> bool {
        let entry = crate::entry::parse_entry(line.as_bytes()).unwrap();
        SearchQuery::parse(query).unwrap().matches_entry(&EntryView::read(&entry), label)
    }

    #[test]
    fn entries_are_found_by_all_their_texts_and_their_label() {
        let reply = r#"{"type":"message","id":"1","parentId":null,"message":{"role":"assistant","content":[
            {"type":"thinking","thinking":"Maybe a comet"},{"type":"text","text":"It is\nÖLTANK 7"},
            {"type":"toolCall","id":"c","name":"edit","arguments":{"edits":[{"newText":"fn tail()"}]}}]}}"#;
        for query in ["comet", "öltank", "\"it is öltank\"", "TAIL", "edit", "re:tank \\d", "comet tail"] {
            assert!(finds_entry(query, reply, None), "{query}");
        }
        for query in ["planet", "comet planet", "\"comet tail\"", "newText"] {
            assert!(!finds_entry(query, reply, None), "{query}");
        }
        assert!(
            finds_entry("comet good", reply, Some("a good idea")),
            "a word in the text and one in the label"
        );
        let command = r#"{"type":"message","id":"1","parentId":null,"message":{"role":"bashExecution","command":"ls","output":"a.txt"}}"#;
        assert!(finds_entry("ls a.txt", command, None));
        let summary = r#"{"type":"compaction","id":"1","parentId":null,"summary":"Earlier work","firstKeptEntryId":"1","tokensBefore":1}"#;
        assert!(finds_entry("earlier", summary, None));
    }
}
