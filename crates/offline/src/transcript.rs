//! Reads the conversation to summarize from a request: serialized in the last user message, or as messages.

use osier_model::{Message, Request, join_text};
use serde_json::Value;

/// One event of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TranscriptEvent {
    User(String),
    Assistant(String),
    Call { name: String, path: Option<String>, command: Option<String> },
    Result { text: String, failed: bool },
}

/// The conversation to summarize.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) events: Vec<TranscriptEvent>,
    /// The previous summary, to be extended.
    pub(super) previous_summary: String,
    /// The text around the conversation, which says what kind of summary to write.
    pub(super) instructions: String,
}

pub(super) fn read_transcript(request: &Request) -> Transcript {
    let last = request.messages.iter().rev().find_map(|message| match message {
        Message::User(user) => Some(join_text(&user.content)),
        _ => None,
    });
    let last = last.unwrap_or_default();
    match split_tagged(&last, "conversation") {
        Some((conversation, rest)) => {
            let (previous, instructions) =
                split_tagged(&rest, "previous-summary").unwrap_or((String::new(), rest));
            Transcript { events: events_from_text(&conversation), previous_summary: previous, instructions }
        }
        None => {
            let end = request.messages.len().saturating_sub(1);
            Transcript {
                events: events_from_messages(&request.messages[..end]),
                previous_summary: String::new(),
                instructions: last,
            }
        }
    }
}

/// The text between two tags, and the rest of the text.
fn split_tagged(text: &str, name: &str) -> Option<(String, String)> {
    let (before, rest) = text.split_once(&format!("<{name}>"))?;
    let (inner, after) = rest.rsplit_once(&format!("</{name}>"))?;
    Some((inner.trim().to_owned(), format!("{before}{after}")))
}

fn events_from_messages(messages: &[Message]) -> Vec<TranscriptEvent> {
    let mut events = Vec::new();
    for message in messages {
        match message {
            Message::System(_) => {}
            Message::User(user) => events.push(TranscriptEvent::User(join_text(&user.content))),
            Message::Assistant(assistant) => {
                events.push(TranscriptEvent::Assistant(assistant.text()));
                events.extend(assistant.calls().map(|call| {
                    let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).map(str::to_owned);
                    TranscriptEvent::Call {
                        name: call.name.clone(),
                        path: text("path"),
                        command: text("command"),
                    }
                }));
            }
            Message::ToolResult(result) => {
                events.push(TranscriptEvent::Result { text: result.text(), failed: result.is_error });
            }
        }
    }
    events
}

/// Reads paragraphs that start with a role: `[User]: …`.
fn events_from_text(text: &str) -> Vec<TranscriptEvent> {
    let mut paragraphs: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match label(line) {
            Some((role, rest)) => paragraphs.push((role.to_lowercase(), rest.trim().to_owned())),
            None => match paragraphs.last_mut() {
                Some((_, body)) => {
                    body.push('\n');
                    body.push_str(line);
                }
                None if line.trim().is_empty() => {}
                None => paragraphs.push(("user".to_owned(), line.to_owned())),
            },
        }
    }
    paragraphs.into_iter().flat_map(|(role, body)| events_for_role(&role, body.trim())).collect()
}

fn label(line: &str) -> Option<(&str, &str)> {
    let (role, rest) = line.strip_prefix('[')?.split_once("]:")?;
    let is_name = role.len() <= 40 && role.chars().all(|c| c.is_alphanumeric() || c == ' ');
    is_name.then_some((role, rest))
}

fn events_for_role(role: &str, body: &str) -> Vec<TranscriptEvent> {
    match role {
        // A summary of another part of the conversation is in a user message, but is not a request.
        "user" => match split_tagged(body, "summary").filter(|_| body.ends_with("</summary>")) {
            Some((summary, _)) => vec![TranscriptEvent::Assistant(summary)],
            None => vec![TranscriptEvent::User(body.to_owned())],
        },
        "assistant tool calls" | "tool calls" | "tool call" => parse_calls(body),
        "tool result" | "result" => {
            vec![TranscriptEvent::Result { text: body.to_owned(), failed: looks_failed(body) }]
        }
        role if role.contains("thinking") => Vec::new(),
        _ => vec![TranscriptEvent::Assistant(body.to_owned())],
    }
}

/// Reads `read(path="a.rs"); bash(command="ls")`.
fn parse_calls(body: &str) -> Vec<TranscriptEvent> {
    let mut calls = Vec::new();
    let mut rest = body;
    while let Some(open) = rest.find('(') {
        let name = rest[..open].trim_matches([' ', ';', '\n', ',', '-', '*']).to_owned();
        let close = closing_bracket(&rest[open..]).map_or(rest.len(), |at| open + at);
        let arguments = &rest[open + 1..close.max(open + 1)];
        if !name.is_empty() && !name.contains(' ') {
            calls.push(TranscriptEvent::Call {
                name,
                path: parse_argument(arguments, "path"),
                command: parse_argument(arguments, "command"),
            });
        }
        rest = rest.get(close + 1..).unwrap_or_default();
    }
    calls
}

/// The position of the bracket that closes the one at the start of the text. Skips strings.
fn closing_bracket(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '(' if !in_string => depth += 1,
            ')' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn parse_argument(arguments: &str, key: &str) -> Option<String> {
    let at = arguments.find(&format!("{key}=\""))? + key.len() + 1;
    let mut values = serde_json::Deserializer::from_str(&arguments[at..]).into_iter::<String>();
    values.next()?.ok()
}

fn looks_failed(text: &str) -> bool {
    let lower = text.to_lowercase();
    let beginning: String = lower.chars().take(400).collect();
    ["error:", "error[", "failed", "panicked", "not found", "no such file", "permission denied", "traceback"]
        .iter()
        .any(|word| beginning.contains(word))
        || beginning.starts_with("not allowed") && beginning.contains("nothing was run or changed")
        || lower.contains("[exit code ") && !lower.contains("[exit code 0]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_serialized_conversation() {
        let events = events_from_text(
            "[User]: Fix it\nplease\n\n[Assistant thinking]: hm\n\n[Assistant]: I look.\n\n[Assistant tool calls]: read(path=\"a (1).rs\"); bash(command=\"echo \\\"hi\\\"\")\n\n[Tool result]: error[E0308]: mismatched",
        );
        let with_summary =
            "[User]: A branch was left:\n\n<summary>\nIt was slow.\n</summary>\n\n[User]: go on";
        let expected = [
            TranscriptEvent::Assistant("It was slow.".to_owned()),
            TranscriptEvent::User("go on".to_owned()),
        ];
        assert_eq!(events_from_text(with_summary), expected);
        assert_eq!(
            events,
            [
                TranscriptEvent::User("Fix it\nplease".to_owned()),
                TranscriptEvent::Assistant("I look.".to_owned()),
                TranscriptEvent::Call {
                    name: "read".to_owned(),
                    path: Some("a (1).rs".to_owned()),
                    command: None
                },
                TranscriptEvent::Call {
                    name: "bash".to_owned(),
                    path: None,
                    command: Some("echo \"hi\"".to_owned())
                },
                TranscriptEvent::Result { text: "error[E0308]: mismatched".to_owned(), failed: true },
            ]
        );
    }
}
