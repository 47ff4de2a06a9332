//! If a text is not in a file: finds the most similar place and describes the difference.

use similar::TextDiff;

/// The most lines to compare, because measuring similarity is slow.
const MEASURED_LINES: usize = 2000;

/// Explains why `old` is not in `text`.
pub(super) fn explain_mismatch(text: &str, old: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.trim_matches('\n').lines().collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return "oldText is only whitespace and does not match; include lines with text".to_owned();
    }
    if let Some(at) = find_ignoring_whitespace(&lines, &wanted) {
        return describe_whitespace(&lines, &wanted, at);
    }
    match closest_match(&lines, &wanted) {
        Some(at) => describe_difference(&lines, &wanted, at),
        None => "oldText is not in the file, and nothing similar is; read the file again".to_owned(),
    }
}

fn collapse_whitespace(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The index of the line where all wanted lines match if whitespace is ignored.
fn find_ignoring_whitespace(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| collapse_whitespace(line)).collect();
    let lines: Vec<String> = lines.iter().map(|line| collapse_whitespace(line)).collect();
    // The first and the last line may be parts of longer lines.
    let fits = |at: usize| {
        let (last, whole) = (wanted.len() - 1, &lines[at..at + wanted.len()]);
        wanted.iter().zip(whole).enumerate().all(|(n, (wanted, line))| match (n == 0, n == last) {
            (true, true) => line.contains(wanted.as_str()),
            (true, false) => line.ends_with(wanted.as_str()),
            (false, true) => line.starts_with(wanted.as_str()),
            (false, false) => line == wanted,
        })
    };
    (0..=lines.len().checked_sub(wanted.len())?).find(|at| fits(*at))
}

fn describe_whitespace(lines: &[&str], wanted: &[&str], at: usize) -> String {
    let pairs = wanted.iter().zip(&lines[at..]).enumerate();
    let differing =
        pairs.map(|(n, (wanted, line))| (n, *wanted, *line)).find(|(_, wanted, line)| wanted != line);
    let Some((n, wanted, line)) = differing else {
        return format!("oldText matches at line {} except for empty lines before or after it", at + 1);
    };
    let what = match (leading(wanted), leading(line)) {
        (a, b) if a != b && (a.contains('\t') != b.contains('\t')) => "tabs and spaces differ",
        (a, b) if a != b => "the indentation differs",
        _ if wanted.trim_end() == line.trim_end() => "the trailing whitespace differs",
        _ => "the whitespace between words differs",
    };
    format!(
        "oldText matches at line {} except for whitespace: {what}\n  file:    {}\n  oldText: {}",
        at + 1 + n,
        with_visible_whitespace(line),
        with_visible_whitespace(wanted)
    )
}

fn leading(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// A line with visible whitespace.
fn with_visible_whitespace(line: &str) -> String {
    let blank = leading(line).len();
    let trailing = line.trim_end().len().max(blank);
    let mark = |part: &str| part.replace('\t', "→").replace(' ', "·").replace('\u{a0}', "⍽");
    let middle = line[blank..trailing].replace('\t', "→").replace('\u{a0}', "⍽");
    shorten(&format!("{}{middle}{}", mark(&line[..blank]), mark(&line[trailing..])))
}

fn shorten(line: &str) -> String {
    const LONG: usize = 160;
    match line.char_indices().nth(LONG) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// The index of the line where the closest match starts: based on the longest wanted line that occurs exactly, otherwise on
/// the line most similar to the longest wanted line.
fn closest_match(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut anchors: Vec<(usize, &str)> = wanted.iter().map(|line| line.trim()).enumerate().collect();
    anchors.sort_by_key(|(_, anchor)| std::cmp::Reverse(anchor.len()));
    let significant = anchors.iter().filter(|(_, anchor)| anchor.len() > 3);
    let mut exact = significant.filter_map(|(offset, anchor)| {
        lines.iter().position(|line| line.trim() == *anchor).map(|at| at.saturating_sub(*offset))
    });
    exact
        .next()
        .or_else(|| anchors.first().and_then(|(offset, anchor)| most_similar_line(lines, anchor, *offset)))
}

fn most_similar_line(lines: &[&str], anchor: &str, offset: usize) -> Option<usize> {
    let near =
        |line: &str| line.len() * 2 >= anchor.len() && line.len() <= anchor.len() * 2 && line.len() < 2000;
    let anchor_words: Vec<&str> = words(anchor).collect();
    let alike = |line: &str| near(line) && words(line).any(|word| anchor_words.contains(&word));
    let candidates = lines.iter().enumerate().filter(|(_, line)| alike(line)).take(MEASURED_LINES);
    let scored = candidates.map(|(at, line)| (TextDiff::from_chars(anchor, line.trim()).ratio(), at));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    (best.0 >= 0.6).then(|| best.1.saturating_sub(offset))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() > 2)
}

fn describe_difference(lines: &[&str], wanted: &[&str], at: usize) -> String {
    let last = wanted.len() - 1;
    // The first and the last line may be parts of longer lines.
    let fits = |n: usize, wanted: &str, line: &str| {
        let end_of_line = n == 0 && last > 0 && line.ends_with(wanted);
        let start_of_line = n == last && last > 0 && line.starts_with(wanted);
        line == wanted || end_of_line || start_of_line
    };
    let mut pairs = wanted.iter().enumerate().map(|(n, wanted)| (n, *wanted, lines.get(at + n).copied()));
    let differing = pairs.find(|(n, wanted, line)| !line.is_some_and(|line| fits(*n, wanted, line)));
    let Some((n, wanted, line)) = differing else {
        return "oldText is not in the file; read it again".to_owned();
    };
    let Some(line) = line else {
        return format!("oldText continues past the last line of the file ({})", lines.len());
    };
    let sign = lookalike_note(wanted, line).unwrap_or_default();
    format!(
        "oldText is not in the file; the closest match differs at line {}{sign}\n  file:    {}\n  oldText: {}",
        at + n + 1,
        with_visible_whitespace(line),
        with_visible_whitespace(wanted)
    )
}

/// Names the first different characters if one is not ASCII, because `'` and `’` look alike.
fn lookalike_note(wanted: &str, line: &str) -> Option<String> {
    let (ours, theirs) = wanted.trim_start().chars().zip(line.trim_start().chars()).find(|(a, b)| a != b)?;
    let name = |c: char| format!("{} (U+{:04X})", if c.is_control() { ' ' } else { c }, c as u32);
    let strange = !ours.is_ascii() || !theirs.is_ascii();
    strange.then(|| format!(": {} in the file, {} in oldText", name(theirs), name(ours)))
}
