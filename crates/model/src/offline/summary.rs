//! Summaries made of what was said: requests, files, errors, decisions, and the sentences that tell most. Nothing in
//! them is invented.

mod sections;

use super::transcript::{Transcript, transcript};
use crate::message::{Message, joined};
use crate::request::Request;

/// The headings that are written when the request names none.
const USUAL: &[&str] = &[
    "## Goal",
    "## Constraints & Preferences",
    "## Progress",
    "### Done",
    "### In Progress",
    "### Blocked",
    "## Key Decisions",
    "## Next Steps",
    "## Critical Context",
];

/// The summary a request asks for, if it asks for one.
pub(super) fn summary(request: &Request) -> Option<String> {
    if !is_wanted(request) {
        return None;
    }
    let transcript = transcript(request);
    if wants_a_title(request) {
        return Some(sections::title(&transcript));
    }
    let mut out = String::new();
    let headings = headings(&transcript.instructions);
    for (at, heading) in headings.iter().enumerate() {
        // A heading that only holds others has nothing of its own.
        let holds_others =
            heading.starts_with("## ") && headings.get(at + 1).is_some_and(|next| next.starts_with("###"));
        let lines = if holds_others { Vec::new() } else { sections::lines(heading, &transcript) };
        if !out.is_empty() {
            out.push('\n');
        }
        out += heading;
        out.push('\n');
        for line in lines {
            out += &line;
            out.push('\n');
        }
    }
    Some(out.trim_end().to_owned())
}

fn is_wanted(request: &Request) -> bool {
    let system = request.system.to_lowercase();
    let speaks_of_it = ["summar", "摘要", "总结", "title for", "session title", "标题"]
        .iter()
        .any(|word| system.contains(word));
    let is_given_one = request.messages.iter().rev().any(|message| match message {
        Message::User(user) => joined(&user.content).contains("<conversation>"),
        _ => false,
    });
    request.tools.is_empty() && (speaks_of_it || is_given_one)
}

fn wants_a_title(request: &Request) -> bool {
    let system = request.system.to_lowercase();
    (system.contains("title") || system.contains("标题")) && !system.contains("summar")
}

/// The headings the instructions show, or the usual ones.
fn headings(instructions: &str) -> Vec<String> {
    let shown: Vec<String> = instructions
        .lines()
        .map(str::trim)
        .filter(|line| (line.starts_with("## ") || line.starts_with("### ")) && line.len() < 60)
        .map(str::to_owned)
        .collect();
    if shown.len() >= 2 { shown } else { USUAL.iter().map(|heading| (*heading).to_owned()).collect() }
}

/// The lines below a heading in an earlier summary.
fn carried(transcript: &Transcript, heading: &str) -> Vec<String> {
    let mut lines = transcript.previous.lines().skip_while(|line| line.trim() != heading);
    lines.next();
    let below = lines.take_while(|line| !line.starts_with('#')).map(str::trim);
    below
        .filter(|line| !line.is_empty() && !line.starts_with("- (") && *line != "---")
        .map(str::to_owned)
        .collect()
}
