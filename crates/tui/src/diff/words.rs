//! Finds the words that changed between a removed line and the added line that replaces it.

use similar::{Algorithm, DiffTag, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

use super::hunk::{DiffRow, RowKind};

/// Longer lines are shown without changed words.
const MAX_LINE_BYTES: usize = 1000;
/// Rows after these are shown without changed words, so that a long diff is cheap to draw.
const MAX_MARKED_ROWS: usize = 1000;
/// If fewer words than one in this many stayed, the whole line is new.
const MIN_KEPT_PART: usize = 3;

/// The parts of each row's text, with whether they changed.
pub(super) fn changed_words<'a>(rows: &[DiffRow<'a>]) -> Vec<Vec<(bool, &'a str)>> {
    let mut words: Vec<Vec<(bool, &str)>> = rows.iter().map(|row| vec![(false, row.text)]).collect();
    let mut at = 0;
    while at < rows.len().min(MAX_MARKED_ROWS) {
        let run = |from: usize, kind| rows[from..].iter().take_while(|row| row.kind == kind).count();
        let removed = run(at, RowKind::Removed);
        let added = run(at + removed, RowKind::Added);
        for pair in 0..removed.min(added) {
            let (old, new) = (at + pair, at + removed + pair);
            if let Some((before, after)) = compare_words(rows[old].text, rows[new].text) {
                (words[old], words[new]) = (before, after);
            }
        }
        at += (removed + added).max(1);
    }
    words
}

type Parts<'a> = Vec<(bool, &'a str)>;

/// The parts of two lines; `None` if they have too little in common.
fn compare_words<'a>(old: &'a str, new: &'a str) -> Option<(Parts<'a>, Parts<'a>)> {
    if old.len().max(new.len()) > MAX_LINE_BYTES {
        return None;
    }
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_word_bounds().collect(), new.split_word_bounds().collect());
    let (mut old_parts, mut new_parts) = (Vec::new(), Vec::new());
    let mut kept = 0;
    for op in capture_diff_slices(Algorithm::Myers, &before, &after) {
        let is_changed = op.tag() != DiffTag::Equal;
        let text = |words: &[&str], range: std::ops::Range<usize>| {
            words[range].iter().map(|word| word.len()).sum::<usize>()
        };
        if !is_changed {
            kept += before[op.old_range()].iter().filter(|word| !word.trim().is_empty()).count();
        }
        old_parts.push((is_changed, text(&before, op.old_range())));
        new_parts.push((is_changed, text(&after, op.new_range())));
    }
    let words = |words: &[&str]| words.iter().filter(|word| !word.trim().is_empty()).count();
    if kept * MIN_KEPT_PART < words(&before).max(words(&after)) {
        return None;
    }
    Some((split_at_lengths(old, &old_parts), split_at_lengths(new, &new_parts)))
}

/// Splits a text into parts of these lengths.
fn split_at_lengths<'a>(text: &'a str, lengths: &[(bool, usize)]) -> Parts<'a> {
    let mut rest = text;
    let mut parts = Vec::new();
    for (is_changed, length) in lengths {
        let (part, after) = rest.split_at(*length);
        parts.push((*is_changed, part));
        rest = after;
    }
    parts
}
