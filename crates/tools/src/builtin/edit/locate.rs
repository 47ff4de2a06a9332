//! Finds the position of each replacement, or explains for each one why it does not match.

use std::ops::Range;

use memchr::memchr_iter;
use memchr::memmem;

use super::{Replacement, mismatch};
use crate::file_text::{FileText, with_lf};

/// The ranges to replace with their new texts, in file order.
pub(super) fn locate_all(
    text: &FileText,
    edits: &[Replacement],
) -> Result<Vec<(Range<usize>, String)>, Vec<String>> {
    let mut found = Vec::new();
    let mut faults = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        match locate_one(text, edit) {
            Ok(range) => found.push((at, range, with_lf(&edit.new_text))),
            Err(fault) => faults.push(format!("{}{fault}", edit_prefix(at, edits.len()))),
        }
    }
    found.sort_by_key(|(_, range, _)| range.start);
    for pair in found.windows(2) {
        let [(a, first, _), (b, second, _)] = pair else { continue };
        if second.start < first.end {
            let line = line_of(&text.plain, second.start);
            faults.push(format!(
                "edits {} and {} overlap at line {line}; merge them into one edit",
                a + 1,
                b + 1
            ));
        }
    }
    match faults.is_empty() {
        true => Ok(found.into_iter().map(|(_, range, new)| (range, new)).collect()),
        false => Err(faults),
    }
}

fn edit_prefix(at: usize, of: usize) -> String {
    if of == 1 { String::new() } else { format!("edit {} of {of}: ", at + 1) }
}

fn locate_one(text: &FileText, edit: &Replacement) -> Result<Range<usize>, String> {
    let old = with_lf(&edit.old_text);
    if old.is_empty() {
        return Err("oldText is empty; give the text to replace, or use write for a whole file".to_owned());
    }
    if old == with_lf(&edit.new_text) {
        return Err("oldText and newText are identical; there is nothing to change".to_owned());
    }
    let places = occurrences(&text.plain, old.as_bytes());
    match places.as_slice() {
        [] => Err(mismatch::explain_mismatch(&text.to_string_lossy(), &old)),
        [only] => Ok(*only..only + old.len()),
        many => Err(ambiguous_text(&text.plain, many)),
    }
}

/// The offsets of `old`, including overlapping occurrences, up to a limit.
fn occurrences(text: &[u8], old: &[u8]) -> Vec<usize> {
    const ENOUGH: usize = 1000;
    let finder = memmem::Finder::new(old);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| finder.find(rest)) {
        places.push(from + at);
        from += at + 1;
        if places.len() == ENOUGH {
            break;
        }
    }
    places
}

fn ambiguous_text(text: &[u8], places: &[usize]) -> String {
    let lines: Vec<String> = places.iter().take(8).map(|at| line_of(text, *at).to_string()).collect();
    let more = if places.len() > lines.len() { ", …" } else { "" };
    format!(
        "oldText occurs {} times, at lines {}{more}; add lines before or after it until it is unique",
        places.len(),
        lines.join(", ")
    )
}

fn line_of(text: &[u8], at: usize) -> usize {
    memchr_iter(b'\n', &text[..at]).count() + 1
}
