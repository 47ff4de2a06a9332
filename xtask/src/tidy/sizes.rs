//! Checks sizes: functions are short, and a struct with many fields says why.

use super::{Finding, SourceFile};

/// Nine of ten functions have at most this many lines.
const MAX_P90_LINES: usize = 25;
const MAX_FIELDS: usize = 15;
/// The comment of a struct with more fields contains this, and the reason.
const REASON: &str = "many fields because";

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let sources: Vec<&SourceFile> = files.iter().filter(|file| is_source(&file.path)).collect();
    let mut findings: Vec<Finding> = sources.iter().flat_map(|file| large_structs(file)).collect();
    let mut lengths: Vec<usize> = sources.iter().flat_map(|file| function_lengths(code(file))).collect();
    lengths.sort_unstable();
    let p90 = lengths.get(lengths.len() * 9 / 10).copied().unwrap_or(0);
    if p90 > MAX_P90_LINES {
        let advice = format!("a tenth of all functions has more than {p90} lines; split some");
        findings.push(Finding::new("crates", 1, advice));
    }
    findings
}

fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs")
}

/// The file without its tests.
fn code(file: &SourceFile) -> Vec<&str> {
    file.text.split("#[cfg(test)]").next().unwrap_or_default().lines().collect()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines of each function, from its first line to the brace that closes it. Relies on the format of rustfmt.
fn function_lengths(lines: Vec<&str>) -> Vec<usize> {
    let is_function = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().take(5).collect();
        let before = words.iter().position(|word| *word == "fn");
        before.is_some_and(|at| {
            words[..at].iter().all(|word| word.starts_with("pub") || matches!(*word, "async" | "const"))
        })
    };
    let mut lengths = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_function(line)) {
        let is_end =
            |next: &&str| indentation(next) == indentation(line) && next.trim_start().starts_with('}');
        let is_one_line = line.trim_end().ends_with(['}', ';']);
        let length = lines[at..].iter().position(is_end).filter(|_| !is_one_line);
        lengths.push(length.map_or(1, |length| length + 1));
    }
    lengths
}

fn large_structs(file: &SourceFile) -> Vec<Finding> {
    let lines = code(file);
    let mut findings = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_struct = line.contains("struct ") && line.ends_with('{') && !line.starts_with([' ', '/']);
        let body = lines[at + 1..].iter().take_while(|line| !line.starts_with('}'));
        let is_field = |line: &&&str| indentation(line) == 4 && line.ends_with(',') && line.contains(": ");
        if !is_struct || body.filter(is_field).count() <= MAX_FIELDS || has_reason(&lines[..at]) {
            continue;
        }
        let advice =
            format!("more than {MAX_FIELDS} fields: split it, or write `It has {REASON} …` above it");
        findings.push(Finding::new(&file.path, at + 1, advice));
    }
    findings
}

/// Whether the comment right above gives the reason.
fn has_reason(above: &[&str]) -> bool {
    let is_comment = |line: &&&str| line.starts_with("//") || line.starts_with('#');
    above.iter().rev().take_while(is_comment).any(|line| line.contains(REASON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: String) -> usize {
        check(&[SourceFile { path: "crates/tree/src/a.rs".to_owned(), text }]).len()
    }

    #[test]
    fn a_struct_with_many_fields_needs_a_reason() {
        let fields = |number: usize| "    a: u8,\n".repeat(number);
        assert_eq!(findings(format!("struct A {{\n{}}}\n", fields(15))), 0);
        assert_eq!(findings(format!("struct A {{\n{}}}\n", fields(16))), 1);
        let reason = "/// It has many fields because a form has them.\n#[derive(Debug)]\n";
        assert_eq!(findings(format!("{reason}struct A {{\n{}}}\n", fields(16))), 0);
    }

    #[test]
    fn most_functions_are_short() {
        let function = |lines: usize| format!("pub fn a() {{\n{}}}\n", "    b();\n".repeat(lines));
        assert_eq!(findings(function(20).repeat(10)), 0);
        assert_eq!(findings(function(20).repeat(9) + &function(60)), 1);
        assert_eq!(findings(function(20).repeat(19) + &function(60)), 0);
    }
}
