//! What the lexer needs to know about a language.

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "FROM", "False", "INSERT", "INTO", "None", "SELECT", "Self", "True", "VALUES", "WHERE", "abstract", "and",
    "as", "assert", "async", "await", "begin", "bool", "break", "case", "catch", "char", "class", "const",
    "continue", "crate", "def", "default", "defer", "del", "do", "done", "dyn", "elif", "else", "end", "enum",
    "esac", "except", "export", "extends", "false", "fi", "final", "finally", "float", "fn", "for", "foreach",
    "from", "func", "function", "go", "if", "impl", "implements", "import", "in", "instanceof", "int",
    "interface", "is", "lambda", "let", "local", "loop", "match", "mod", "mut", "namespace", "new", "nil",
    "none", "not", "null", "of", "or", "override", "package", "pass", "private", "protected", "pub", "public",
    "raise", "readonly", "ref", "return", "select", "self", "static", "string", "struct", "super", "switch",
    "then", "this", "throw", "trait", "true", "try", "type", "typeof", "undefined", "union", "unsafe", "use",
    "using", "var", "void", "where", "while", "with", "yield",
];

/// In most languages; exact case.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.binary_search(&word).is_ok()
}

/// What single quotes enclose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    Strings,
    Characters,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Language {
    pub(super) line_comments: &'static [&'static str],
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// The quotes of strings that may span several lines.
    pub(super) block_quotes: &'static [&'static str],
    pub(super) quotes: Quotes,
    pub(super) has_types: bool,
    /// `key: value` or `key = value`.
    pub(super) has_keys: bool,
    pub(super) is_shell: bool,
    pub(super) is_markup: bool,
    pub(super) is_plain: bool,
}

/// Like C, which most languages follow.
const C_LIKE: Language = Language {
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    block_quotes: &[],
    quotes: Quotes::Strings,
    has_types: true,
    has_keys: false,
    is_shell: false,
    is_markup: false,
    is_plain: false,
};

const DATA: Language = Language { block_comment: None, has_types: false, has_keys: true, ..C_LIKE };

impl Language {
    pub(super) fn find(name: &str) -> Language {
        let name = name.split([',', ' ', '{']).next().unwrap_or_default().to_lowercase();
        let hash = Language { line_comments: &["#"], block_comment: None, ..C_LIKE };
        let lisp = Language { line_comments: &[";"], block_comment: None, ..C_LIKE };
        match name.as_str() {
            "" | "text" | "txt" | "console" | "output" | "markdown" | "md" | "log" | "csv" => {
                Language { is_plain: true, ..C_LIKE }
            }
            "py" | "python" => Language { block_quotes: &["\"\"\"", "'''"], ..hash },
            "sh" | "bash" | "zsh" | "fish" | "shell" | "dockerfile" | "makefile" | "make" => {
                Language { has_types: false, is_shell: true, ..hash }
            }
            "rb" | "ruby" | "perl" | "pl" | "r" | "elixir" | "ex" | "nix" | "jl" => hash,
            "yaml" | "yml" | "toml" | "ini" | "conf" | "cfg" | "properties" => {
                Language { line_comments: &["#"], ..DATA }
            }
            "json" | "jsonl" | "jsonc" => DATA,
            "css" | "scss" | "less" => Language { block_comment: Some(("/*", "*/")), ..DATA },
            "sql" | "lua" | "haskell" | "hs" | "elm" | "ada" => {
                Language { line_comments: &["--"], block_comment: None, ..C_LIKE }
            }
            "lisp" | "clojure" | "clj" | "scheme" | "el" | "asm" => lisp,
            "html" | "xml" | "svg" | "vue" | "svelte" => Language {
                line_comments: &[],
                block_comment: Some(("<!--", "-->")),
                has_types: false,
                is_markup: true,
                ..C_LIKE
            },
            "js" | "jsx" | "ts" | "tsx" | "javascript" | "typescript" | "mjs" | "go" => {
                Language { block_quotes: &["`"], ..C_LIKE }
            }
            "rs" | "rust" | "c" | "h" | "cpp" | "cc" | "hpp" | "java" | "kt" | "swift" | "cs" | "zig" => {
                Language { quotes: Quotes::Characters, ..C_LIKE }
            }
            _ => C_LIKE,
        }
    }

    /// A `#` or `--` inside a word does not start a comment.
    pub(super) fn starts_line_comment(&self, rest: &str, at: usize, line: &str) -> bool {
        let is_start =
            line[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == ';');
        let is_symbol = |mark: &str| mark == "//" || is_start;
        self.line_comments.iter().any(|mark| rest.starts_with(mark) && is_symbol(mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
    }
}
