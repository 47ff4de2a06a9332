//! Names: a type name means one thing, and declarations use the words of the field.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, SourceFile};

/// A type name may exist in this many crates.
const MAX_CRATES: usize = 2;

/// Words that named things by metaphor, and what to write instead.
const METAPHORS: &[(&str, &str)] = &[
    ("told", "error chain, message or event"),
    ("teller", "sender"),
    ("desk", "factory, loop or harness"),
    ("errand", "task or one-shot run"),
    ("errands", "tasks"),
    ("heard", "result or event"),
    ("shelf", "store"),
    ("spot", "reference"),
    ("forest", "tree snapshot"),
    ("workplace", "context"),
    ("patience", "timeout"),
    ("patiently", "retry"),
    ("glance", "list timeout"),
    ("lent", "pooled connection"),
    ("veil", "redact"),
    ("heir", "watchdog"),
    ("remark", "notice"),
    ("deed", "action"),
    ("obey", "apply"),
    ("complain", "show error"),
];

/// The keywords whose next word is a declared name.
const DECLARATIONS: &[&str] = &["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "let"];
const TYPES: &[&str] = &["struct", "enum", "trait", "type"];

pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        for (number, line) in file.text.lines().enumerate() {
            let Some((keyword, name)) = declaration(line) else { continue };
            findings.extend(metaphor(name).map(|advice| Finding::new(&file.path, number + 1, advice)));
            // An associated type is indented and belongs to its trait.
            if TYPES.contains(&keyword) && (keyword != "type" || !line.starts_with(' ')) {
                types.entry(name).or_default().insert(crate_name(&file.path));
            }
        }
    }
    findings.extend(types.iter().filter(|(_, crates)| crates.len() > MAX_CRATES).map(|(name, crates)| {
        let crates: Vec<&str> = crates.iter().copied().collect();
        let advice = format!("`{name}` is a type in {}; qualify the name", crates.join(", "));
        Finding::new("crates", 1, advice)
    }));
    findings
}

/// The keyword and the name that a line declares.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let code = line.trim_start();
    if code.starts_with("//") {
        return None;
    }
    let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let modifiers = ["pub", "crate", "super", "in", "self", "async", "unsafe", "default"];
    let keyword = words.find(|word| !modifiers.contains(word)).filter(|word| DECLARATIONS.contains(word))?;
    let name = words.find(|word| !["mut", "fn"].contains(word))?;
    Some((keyword, name))
}

fn metaphor(name: &str) -> Option<String> {
    let words = name_words(name);
    let (word, instead) = METAPHORS.iter().find(|(word, _)| words.iter().any(|part| part == word))?;
    Some(format!("`{name}` says `{word}`; name what it is, such as {instead}"))
}

/// The words of a name in snake_case or CamelCase, in lowercase.
fn name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words
}

fn crate_name(path: &str) -> &str {
    path.strip_prefix("crates/").unwrap_or(path).split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let file =
            |(path, text): &(&str, &str)| SourceFile { path: (*path).to_owned(), text: (*text).to_owned() };
        check(&files.iter().map(file).collect::<Vec<_>>()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn metaphor_in_a_declared_name_is_reported() {
        let found =
            findings(&[("crates/a/src/x.rs", "//! x\npub(crate) fn is_told() {}\n    let mut desk = 1;\n")]);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("crates/a/src/x.rs:2: `is_told` says `told`"), "{found:?}");
        assert!(findings(&[("a.rs", "fn folded() {}\n// fn told() {}\nstruct Toldo;\n")]).is_empty());
    }

    #[test]
    fn type_name_in_three_crates_is_reported() {
        let declared = |name: &'static str| (name, "pub struct Choice;\n");
        let two = [declared("crates/a/src/x.rs"), declared("crates/b/src/x.rs")];
        assert!(findings(&two).is_empty());
        let three = [two[0], two[1], declared("crates/c/tests/x.rs")];
        assert_eq!(findings(&three), ["crates:1: `Choice` is a type in a, b, c; qualify the name"]);
    }
}
