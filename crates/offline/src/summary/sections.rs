//! The lines below each heading of a summary.

use super::previous_lines;
use crate::sentences::{is_similar, most_informative, split_sentences, terms};
use crate::transcript::{Transcript, TranscriptEvent};

const MAX_LINES: usize = 8;
const MAX_LINE_CHARS: usize = 300;

const RULE_WORDS: &[&str] = &[
    "must",
    "never",
    "always",
    "don't",
    "do not",
    "prefer",
    "only use",
    "please use",
    "should",
    "make sure",
    "without",
    "avoid",
    "no more than",
    "at most",
    "必须",
    "不要",
    "不能",
    "请用",
    "始终",
    "务必",
    "只能",
    "禁止",
    "尽量",
];
const DECISION_WORDS: &[&str] = &[
    "decided",
    "instead of",
    "because",
    "chose",
    "choose",
    "we will use",
    "i will use",
    "rather than",
    "so that",
    "决定",
    "因为",
    "选择",
    "改用",
    "而不是",
];
const DONE_WORDS: &[&str] = &[
    "done",
    "fixed",
    "added",
    "created",
    "implemented",
    "wrote",
    "written",
    "changed",
    "removed",
    "updated",
    "passes",
    "passed",
    "works now",
    "完成",
    "已经",
    "修复",
    "添加",
    "创建",
    "实现",
    "修改",
    "通过",
];
const NEXT_STEP_WORDS: &[&str] = &[
    "next",
    "then ",
    "todo",
    "remaining",
    "still need",
    "should now",
    "will now",
    "接下来",
    "下一步",
    "还需要",
    "待办",
];

pub(super) fn lines(heading: &str, transcript: &Transcript) -> Vec<String> {
    let name = heading.trim_start_matches('#').trim().to_lowercase();
    let found = match name.as_str() {
        "goal" | "original request" => bullets(goal(transcript)),
        "constraints & preferences" => bullets(sentences_with_words(user_texts(transcript), RULE_WORDS)),
        "done" | "early progress" | "progress so far" | "progress" => checked(done(transcript), "- [x] "),
        "in progress" => checked(in_progress(transcript), "- [ ] "),
        "blocked" => bullets(blocked(transcript)),
        "key decisions" => bullets(decisions(transcript)),
        "next steps" => numbered(next_steps(transcript)),
        _ => bullets(context(transcript)),
    };
    let carries = !matches!(name.as_str(), "next steps" | "in progress" | "blocked");
    let earlier = if carries { previous_lines(transcript, heading) } else { Vec::new() };
    let all = merge_lines(earlier, found);
    if all.is_empty() { vec!["- (none)".to_owned()] } else { all }
}

/// The first words of the first request.
pub(super) fn title(transcript: &Transcript) -> String {
    let first = user_texts(transcript).into_iter().next().unwrap_or_else(|| transcript.instructions.clone());
    let line = first.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().take(7).collect();
    words.join(" ").chars().take(60).collect::<String>().trim_end_matches(['.', ',', '。', '，']).to_owned()
}

/// The lines of the previous summary, then new lines.
fn merge_lines(earlier: Vec<String>, found: Vec<String>) -> Vec<String> {
    let mut all = earlier;
    for line in found {
        if !all.iter().any(|known| known == &line || is_similar(known, &line)) {
            all.push(line);
        }
    }
    let skipped = all.len().saturating_sub(2 * MAX_LINES);
    all.drain(..skipped);
    all
}

fn user_texts(transcript: &Transcript) -> Vec<String> {
    texts(transcript, |event| match event {
        TranscriptEvent::User(text) => Some(text),
        _ => None,
    })
}

fn assistant_texts(transcript: &Transcript) -> Vec<String> {
    texts(transcript, |event| match event {
        TranscriptEvent::Assistant(text) => Some(text),
        _ => None,
    })
}

fn texts(transcript: &Transcript, pick: fn(&TranscriptEvent) -> Option<&String>) -> Vec<String> {
    transcript
        .events
        .iter()
        .filter_map(pick)
        .map(|text| strip_system_lines(text))
        .filter(|text| !text.trim().is_empty())
        .collect()
}

