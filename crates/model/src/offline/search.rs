//! Looks for lines of the conversation that have the rare words of a question in them.

use std::collections::HashMap;

use super::sentences::{terms, weights};
use crate::message::{Message, joined};

const BEST: usize = 4;
/// A line must share this part of the question's weight to count as an answer.
const ENOUGH: f64 = 0.34;
const LONGEST: usize = 240;

/// Lines that may answer, each with where it is from. The last message, the question itself, is left out.
pub(super) fn best_lines(messages: &[Message], question: &str) -> Vec<(String, String)> {
    let lines = lines(messages);
    let texts: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    let weights = weights(&texts);
    let asked = terms(question);
    let weight = |term: &String| weights.get(term).copied().unwrap_or(0.0);
    let unknown = weights.values().copied().fold(0.0, f64::max);
    let whole: f64 = asked
        .iter()
        .map(|term| if weights.contains_key(term) { weight(term) } else { unknown.max(1.0) })
        .sum();
    let mut scored: Vec<(f64, usize)> = Vec::new();
    for (at, line) in texts.iter().enumerate() {
        let has: HashMap<String, ()> = terms(line).into_iter().map(|term| (term, ())).collect();
        let score: f64 = asked.iter().filter(|term| has.contains_key(*term)).map(weight).sum();
        if whole > 0.0 && score / whole >= ENOUGH {
            scored.push((score, at));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut seen = Vec::new();
    let found = scored.into_iter().map(|(_, at)| lines[at].clone()).filter(|(_, line)| {
        let is_new = !seen.contains(line);
        seen.push(line.clone());
        is_new
    });
    found.take(BEST).collect()
}

fn lines(messages: &[Message]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let all_but_last = messages.len().saturating_sub(1);
    for message in &messages[..all_but_last] {
        let (source, text) = match message {
            Message::ToolResult(result) => (result.tool_name.clone(), result.text()),
            Message::Assistant(said) => ("assistant".to_owned(), said.text()),
            Message::User(user) => ("user".to_owned(), joined(&user.content)),
            Message::System(_) => continue,
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() <= LONGEST);
        out.extend(lines.map(|line| (source.clone(), line.to_owned())));
    }
    out
}
