//! Checks that the tree crate is pure: no files, sockets, clock, async runtime or printing. It looks for
//! words in code outside comments, so it catches mistakes but proves nothing.

use super::{Finding, SourceFile};

/// Forbidden words, and forbidden modules of `std`, including in a braced `use`.
const WORDS: &[&str] = &["SystemTime", "Instant", "tokio", "println", "eprintln", "print", "eprint"];
const STD_MODULES: &[&str] = &["fs", "net"];

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    if !file.path.starts_with("crates/tree/src/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for name in forbidden(code) {
            let advice = format!(
                "`{name}` in the tree crate, which does no I/O and reads no clock; let the caller pass the value"
            );
            findings.push(Finding::new(&file.path, at + 1, advice));
        }
    }
    findings
}

fn forbidden(code: &str) -> Vec<String> {
    let mut found: Vec<String> = words(code).filter_map(|(at, word)| bad_word(code, at, word)).collect();
    if let Some(list) = code.split_once("std::{").map(|(_, list)| list) {
        let modules = words(list).map(|(_, word)| word).filter(|word| STD_MODULES.contains(word));
        found.extend(modules.map(|module| format!("std::{module}")));
    }
    found
}

fn bad_word(code: &str, at: usize, word: &str) -> Option<String> {
    if STD_MODULES.contains(&word) && code[..at].ends_with("std::") {
        return Some(format!("std::{word}"));
    }
    let is_macro = code[at + word.len()..].starts_with('!');
    let printing = word.contains("print");
    (WORDS.contains(&word) && printing == is_macro).then(|| word.to_owned())
}

fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    code.split(move |c: char| !inside(c)).filter_map(move |word| {
        let start = at;
        at = start + word.len() + code[start + word.len()..].chars().next().map_or(0, char::len_utf8);
        (!word.is_empty()).then_some((start, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<String> {
        let file =
            SourceFile { path: "crates/tree/src/fold.rs".to_owned(), text: format!("//! x\n{code}\n") };
        check(&file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn io_clock_and_printing_are_reported() {
        for code in [
            "use std::fs;",
            "use std::{fmt, fs};",
            "let a = std::net::TcpStream::connect(x);",
            "use std::time::{Duration, Instant};",
            "let t = std::time::SystemTime::now();",
            "use tokio::sync::mpsc;",
            "println!(\"ä {x}\");",
        ] {
            assert_eq!(found(code).len(), 1, "{code}");
        }
        assert!(found("use std::fs;")[0].starts_with("crates/tree/src/fold.rs:2: `std::fs`"));
    }

    #[test]
    fn similar_words_are_allowed() {
        for code in
            ["let fs = 1;", "// println!(\"x\")", "fn instant() {}", "self.print(out)", "use std::{fmt, io};"]
        {
            assert!(found(code).is_empty(), "{code}");
        }
    }

    #[test]
    fn other_crates_are_not_checked() {
        let file =
            SourceFile { path: "crates/store/src/file.rs".to_owned(), text: "use std::fs;".to_owned() };
        assert!(check(&file).is_empty());
    }
}
