//! Finds lines of the conversation that contain the rare words of a question.

use std::collections::HashMap;

use super::sentences::{terms, weights};
use crate::message::{Message, joined};

const BEST: usize = 4;
/// The minimum share of the question's weight that a line must match.
const ENOUGH: f64 = 0.34;
const LONGEST: usize = 240;

/// The best matching lines, each with its source. Skips the last message, which is the question.
pub(super) fn best_lines(messages: &[Message], question: &str) -> Vec<(String, String)> {
    let lines = lines(messages);
    let texts: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    let weights = weights(&texts);
    let terms_asked = terms(question);
    let weight = |term: &String| weights.get(term).copied().unwrap_or(0.0);
    let unknown = weights.values().copied().fold(0.0, f64::max);
    let total: f64 = terms_asked
        .iter()
        .map(|term| if weights.contains_key(term) { weight(term) } else { unknown.max(1.0) })
        .sum();
    let mut scored: Vec<(f64, usize)> = Vec::new();
    for (at, line) in texts.iter().enumerate() {
        let has: HashMap<String, ()> = terms(line).into_iter().map(|term| (term, ())).collect();
        let score: f64 = terms_asked.iter().filter(|term| has.contains_key(*term)).map(weight).sum();
        if total > 0.0 && score / total >= ENOUGH {
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
    let end = messages.len().saturating_sub(1);
    for message in &messages[..end] {
        let (source, text) = match message {
            Message::ToolResult(result) => (result.tool_name.clone(), result.text()),
            Message::Assistant(reply) => ("assistant".to_owned(), reply.text()),
            Message::User(user) => ("user".to_owned(), joined(&user.content)),
            Message::System(_) => continue,
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() <= LONGEST);
        out.extend(lines.map(|line| (source.clone(), line.to_owned())));
    }
    out
}
