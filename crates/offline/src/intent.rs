//! Parses a user's text into steps by matching patterns. A clause that matches no pattern produces no step, rather than
//! a wrong one.

use super::clause::{ClauseWord, split_clauses, split_words};
use super::language::is_han;
use super::verbs::{
    CHINESE_FILLERS, CHINESE_VERBS, ENGLISH_VERBS, FILLERS, LEADING_WORDS, TEST_SUITE_NAMES, Verb,
};

/// One requested action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestedStep {
    Read { path: String, lines: Option<(u32, u32)> },
    List { path: Option<String> },
    Search { word: String, path: Option<String> },
    Find { pattern: String },
    Run { command: String },
    Tests,
    Write { path: String, content: String },
    Replace { path: String, old: String, new: String },
    Delegate { tasks: Vec<String> },
}

/// The steps of a request, in order. The steps of one group can run in parallel.
pub(super) fn parse_steps(text: &str) -> Vec<Vec<RequestedStep>> {
    let mut groups: Vec<Vec<RequestedStep>> = Vec::new();
    let mut waiting: Option<String> = None;
    let text = strip_system_tags(text);
    if let Some(tasks) = parse_delegation(&text) {
        return vec![vec![RequestedStep::Delegate { tasks }]];
    }
    for clause in split_clauses(&text) {
        // The content of a file may follow in a code block.
        let clause = match waiting.take() {
            Some(pending) if clause.starts_with("```") => format!("{pending} {clause}"),
            Some(pending) => {
                groups.extend(parse_clause(&pending));
                clause
            }
            None => clause,
        };
        let ends_open = ["with", "containing", "with:", "内容", "内容为", "内容是", "：", ":"]
            .iter()
            .any(|end| clause.ends_with(end));
        if ends_open { waiting = Some(clause) } else { groups.extend(parse_clause(&clause)) }
    }
    groups.extend(waiting.and_then(|pending| parse_clause(&pending)));
    groups
}

/// The tasks of "delegate list src; read README.md".
fn parse_delegation(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let rest = text.strip_prefix("委派").or_else(|| {
        let (word, rest) = text.split_at_checked("delegate".len())?;
        let is_word = word.eq_ignore_ascii_case("delegate") && rest.starts_with([' ', ':', '\n']);
        is_word.then_some(rest)
    })?;
    let tasks = rest.trim_start_matches([':', '：']).split([';', '；', '\n']);
    let tasks: Vec<String> =
        tasks.map(|task| task.trim().to_owned()).filter(|task| !task.is_empty()).collect();
    (!tasks.is_empty()).then_some(tasks)
}

/// Removes the `<system>` parts that Osier adds to the user's message.
fn strip_system_tags(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("<system>") {
        out.push_str(&rest[..start]);
        rest = rest[start..].split_once("</system>").map_or("", |(_, after)| after);
    }
    out + rest
}

/// The steps of a clause, which may name several targets: "read a and b".
fn parse_clause(clause: &str) -> Option<Vec<RequestedStep>> {
    let parts: Vec<&str> = clause.split(" and ").collect();
    // "list src and run tests" is two requests; "read a and b" is one.
    let divided =
        parts.iter().skip(1).any(|part| parse_verb(part).is_some()) && !clause.contains(['`', '"', '“']);
    let parts = if divided { parts } else { vec![clause] };
    let steps: Vec<RequestedStep> = parts.into_iter().flat_map(parse_step).collect();
    (!steps.is_empty()).then_some(steps)
}

fn parse_step(clause: &str) -> Vec<RequestedStep> {
    if let Some(command) = clause.trim().strip_prefix('$') {
        return run_step(command.trim());
    }
    if let Some(step) = parse_chinese_step(clause) {
        return vec![step];
    }
    let Some((verb, rest)) = parse_verb(clause) else { return Vec::new() };
    match verb {
        Verb::Read => parse_read(&rest, false),
        Verb::Look => parse_read(&rest, true),
        Verb::List => vec![RequestedStep::List { path: parse_names(&rest).into_iter().next() }],
        Verb::Search => parse_search(&rest),
        Verb::Find => parse_find(&rest),
        Verb::Run => parse_run(&rest),
        Verb::Write => parse_write(&rest).into_iter().collect(),
        Verb::Replace => parse_replace(&rest).into_iter().collect(),
    }
}

