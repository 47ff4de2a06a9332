//! Languages by the names that people write after a fence, and by the names of files.

use std::sync::LazyLock;

use syntect::parsing::{SyntaxReference, SyntaxSet};

/// The grammars. The first use unpacks them, in a few milliseconds.
pub(crate) static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Names that need no grammar: to look them up would load all.
const PLAIN: &[&str] = &["", "text", "txt", "plain", "plaintext", "console", "output", "log", "ansi", "csv"];

/// Names that people use and the grammars do not have.
const ALIASES: &[(&str, &str)] = &[
    ("c#", "cs"),
    ("csharp", "cs"),
    ("docker", "dockerfile"),
    ("golang", "go"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("json5", "json"),
    ("node", "js"),
    ("objc", "m"),
    ("python3", "py"),
    ("py3", "py"),
    ("shell", "bash"),
    ("shell-session", "bash"),
    ("zsh", "bash"),
    ("vim", "viml"),
];

/// A language with a grammar.
#[derive(Debug, Clone, Copy)]
pub struct Language(pub(crate) &'static SyntaxReference);

impl Language {
    /// Finds a language by the words after an opening fence, such as `rust` or `js,ignore`.
    pub fn from_name(name: &str) -> Option<Language> {
        let name = first_word(name);
        if PLAIN.contains(&name.as_str()) {
            return None;
        }
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| *name);
        GRAMMARS.find_syntax_by_token(alias).map(Language)
    }

    /// Whether a name says that the text is not code. Loads nothing.
    pub fn is_plain_text(name: &str) -> bool {
        PLAIN.contains(&first_word(name).as_str())
    }

    /// The name of the language of a file, for [`Language::from_name`]: its extension, or its whole name.
    pub fn name_of_file(path: &str) -> &str {
        let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
        file.rsplit_once('.').map_or(file, |(_, extension)| extension)
    }
}

fn first_word(name: &str) -> String {
    name.split([',', ' ', '{', ':']).next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> String {
        Language::from_name(name).map(|language| language.0.name.clone()).unwrap_or_default()
    }

    #[test]
    fn languages_have_the_names_that_people_write() {
        let names = [
            ("rust", "Rust"),
            ("rs", "Rust"),
            ("js,ignore", "JavaScript"),
            ("tsx", "TypeScriptReact"),
            ("ts", "TypeScript"),
            ("Python", "Python"),
            ("c++", "C++"),
            ("csharp", "C#"),
            ("shell", "Bourne Again Shell (bash)"),
            ("toml", "TOML"),
            ("yaml", "YAML"),
            ("jsonl", "JSON"),
            ("kotlin", "Kotlin"),
            ("swift", "Swift"),
            ("zig", "Zig"),
            ("elixir", "Elixir"),
            ("vue", "Vue Component"),
        ];
        for (name, expected) in names {
            assert_eq!(found(name), expected, "{name}");
        }
        for alias in ALIASES {
            assert_ne!(found(alias.0), "", "{}", alias.0);
        }
    }

    #[test]
    fn text_and_unknown_languages_are_plain() {
        for name in PLAIN.iter().chain(&["no-such-language", "🙂"]) {
            assert_eq!(found(name), "", "{name}");
        }
    }

    #[test]
    fn the_name_of_a_file_tells_its_language() {
        assert_eq!(Language::name_of_file("src/main.rs"), "rs");
        assert_eq!(found(Language::name_of_file("a/Dockerfile")), "Dockerfile");
        assert_eq!(found(Language::name_of_file("Makefile")), "Makefile");
        assert_eq!(found(Language::name_of_file("notes")), "");
    }
}
