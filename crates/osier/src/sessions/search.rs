//! Finding sessions by words: fuzzy in names, literal in paths, ids and what was said.

use std::sync::Arc;

use anyhow::Result;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use osier_session::{Env, Session, Stores};
use osier_store::{PagedHeads, Store, StoreError, each_line};
use osier_tree::entry::{Role, read_entry};
use osier_tree::projection::card::{Card, text_of};
use osier_tree::projection::preview::display_text;
use osier_tree::{Kind, Seq};

use crate::failure::usage;

/// What somebody looks for. All parts must be found.
#[derive(Debug)]
pub(crate) struct Query(Vec<Part>);

#[derive(Debug)]
enum Part {
    Regex(regex::Regex),
    Phrase(String),
    Word { word: String, fuzzy: Pattern },
}

impl Query {
    /// `re:…` is a regular expression; in other queries quotes make a phrase of several words.
    pub(crate) fn parse(text: &str) -> Result<Query> {
        if let Some(pattern) = text.strip_prefix("re:") {
            let regex = regex::RegexBuilder::new(pattern.trim()).case_insensitive(true).build();
            let regex = regex.map_err(|error| usage(format!("this is no regular expression: {error}")))?;
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

    /// The sessions that match: those whose name does first, otherwise in the order given.
    pub(crate) async fn choose(&self, cards: Vec<Card>, stores: &Stores) -> Result<Vec<Card>> {
        let mut matcher = Matcher::new(Config::DEFAULT);
        let (mut by_name, mut by_text) = (Vec::new(), Vec::new());
        for card in cards {
            let mut hunt = Hunt::new(self, &card, &mut matcher);
            if hunt.is_over() {
                by_name.push(card);
                continue;
            }
            // A session that cannot be read any more holds nothing that could be found.
            let Some(store) = stores.get(&card.store) else { continue };
            let read = each_said(store, &card, |said| hunt.look_at(said)).await;
            if read.is_ok() && hunt.is_over() {
                by_text.push(card);
            }
        }
        by_name.append(&mut by_text);
        Ok(by_name)
    }
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
    /// Begins with what is known of the session without reading it.
    fn new(query: &'q Query, card: &Card, matcher: &mut Matcher) -> Hunt<'q> {
        let mut hunt = Hunt { missing: query.0.iter().collect() };
        for text in [card.title(), &card.cwd, &card.id] {
            hunt.look_at(text);
        }
        let mut buffer = Vec::new();
        // Of a directory only the last part: in a whole path nearly everything could be found.
        let folder = card.cwd.rsplit('/').next().unwrap_or_default();
        for name in [card.title(), folder] {
            hunt.missing.retain(|part| match part {
                Part::Word { fuzzy, .. } => fuzzy.score(Utf32Str::new(name, &mut buffer), matcher).is_none(),
                _ => true,
            });
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

    fn is_over(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Hands out what users and assistants said in a session, on all branches that are not deleted.
async fn each_said(store: &Arc<dyn Store>, card: &Card, mut each: impl FnMut(&str)) -> Result<()> {
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
    each_line(&**store, key, opened.version.generation, &wanted, |_, line| -> Result<(), StoreError> {
        if let Ok(entry) = read_entry(line) {
            each(&display_text(&entry).unwrap_or_default());
            each(&entry.message.map(text_of).unwrap_or_default());
        }
        Ok(())
    })
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(query: &str, said: &[&str]) -> bool {
        let card = Card {
            id: "4f89da11-5e7b".to_owned(),
            name: Some("JSON flag".to_owned()),
            cwd: "/home/dev/parser".to_owned(),
            ..Card::default()
        };
        let query = Query::parse(query).unwrap();
        let mut hunt = Hunt::new(&query, &card, &mut Matcher::new(Config::DEFAULT));
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
        assert!(Query::parse("re:(").is_err());
    }
}