/// The verb at the start of a clause, and the rest.
fn parse_verb(clause: &str) -> Option<(Verb, String)> {
    let mut rest = clause.trim();
    loop {
        let lower = rest.to_ascii_lowercase();
        let leading = LEADING_WORDS.iter().find(|word| lower.starts_with(**word) && ends_word(&lower, word));
        match leading {
            Some(word) if rest.is_char_boundary(word.len()) => {
                rest = rest[word.len()..].trim_start_matches([' ', ',', '，', ':']);
            }
            _ => break,
        }
    }
    let lower = rest.to_ascii_lowercase();
    let mut verbs = ENGLISH_VERBS.iter().chain(CHINESE_VERBS);
    let (word, verb) = verbs.find(|(word, _)| {
        lower.starts_with(word) && ends_word(&lower, word) && rest.is_char_boundary(word.len())
    })?;
    Some((*verb, rest[word.len()..].trim().to_owned()))
}

/// Whether `word`, a prefix of `text`, ends at a word boundary. Each Han character is a word.
fn ends_word(text: &str, word: &str) -> bool {
    let last_is_han = word.chars().next_back().is_some_and(is_han);
    last_is_han
        || text[word.len()..]
            .chars()
            .next()
            .is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_' && c != '.')
}

/// The names of files or folders: quoted words, else words that look like paths, else a single remaining word.
fn parse_names(rest: &str) -> Vec<String> {
    let mut words = split_words(&strip_chinese_fillers(rest));
    // `@name` is the form that file completion in the terminal inserts.
    for word in words.iter_mut().filter(|word| !word.quoted) {
        if let Some(name) = word.text.strip_prefix('@').filter(|name| !name.is_empty()) {
            word.text = name.to_owned();
        }
    }
    let quoted: Vec<String> = words.iter().filter(|word| word.quoted).map(|word| word.text.clone()).collect();
    if !quoted.is_empty() {
        return quoted;
    }
    let paths: Vec<String> =
        words.iter().map(|word| word.text.clone()).filter(|word| looks_like_a_path(word)).collect();
    if !paths.is_empty() {
        return paths;
    }
    let plain: Vec<String> = words
        .into_iter()
        .map(|word| word.text)
        .filter(|word| !FILLERS.contains(&word.to_ascii_lowercase().as_str()))
        .collect();
    if plain.len() == 1 { plain } else { Vec::new() }
}

/// Removes Chinese filler words around a name.
fn strip_chinese_fillers(rest: &str) -> String {
    let mut text = rest.to_owned();
    loop {
        let before = text.clone();
        let trimmed = text.trim().trim_matches(['，', '。', '！', '？', '：', ',']);
        let filler = CHINESE_FILLERS
            .iter()
            .find(|filler| trimmed.starts_with(**filler) && trimmed.len() > filler.len());
        let trimmed = filler.map_or(trimmed, |filler| &trimmed[filler.len()..]);
        let filler =
            CHINESE_FILLERS.iter().find(|filler| trimmed.ends_with(**filler) && trimmed.len() > filler.len());
        let trimmed = filler.map_or(trimmed, |filler| &trimmed[..trimmed.len() - filler.len()]);
        if trimmed == before {
            return before.replace(['和', '、'], " ");
        }
        text = trimmed.to_owned();
    }
}

fn looks_like_a_path(word: &str) -> bool {
    let has_extension = word.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty() && (1..=6).contains(&extension.len()) && extension.chars().all(char::is_alphanumeric)
    });
    word.contains('/') || has_extension || word.starts_with('.') || word.contains('*')
}

