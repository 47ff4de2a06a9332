//! Writes summaries from the conversation itself: requests, files, errors, decisions and the most informative sentences.

mod sections;

use osier_model::{Message, Request, join_text};

use super::transcript::{Transcript, read_transcript};

/// The headings to use if the request specifies none.
const DEFAULT_HEADINGS: &[&str] = &[
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

/// The summary, if the request is for one.
pub(super) fn summary(request: &Request) -> Option<String> {
    if !is_summary_request(request) {
        return None;
    }
    let transcript = read_transcript(request);
    if is_title_request(request) {
        return Some(sections::title(&transcript));
    }
    let mut out = String::new();
    let headings = headings(&transcript.instructions);
    for (at, heading) in headings.iter().enumerate() {
        // A heading with subheadings has no lines of its own.
        let has_subheadings =
            heading.starts_with("## ") && headings.get(at + 1).is_some_and(|next| next.starts_with("###"));
        let lines = if has_subheadings { Vec::new() } else { sections::lines(heading, &transcript) };
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

fn is_summary_request(request: &Request) -> bool {
    let system = request.system.to_lowercase();
    let is_in_prompt = ["summar", "摘要", "总结", "title for", "session title", "标题"]
        .iter()
        .any(|word| system.contains(word));
    let has_conversation = request.messages.iter().rev().any(|message| match message {
        Message::User(user) => join_text(&user.content).contains("<conversation>"),
        _ => false,
    });
    request.tools.is_empty() && (is_in_prompt || has_conversation)
}

fn is_title_request(request: &Request) -> bool {
    let system = request.system.to_lowercase();
    (system.contains("title") || system.contains("标题")) && !system.contains("summar")
}

/// The headings in the instructions, or the default ones.
fn headings(instructions: &str) -> Vec<String> {
    let shown: Vec<String> = instructions
        .lines()
        .map(str::trim)
        .filter(|line| (line.starts_with("## ") || line.starts_with("### ")) && line.len() < 60)
        .map(str::to_owned)
        .collect();
    if shown.len() >= 2 {
        shown
    } else {
        DEFAULT_HEADINGS.iter().map(|heading| (*heading).to_owned()).collect()
    }
}

/// The lines below a heading in the previous summary.
fn previous_lines(transcript: &Transcript, heading: &str) -> Vec<String> {
    let mut lines = transcript.previous_summary.lines().skip_while(|line| line.trim() != heading);
    lines.next();
    let below = lines.take_while(|line| !line.starts_with('#')).map(str::trim);
    below
        .filter(|line| !line.is_empty() && !line.starts_with("- (") && *line != "---")
        .map(str::to_owned)
        .collect()
}
