//! Finding sessions by words: fuzzy in names and directories, literal in what was said.

use anyhow::{Context, Result};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use osier_store::{FileStore, PagedHeads, Store, StoreError, each_line};
use osier_tree::entry::{Role, read_entry};
use osier_tree::projection::card::{Card, text_of};
use osier_tree::{Kind, Seq};

/// What somebody looks for. All parts must be found.
#[derive(Debug)]
pub(crate) enum Query {
    Regex(regex::Regex),
    Words(Vec<Word>),
}

#[derive(Debug)]
pub(crate) enum Word {
    Fuzzy(String),
    Phrase(String),
}

impl Query {
    /// `re:…` is a regular expression; in other queries quotes make a phrase of several words.
    pub(crate) fn parse(text: &str) -> Result<Query> {
        if let Some(pattern) = text.strip_prefix("re:") {
            let regex = regex::RegexBuilder::new(pattern.trim()).case_insensitive(true).build();
            return Ok(Query::Regex(regex.context("not a regular expression")?));
        }
        let mut words = Vec::new();
        for (at, part) in text.split('"').enumerate() {
            if at % 2 == 1 {
                words.push(Word::Phrase(folded(part)));
            } else {
                words.extend(part.split_whitespace().map(|word| Word::Fuzzy(word.to_lowercase())));
            }
        }
        Ok(Query::Words(words))
    }

    /// The sessions that match: those whose name does first, otherwise in the order given.
    pub(crate) async fn choose(&self, cards: Vec<Card>, store: &FileStore) -> Result<Vec<Card>> {
        let mut matcher = Matcher::new(Config::DEFAULT);
        let (mut by_name, mut by_text) = (Vec::new(), Vec::new());
        for card in cards {
            if self.matches(&format!("{} {}", card.title(), card.cwd), &card, "", &mut matcher) {
                by_name.push(card);
            } else {
                let said = said(store, &card).await.unwrap_or_default();
                if self.matches(&format!("{} {}", card.title(), card.cwd), &card, &said, &mut matcher) {
                    by_text.push(card);
                }
            }
        }
        by_name.append(&mut by_text);
        Ok(by_name)
    }

    fn matches(&self, name: &str, card: &Card, said: &str, matcher: &mut Matcher) -> bool {
        match self {
            Query::Regex(regex) => regex.is_match(name) || regex.is_match(&card.id) || regex.is_match(said),
            Query::Words(words) => {
                let lower = folded(&format!("{name} {} {said}", card.id));
                words.iter().all(|word| match word {
                    Word::Phrase(phrase) => lower.contains(phrase.as_str()),
                    Word::Fuzzy(word) => lower.contains(word.as_str()) || is_fuzzy(word, name, matcher),
                })
            }
        }
    }
}

fn is_fuzzy(word: &str, name: &str, matcher: &mut Matcher) -> bool {
    let pattern = Pattern::parse(word, CaseMatching::Ignore, Normalization::Smart);
    pattern.score(Utf32Str::new(name, &mut Vec::new()), matcher).is_some()
}

/// Lower case, white space folded.
fn folded(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Everything that users and assistants said in a session, on all branches.
async fn said(store: &FileStore, card: &Card) -> Result<String> {
    let key = card.file.as_deref().unwrap_or(&card.id);
    let opened = store.open(key).await?;
    let mut heads = PagedHeads::new(store, key, opened.version);
    let mut wanted = Vec::new();
    for seq in (0..opened.version.entries).map(Seq::new) {
        let head = heads.get(seq).await?;
        if head.kind == Kind::Message && matches!(head.role, Role::User | Role::Assistant) {
            wanted.push(seq);
        }
    }
    let mut text = String::new();
    each_line(store, key, opened.version.generation, &wanted, |_, line| {
        if let Some(message) = read_entry(line).ok().and_then(|entry| entry.message) {
            text.push_str(&text_of(message));
            text.push('\n');
        }
        Ok::<_, StoreError>(())
    })
    .await?;
    Ok(text)
}