/// `may_be_folder`: treat a name without an extension as a folder.
fn parse_read(rest: &str, may_be_folder: bool) -> Vec<RequestedStep> {
    let lines = parse_line_range(rest);
    let mentions_folder = ["folder", "directory", "目录", "文件夹"].iter().any(|word| rest.contains(word));
    let is_folder = |path: &str| {
        path.ends_with('/')
            || path == "."
            || path == ".."
            || mentions_folder
            || may_be_folder && !path.contains('.')
    };
    // Any Chinese text could be a file name; accept it only if it is quoted or looks like a path.
    let is_name = |path: &String| {
        looks_like_a_path(path) || !path.chars().any(is_han) || rest.contains(['“', '"', '`', '「', '《'])
    };
    let step = |path: String| match path {
        path if is_folder(&path) => RequestedStep::List { path: Some(path) },
        path => RequestedStep::Read { path, lines },
    };
    parse_names(rest).into_iter().filter(is_name).map(step).collect()
}

/// "lines 3 to 9", "第 3 到 9 行", "3-9 行".
fn parse_line_range(rest: &str) -> Option<(u32, u32)> {
    let lower = rest.to_ascii_lowercase();
    let place = lower.find("line").or_else(|| lower.find('第')).or_else(|| lower.find('行').map(|_| 0))?;
    let numbers: Vec<u32> = lower[place..]
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    match numbers.as_slice() {
        [from, to, ..] if from <= to && *from > 0 => Some((*from, *to)),
        [only] if *only > 0 => Some((*only, *only)),
        _ => None,
    }
}

fn parse_search(rest: &str) -> Vec<RequestedStep> {
    let rest = strip_chinese_fillers(rest);
    let words = split_words(&rest);
    let place = words
        .iter()
        .rposition(|word| !word.quoted && ["in", "inside", "under", "within"].contains(&word.text.as_str()));
    let (what, place) = match place {
        Some(at) if at > 0 && at + 1 < words.len() => words.split_at(at),
        _ => (words.as_slice(), &[] as &[ClauseWord]),
    };
    let path = place
        .iter()
        .skip(1)
        .find(|word| !FILLERS.contains(&word.text.as_str()))
        .map(|word| word.text.clone());
    let word = match what.iter().find(|word| word.quoted) {
        Some(word) => word.text.clone(),
        None => {
            let is_filler = |word: &&ClauseWord| {
                ["for", "the", "word", "text", "string", "a", "all"].contains(&word.text.as_str())
            };
            let last_is_filler =
                |word: &&ClauseWord| ["defined", "used", "called"].contains(&word.text.as_str());
            let kept: Vec<&str> = what
                .iter()
                .skip_while(is_filler)
                .filter(|word| !last_is_filler(word))
                .map(|word| word.text.as_str())
                .collect();
            kept.join(" ")
        }
    };
    if word.is_empty() { Vec::new() } else { vec![RequestedStep::Search { word, path }] }
}

fn parse_find(rest: &str) -> Vec<RequestedStep> {
    let name = |name: String| match name.contains(['*', '?', '.']) {
        true => RequestedStep::Find { pattern: name },
        false => RequestedStep::Find { pattern: format!("*{name}*") },
    };
    parse_names(rest).into_iter().map(name).collect()
}

fn parse_run(rest: &str) -> Vec<RequestedStep> {
    let words = split_words(rest);
    if let [ClauseWord { text, quoted: true }] = words.as_slice() {
        return run_step(text);
    }
    if let Some(word) = words.iter().find(|word| word.quoted && rest.contains(&format!("`{}`", word.text))) {
        return run_step(&word.text);
    }
    let plain = rest.trim().trim_end_matches(['。', '！', '，']).trim();
    let plain = plain.strip_suffix('.').filter(|text| text.ends_with(char::is_alphabetic)).unwrap_or(plain);
    if TEST_SUITE_NAMES.contains(&plain.to_ascii_lowercase().as_str()) {
        return vec![RequestedStep::Tests];
    }
    let plain = strip_chinese_fillers(plain);
    let first = plain.split_whitespace().next().unwrap_or_default();
    let is_command =
        first.is_ascii() && first.starts_with(|c: char| c.is_ascii_lowercase() || c == '.' || c == '/');
    if is_command && !FILLERS.contains(&first) { run_step(&plain) } else { Vec::new() }
}

