//! Finds lines of the conversation that contain the rare words of a question.

use std::collections::HashMap;

use osier_model::{Message, join_text};

use super::sentences::{term_weights, terms};

const MAX_LINES: usize = 4;
/// The minimum share of the question's weight that a line must match.
const MIN_SCORE: f64 = 0.34;
const MAX_LINE_BYTES: usize = 240;

/// The best matching lines, each with its source. Skips the last message, which is the question.
pub(super) fn best_lines(messages: &[Message], question: &str) -> Vec<(String, String)> {
    let lines = collect_lines(messages);
    let texts: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    let weights = term_weights(&texts);
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
        if total > 0.0 && score / total >= MIN_SCORE {
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
    found.take(MAX_LINES).collect()
}

fn collect_lines(messages: &[Message]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let end = messages.len().saturating_sub(1);
    for message in &messages[..end] {
        let (source, text) = match message {
            Message::ToolResult(result) => (result.tool_name.clone(), result.text()),
            Message::Assistant(reply) => ("assistant".to_owned(), reply.text()),
            Message::User(user) => ("user".to_owned(), join_text(&user.content)),
            Message::System(_) => continue,
        };
        let lines =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() <= MAX_LINE_BYTES);
        out.extend(lines.map(|line| (source.clone(), line.to_owned())));
    }
    out
}
