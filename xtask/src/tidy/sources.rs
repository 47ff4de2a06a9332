//! Rules for single files: module documentation, length, module names, machine-specific paths.

use super::{Finding, SourceFile};

/// Names that attract unrelated code.
const VAGUE_NAMES: &[&str] = &["core", "common", "utils", "helpers", "manager"];
const MAX_LINES: usize = 600;

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = check_machine_paths(file);
    if file.path.ends_with(".rs") {
        findings.extend(check_module_docs(file));
        findings.extend(check_length(file));
        findings.extend(check_path_name(file));
        findings.extend(check_module_names(file));
    }
    findings
}

fn check_module_docs(file: &SourceFile) -> Option<Finding> {
    let first = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    (!first.starts_with("//!")).then(|| {
        Finding::new(&file.path, 1, "start with one to five `//!` lines that say what the file is for")
    })
}

fn check_length(file: &SourceFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    (lines > MAX_LINES).then(|| {
        Finding::warning(&file.path, MAX_LINES, format!("{lines} lines; split it by responsibility"))
    })
}

fn check_path_name(file: &SourceFile) -> Option<Finding> {
    let parts = file.path.trim_end_matches(".rs").split('/');
    let name = parts.into_iter().find(|part| VAGUE_NAMES.contains(part))?;
    Some(Finding::new(&file.path, 1, format!("`{name}` is too vague; name the module after its content")))
}

fn check_module_names(file: &SourceFile) -> Vec<Finding> {
    let declared = |line: &str| -> Option<String> {
        let mut words =
            line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        let starts = line.trim_start();
        if !(starts.starts_with("mod ") || starts.starts_with("pub")) {
            return None;
        }
        words.find(|word| *word == "mod")?;
        words.next().map(str::to_owned)
    };
    let named = |(at, line): (usize, &str)| {
        let name = declared(line).filter(|name| VAGUE_NAMES.contains(&name.as_str()))?;
        Some(Finding::new(
            &file.path,
            at + 1,
            format!("`mod {name}` is too vague; name it after its content"),
        ))
    };
    file.text.lines().enumerate().filter_map(named).collect()
}

/// The patterns are assembled here, so that this file does not contain them.
fn check_machine_paths(file: &SourceFile) -> Vec<Finding> {
    let needles = ["work", "root"].map(|folder| format!("/{folder}/"));
    let mut findings = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        if let Some(needle) = needles.iter().find(|needle| is_absolute_in(line, needle)) {
            findings.push(Finding::new(
                &file.path,
                at + 1,
                format!("`{needle}` is a machine-specific path; use a relative path"),
            ));
        }
    }
    findings
}

/// Whether the path starts there and is not the middle of a longer path.
fn is_absolute_in(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~*}>".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&SourceFile { path: path.to_owned(), text: text.to_owned() })
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn source_file_needs_module_documentation() {
        assert!(findings("crates/tree/src/fold.rs", "//! Folds.\n").is_empty());
        assert!(findings("crates/tree/src/fold.rs", "use std::fmt;\n")[0].contains(":1: start with"));
        assert!(findings("README.md", "Osier\n").is_empty());
    }

    #[test]
    fn long_file_is_a_warning() {
        let text = "//! Long.\n".to_owned() + &"//\n".repeat(MAX_LINES);
        assert_eq!(findings("a.rs", &text), ["a.rs:600: warning: 601 lines; split it by responsibility"]);
    }

    #[test]
    fn vague_module_names_are_reported() {
        assert_eq!(findings("crates/tree/src/utils.rs", "//! x\n").len(), 1);
        assert_eq!(findings("crates/tree/tests/common/mod.rs", "//! x\n").len(), 1);
        assert_eq!(findings("a.rs", "//! x\npub(crate) mod helpers {}\nmod common;\n").len(), 2);
        assert!(findings("a.rs", "//! x\nmod command;\n// the mod common is absent\n").is_empty());
    }

    #[test]
    fn machine_specific_paths_are_reported() {
        let path = ["", "work", "shared", "x"].join("/");
        assert_eq!(findings("notes.md", &format!("see `{path}`")).len(), 1);
        assert!(findings("notes.md", &format!("see /home/dev{path}")).is_empty());
    }
}
