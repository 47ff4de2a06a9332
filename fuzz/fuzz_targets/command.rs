//! Parses arbitrary text as a command line.

#![no_main]

#[path = "../../crates/tools/src/approvals/shell_syntax.rs"]
mod shell_syntax;
#[path = "../../crates/tools/src/approvals/word.rs"]
mod word;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Some(commands) = shell_syntax::parse(text) else { return };
    for words in &commands {
        assert!(!words.is_empty() && !words[0].is_empty());
        for word in words {
            assert!(text.len() >= word.len() && !word.contains(['\n', '\r', '\0']));
        }
    }
});