/// Removes the `<system>` lines that Osier adds to messages.
fn strip_system_lines(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("<system>")).collect::<Vec<_>>().join("\n")
}

/// The user's requests. If the conversation has no user message, the first sentence of the assistant.
fn goal(transcript: &Transcript) -> Vec<String> {
    let requests = user_texts(transcript);
    if requests.is_empty() {
        let begun = assistant_texts(transcript).into_iter().next().map(|text| first_sentences(&text, 1));
        return begun.into_iter().filter(|text| !text.is_empty()).collect();
    }
    let first = requests.first().map(|text| first_sentences(text, 2));
    let last = requests.last().filter(|_| requests.len() > 1).map(|text| first_sentences(text, 1));
    first.into_iter().chain(last).filter(|text| !text.is_empty()).collect()
}

/// The first sentences with at least three terms, or simply the first sentences if there are none.
fn first_sentences(text: &str, most: usize) -> String {
    let all = split_sentences(text);
    let matching: Vec<String> = all.iter().filter(|sentence| terms(sentence).len() >= 3).cloned().collect();
    let chosen = if matching.is_empty() { all } else { matching };
    chosen.into_iter().take(most).collect::<Vec<_>>().join(" ")
}

/// The most informative sentences that contain one of the words.
fn sentences_with_words(texts: Vec<String>, words: &[&str]) -> Vec<String> {
    let all = texts.iter().flat_map(|text| split_sentences(text));
    let matching: Vec<String> = all
        .filter(|sentence| {
            let lower = sentence.to_lowercase();
            words.iter().any(|word| lower.contains(word)) && !sentence.contains("```")
        })
        .collect();
    most_informative(&matching, MAX_LINES)
}

/// The sentences in which the assistant gives reasons. Without any, the start of its last message.
fn decisions(transcript: &Transcript) -> Vec<String> {
    let reasoned = sentences_with_words(assistant_texts(transcript), DECISION_WORDS);
    if !reasoned.is_empty() {
        return reasoned;
    }
    let last = assistant_texts(transcript).pop().map(|text| first_sentences(&text, 3));
    let done = done(transcript);
    last.into_iter()
        .filter(|last| !last.is_empty() && !done.iter().any(|done| last.contains(done.as_str())))
        .collect()
}

/// Changes made by tools, and sentences in which the assistant reports progress.
fn done(transcript: &Transcript) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (at, event) in transcript.events.iter().enumerate() {
        let TranscriptEvent::Call { name, path, command } = event else { continue };
        if call_result(transcript, at).is_some_and(|(_, failed)| failed) {
            continue;
        }
        let line = match (name.as_str(), path, command) {
            ("write", Some(path), _) => format!("wrote `{path}`"),
            ("edit", Some(path), _) => format!("changed `{path}`"),
            ("bash", _, Some(command)) => format!("ran `{}`", one_line(command)),
            _ => continue,
        };
        if !out.contains(&line) {
            out.push(line);
        }
    }
    let skipped = out.len().saturating_sub(MAX_LINES);
    out.drain(..skipped);
    out.extend(sentences_with_words(assistant_texts(transcript), DONE_WORDS).into_iter().take(4));
    out
}

/// The result of a call. The results of a batch follow in the order of its calls.
fn call_result(transcript: &Transcript, call: usize) -> Option<(&str, bool)> {
    let is_call = |event: &TranscriptEvent| matches!(event, TranscriptEvent::Call { .. });
    let batch = transcript.events[..call].iter().rev().take_while(|event| is_call(event)).count();
    let results = transcript.events[call + 1..].iter().skip_while(|event| is_call(event));
    match results.take_while(|event| matches!(event, TranscriptEvent::Result { .. })).nth(batch) {
        Some(TranscriptEvent::Result { text, failed }) => Some((text, *failed)),
        _ => None,
    }
}

