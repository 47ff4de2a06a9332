//! Finding sessions by words: fuzzy in names, literal in paths, ids and what was said. What a list knows of a session is
//! looked at first; only what is missing then is looked for in the conversation.

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

/// What a hit in the name is worth more than one elsewhere.
const NAMED: u32 = 10_000;

/// What somebody looks for. All parts must be found.
#[derive(Debug)]
pub struct Query(Vec<Part>);

#[derive(Debug)]
enum Part {
    Regex(regex::Regex),
    Phrase(String),
    Word { word: String, fuzzy: Pattern },
}

impl Query {
    /// `re:…` is a regular expression; in other queries quotes make a phrase of several words.
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

    /// Whether everything fits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For each session how well it fits by what a list knows of it, without reading it; none if that does not tell.
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

    /// Whether what a list does not know of a session was said in it. In one that is gone nothing can be found. No log stays
    /// open.
    pub async fn is_said_in(&self, card: &Card, stores: &Stores) -> Result<bool, Error> {
        let Some(store) = stores.get(&card.store) else { return Ok(false) };
        let store = store.another().unwrap_or_else(|| store.clone());
        let mut hunt = Hunt::of_card(self, card, &mut Matcher::new(Config::DEFAULT));
        let read = each_said(&store, card, |said| {
            hunt.look_at(said);
            hunt.is_over()
        });
        match read.await {
            Ok(()) => Ok(hunt.is_over()),
            Err(Error::Store(StoreError::NotFound { .. } | StoreError::Vanished { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The sessions that match: those whose name does first, otherwise in the order given.
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

/// The sessions that a search could not look into.
#[derive(Debug, Default)]
pub struct Unread {
    count: usize,
    /// The first of them, and why.
    first: String,
}

impl Unread {
    /// Whether it was said in this session, as far as anybody can know.
    pub fn note(&mut self, card: &Card, said: Result<bool, Error>) -> bool {
        said.unwrap_or_else(|error| {
            if self.count == 0 {
                self.first = format!("{}: {}", card.short_id, whole(&error));
            }
            self.count += 1;
            false
        })
    }

    /// A line for the user, if there are any.
    pub fn told(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(format!("one session could not be searched: {}", self.first)),
            count => Some(format!("{count} sessions could not be searched; the first is {}", self.first)),
        }
    }
}

/// An error with its causes.
fn whole(error: &Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

fn word(word: &str) -> Part {
    let fuzzy = Pattern::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
    Part::Word { word: folded(word), fuzzy }
}

/// Lower case, white space folded.
fn folded(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What of a query one session still lacks.
struct Hunt<'q> {
    missing: Vec<&'q Part>,
}

impl<'q> Hunt<'q> {
    fn new(query: &'q Query) -> Hunt<'q> {
        Hunt { missing: query.0.iter().collect() }
    }

    /// Begins with what is known of the session without reading it.
    fn of_card(query: &'q Query, card: &Card, matcher: &mut Matcher) -> Hunt<'q> {
        let mut hunt = Hunt::new(query);
        for text in [card.title(), &card.first_message, &card.cwd, &card.id] {
            hunt.look_at(text);
        }
        // Of a directory only the last part: in a whole path nearly everything could be found.
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

    /// Letters may be left out. Tells how well it fits.
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

/// Why the reading of a session ends before its end.
enum Stop {
    Enough,
    Failed(Error),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Failed(error.into())
    }
}

/// Hands out what users and assistants said in a session, on all branches that are not deleted, until it is told that this
/// is enough.
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

    fn finds(query: &str, said: &[&str]) -> bool {
        let query = Query::parse(query).unwrap();
        let mut hunt = Hunt::of_card(&query, &card(), &mut Matcher::new(Config::DEFAULT));
        said.iter().for_each(|said| hunt.look_at(said));
        hunt.is_over()
    }

    #[test]
    fn names_and_directories_are_matched_loosely_and_texts_to_the_letter() {
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
    fn a_phrase_is_found_across_white_space() {
        assert!(finds("\"page the  cursor\"", &["Page\n\tthe cursor"]));
        assert!(!finds("\"the page\"", &["page the cursor"]));
        assert!(finds("\"unclosed cur", &["an unclosed  cur"]));
    }

    #[test]
    fn signs_are_letters_like_all_others() {
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
    fn a_hit_in_the_name_counts_most() {
        let other = Card { name: Some("parser".to_owned()), cwd: "/x".to_owned(), ..card() };
        let fits = Query::parse("parser").unwrap().fits([&card(), &other]);
        assert!(fits[0].is_some() && fits[0] < fits[1], "{fits:?}");
        assert_eq!(Query::parse("nothing").unwrap().fits([&card()]), [None]);
        assert!(Query::parse("  ").unwrap().is_empty());
    }
}