fn run_step(command: &str) -> Vec<RequestedStep> {
    if command.is_empty() { Vec::new() } else { vec![RequestedStep::Run { command: command.to_owned() }] }
}

/// "FILE with TEXT", "TEXT to FILE", "FILE".
fn parse_write(rest: &str) -> Option<RequestedStep> {
    const BEFORE_TEXT: &[&str] = &[
        " with the following content",
        " with the contents",
        " with the content",
        " with the text",
        " with content",
        " with text",
        " containing",
        " that says",
        " saying",
        " with",
        "，内容为",
        "，内容是",
        "内容为",
        "内容是",
        " 内容",
        "，内容",
        "：",
    ];
    let lower = rest.to_ascii_lowercase();
    for mark in BEFORE_TEXT {
        if let Some(at) = lower.find(mark)
            && let Some(path) = parse_names(&rest[..at]).into_iter().next()
        {
            return Some(RequestedStep::Write { path, content: unquote(&rest[at + mark.len()..]) });
        }
    }
    for mark in [" into ", " to ", " in ", " as "] {
        if let Some(at) = lower.rfind(mark)
            && let [path] = parse_names(&rest[at + mark.len()..]).as_slice()
        {
            return Some(RequestedStep::Write { path: path.clone(), content: unquote(&rest[..at]) });
        }
    }
    let [path] = parse_names(rest).try_into().ok()?;
    looks_like_a_path(&path).then_some(RequestedStep::Write { path, content: String::new() })
}

/// A text without its quotes, if all of it is quoted.
fn unquote(text: &str) -> String {
    let text = text.trim().trim_start_matches([':', '：']).trim();
    match split_words(text).as_slice() {
        [ClauseWord { text: inner, quoted: true }] => inner.clone(),
        _ => text.to_owned(),
    }
}

/// "OLD with NEW in FILE", "OLD to NEW in FILE".
fn parse_replace(rest: &str) -> Option<RequestedStep> {
    let (change, path) = rest.rsplit_once(" in ")?;
    let path = parse_names(path).into_iter().next()?;
    let (old, new) = change.split_once(" with ").or_else(|| change.split_once(" to "))?;
    Some(RequestedStep::Replace { path, old: unquote(old), new: unquote(new) })
}

/// "把 TEXT 写入 FILE", "把 FILE 里的 OLD 改成 NEW", "FILE 里有什么".
fn parse_chinese_step(clause: &str) -> Option<RequestedStep> {
    let request = LEADING_WORDS.iter().find_map(|word| clause.strip_prefix(word)).unwrap_or(clause);
    for end in ["里有哪些文件", "里有什么文件", "下有哪些文件", "目录下有什么", "目录里有什么"]
    {
        if let Some(path) = request.trim_end_matches(['？', '?']).strip_suffix(end) {
            return Some(RequestedStep::List { path: parse_names(path).into_iter().next() });
        }
    }
    let rest = request.strip_prefix('把').or_else(|| request.strip_prefix('将'))?;
    for mark in ["写入到", "写入", "写到", "保存到", "写进"] {
        if let Some((text, path)) = rest.split_once(mark) {
            let path = parse_names(path).into_iter().next()?;
            return Some(RequestedStep::Write { path, content: unquote(text) });
        }
    }
    for mark in ["替换成", "替换为", "改成", "改为"] {
        if let Some((what, new)) = rest.split_once(mark) {
            let (path, old) = what.split_once("里的").or_else(|| what.split_once("中的"))?;
            return Some(RequestedStep::Replace {
                path: parse_names(path).into_iter().next()?,
                old: unquote(old),
                new: unquote(new),
            });
        }
    }
    None
}