/// The last request, if it was not answered.
fn in_progress(transcript: &Transcript) -> Vec<String> {
    let last_asked = transcript.events.iter().rposition(|event| matches!(event, TranscriptEvent::User(_)));
    let answered =
        matches!(transcript.events.last(), Some(TranscriptEvent::Assistant(text)) if !text.trim().is_empty());
    match last_asked {
        Some(at) if !answered => match &transcript.events[at] {
            TranscriptEvent::User(text) => vec![first_sentences(&strip_system_lines(text), 2)],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The last failed calls that did not succeed later.
fn blocked(transcript: &Transcript) -> Vec<String> {
    let mut open: Vec<(String, String)> = Vec::new();
    for (at, event) in transcript.events.iter().enumerate() {
        let TranscriptEvent::Call { name, path, command } = event else { continue };
        let what = command.clone().or_else(|| path.clone()).unwrap_or_else(|| name.clone());
        match call_result(transcript, at) {
            Some((text, true)) => {
                open.retain(|(known, _)| *known != what);
                open.push((what, error_line(text)));
            }
            Some((_, false)) => open.retain(|(known, _)| *known != what),
            None => {}
        }
    }
    let skipped = open.len().saturating_sub(4);
    open.into_iter().skip(skipped).map(|(what, line)| format!("`{}`: {line}", one_line(&what))).collect()
}

/// The line that describes an error.
fn error_line(text: &str) -> String {
    let lower = |line: &&str| line.to_lowercase();
    let is_named = |line: &&str| {
        ["error", "failed", "panicked", "denied", "not found"].iter().any(|word| lower(line).contains(word))
    };
    one_line(text.lines().find(is_named).or_else(|| text.lines().next()).unwrap_or_default())
}

/// The open request, then the steps that the assistant announced.
fn next_steps(transcript: &Transcript) -> Vec<String> {
    let open = in_progress(transcript).into_iter().map(|request| format!("Continue with: {request}"));
    let last = assistant_texts(transcript).pop().into_iter().collect();
    let steps: Vec<String> = open.chain(sentences_with_words(last, NEXT_STEP_WORDS)).take(5).collect();
    if steps.is_empty() { vec!["Ask the user what comes next.".to_owned()] } else { steps }
}

/// Files, and the most informative sentences that are not elsewhere in the summary.
fn context(transcript: &Transcript) -> Vec<String> {
    let mut out = files(transcript);
    let used: Vec<String> = [
        goal(transcript),
        sentences_with_words(user_texts(transcript), RULE_WORDS),
        decisions(transcript),
        done(transcript),
        next_steps(transcript),
    ]
    .concat();
    let candidates: Vec<String> = transcript
        .events
        .iter()
        .filter_map(|event| match event {
            TranscriptEvent::User(text) | TranscriptEvent::Assistant(text) => Some(strip_system_lines(text)),
            _ => None,
        })
        .flat_map(|text| split_sentences(&text))
        .filter(|sentence| terms(sentence).len() >= 4 && !sentence.starts_with("```"))
        .filter(|sentence| !used.iter().any(|used| used.contains(sentence.as_str())))
        .collect();
    out.extend(most_informative(&candidates, MAX_LINES));
    out
}

fn files(transcript: &Transcript) -> Vec<String> {
    let (mut read, mut changed) = (Vec::new(), Vec::new());
    for (at, event) in transcript.events.iter().enumerate() {
        let failed = call_result(transcript, at).is_some_and(|(_, failed)| failed);
        if let TranscriptEvent::Call { name, path: Some(path), .. } = event
            && !failed
        {
            let list = if matches!(name.as_str(), "write" | "edit") { &mut changed } else { &mut read };
            if !list.contains(path) {
                list.push(path.clone());
            }
        }
    }
    read.retain(|path| !changed.contains(path));
    let line = |what: &str, files: Vec<String>| {
        let names: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    [line("Files changed", changed), line("Files read", read)].into_iter().flatten().collect()
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

fn bullets(lines: Vec<String>) -> Vec<String> {
    lines.iter().map(|line| format!("- {}", one_line(line))).collect()
}

fn checked(lines: Vec<String>, mark: &str) -> Vec<String> {
    lines.iter().map(|line| format!("{mark}{}", one_line(line))).collect()
}

fn numbered(lines: Vec<String>) -> Vec<String> {
    lines.iter().enumerate().map(|(at, line)| format!("{}. {}", at + 1, one_line(line))).collect()
}
