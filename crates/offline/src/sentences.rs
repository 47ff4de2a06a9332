//! Splits text into sentences and terms, and weights terms by how rare they are in the text. Works for any language.

use std::collections::{HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation;

use super::language::is_han;

/// Stop words.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "has",
    "have", "how", "i", "if", "in", "is", "it", "its", "me", "my", "not", "of", "on", "or", "please", "so",
    "that", "the", "there", "this", "to", "was", "we", "were", "what", "when", "where", "which", "who",
    "why", "will", "with", "would", "you", "your", "tell", "about", "了吗", "什么", "怎么", "请问", "一下",
    "这个", "那个",
];

/// The sentences of a text, trimmed, in order. A line break also ends a sentence.
pub(super) fn split_sentences(text: &str) -> Vec<String> {
    let lines = text.lines().flat_map(|line| line.split_sentence_bounds());
    lines.map(|sentence| sentence.trim().to_owned()).filter(|sentence| sentence.chars().count() > 1).collect()
}

/// The words of a text in lower case, without stop words. Han characters form pairs.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut before: Option<char> = None;
    for word in text.unicode_words() {
        let mut chars = word.chars();
        match (chars.next(), chars.next()) {
            (Some(han), None) if is_han(han) => {
                terms.extend(before.map(|before| format!("{before}{han}")));
                before = Some(han);
            }
            _ => {
                before = None;
                terms.push(word.to_lowercase());
            }
        }
    }
    terms.retain(|term| !STOP_WORDS.contains(&term.as_str()));
    terms
}

/// The weight of each term: higher if fewer of the texts contain it.
pub(super) fn term_weights(texts: &[&str]) -> HashMap<String, f64> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for text in texts {
        for term in terms(text).into_iter().collect::<HashSet<_>>() {
            *counts.entry(term).or_default() += 1;
        }
    }
    let total = texts.len() as f64;
    counts.into_iter().map(|(term, count)| (term, (1.0 + total / count as f64).ln())).collect()
}

/// The sentences with the highest weight, in their original order, without near duplicates.
pub(super) fn most_informative(sentences: &[String], most: usize) -> Vec<String> {
    let texts: Vec<&str> = sentences.iter().map(String::as_str).collect();
    let weights = term_weights(&texts);
    let score = |sentence: &String| {
        let terms = terms(sentence);
        let sum: f64 = terms.iter().filter_map(|term| weights.get(term)).sum();
        sum / (terms.len().max(4) as f64).sqrt()
    };
    let mut order: Vec<(f64, usize)> = sentences.iter().map(score).zip(0..).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<usize> = Vec::new();
    for (_, at) in order {
        if chosen.len() == most {
            break;
        }
        if !chosen.iter().any(|other| is_similar(&sentences[*other], &sentences[at])) {
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| sentences[at].clone()).collect()
}

/// Whether two sentences share most of their terms.
pub(super) fn is_similar(one: &str, other: &str) -> bool {
    let (one, other): (HashSet<String>, HashSet<String>) =
        (terms(one).into_iter().collect(), terms(other).into_iter().collect());
    let shared = one.intersection(&other).count();
    shared > 0 && shared * 10 >= one.len().min(other.len()) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_sentences_in_any_script() {
        assert_eq!(
            split_sentences("One. Two!\n\n三个字。四个？ v1.2 stays."),
            ["One.", "Two!", "三个字。", "四个？", "v1.2 stays."]
        );
    }

    #[test]
    fn rare_words_weigh_more() {
        let sentences: Vec<String> =
            ["the file is read", "the file is read again", "quicksort panics on empty slices"]
                .map(str::to_owned)
                .into();
        assert_eq!(most_informative(&sentences, 1), ["quicksort panics on empty slices"]);
        assert_eq!(most_informative(&sentences, 3).len(), 2);
    }

    #[test]
    fn han_characters_form_pairs() {
        assert_eq!(terms("运行测试 now"), ["运行", "行测", "测试", "now"]);
    }
}
