//! Syntax highlighting with a lexer for what most languages share: comments, strings, numbers, common keywords, calls and types.
//!
//! It has no grammars to load, takes microseconds per line, and never changes the text.

use crate::diff::diff_line;
use crate::text::Line;
use crate::theme::ColorRole;

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "abstract", "as", "assert", "async", "await", "begin", "break", "case", "catch", "class", "const",
    "continue", "crate", "def", "default", "defer", "del", "do", "done", "elif", "else", "end", "enum",
    "esac", "except", "export", "extends", "false", "fi", "final", "finally", "fn", "for", "foreach",
    "from", "func", "function", "go", "if", "impl", "implements", "import", "in", "instanceof", "interface",
    "is", "lambda", "let", "local", "loop", "match", "mod", "mut", "namespace", "new", "nil", "none", "not",
    "null", "of", "or", "and", "override", "package", "pass", "private", "protected", "pub", "public",
    "raise", "readonly", "ref", "return", "self", "Self", "static", "struct", "super", "switch", "then",
    "this", "throw", "trait", "true", "try", "type", "typeof", "undefined", "union", "unsafe", "use",
    "using", "var", "void", "where", "while", "with", "yield", "None", "True", "False", "int", "bool",
    "string", "float", "char", "select", "SELECT", "FROM", "WHERE",
];

/// The comment syntax of a language.
struct CommentSyntax {
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    is_plain_text: bool,
}

fn comment_syntax(language: &str) -> CommentSyntax {
    let (line, block, plain): (&'static [&'static str], _, _) = match language.to_lowercase().as_str() {
        "" | "text" | "txt" | "console" | "output" | "markdown" | "md" | "diff" | "patch" => {
            (&[], None, true)
        }
        "py" | "python" | "sh" | "bash" | "zsh" | "fish" | "shell" | "rb" | "ruby" | "perl" | "r"
        | "yaml" | "yml" | "toml" | "make" | "makefile" | "dockerfile" | "ini" | "conf" | "elixir"
        | "nix" => (&["#"], None, false),
        "sql" | "lua" | "haskell" | "hs" | "elm" | "ada" => (&["--"], None, false),
        "lisp" | "clojure" | "scheme" | "asm" => (&[";"], None, false),
        "html" | "xml" | "svg" | "vue" => (&[], Some(("<!--", "-->")), false),
        "css" => (&[], Some(("/*", "*/")), false),
        "json" => (&[], None, false),
        _ => (&["//"], Some(("/*", "*/")), false),
    };
    CommentSyntax { line_comments: line, block_comment: block, is_plain_text: plain }
}

/// Highlights code. Returns one line per line of code.
pub(crate) fn highlight(code: &str, language: &str) -> Vec<Line> {
    highlight_continued(&mut false, code, language)
}

/// Highlights more of a code block, which may start inside a comment.
pub(super) fn highlight_continued(in_comment: &mut bool, code: &str, language: &str) -> Vec<Line> {
    let syntax = comment_syntax(language);
    let is_diff = matches!(language, "diff" | "patch");
    code.split('\n')
        .map(|line| match syntax.is_plain_text {
            true if is_diff => diff_line(line),
            true => Line::styled(ColorRole::Code, line),
            false => code_line(line, &syntax, in_comment),
        })
        .collect()
}

fn code_line(text: &str, syntax: &CommentSyntax, in_comment: &mut bool) -> Line {
    let mut line = Line::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (role, length) = next_token(rest, syntax, in_comment);
        let (text, remaining) = rest.split_at(length);
        line.push(role, text);
        rest = remaining;
    }
    line
}

/// The role and the length of the next token.
fn next_token(rest: &str, syntax: &CommentSyntax, in_comment: &mut bool) -> (ColorRole, usize) {
    if let Some((open, close)) = syntax.block_comment
        && (*in_comment || rest.starts_with(open))
    {
        let from = if *in_comment { 0 } else { open.len() };
        return match rest[from..].find(close) {
            Some(end) => {
                *in_comment = false;
                (ColorRole::Comment, from + end + close.len())
            }
            None => {
                *in_comment = true;
                (ColorRole::Comment, rest.len())
            }
        };
    }
    if syntax.line_comments.iter().any(|mark| rest.starts_with(mark)) {
        return (ColorRole::Comment, rest.len());
    }
    let is_word = |ch: char| ch.is_alphanumeric() || ch == '_';
    match rest.chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => string_token(rest, quote),
        Some(first) if first.is_ascii_digit() => {
            (ColorRole::Literal, rest.find(|ch: char| !is_word(ch) && ch != '.').unwrap_or(rest.len()))
        }
        Some(first) if is_word(first) => {
            let end = rest.find(|ch| !is_word(ch)).unwrap_or(rest.len());
            (word_role(&rest[..end], &rest[end..]), end)
        }
        _ => {
            let starts =
                |ch: char| is_word(ch) || matches!(ch, '"' | '\'' | '`' | '/' | '#' | '-' | ';' | '<');
            let first = rest.chars().next().map_or(1, char::len_utf8);
            (ColorRole::Text, rest[first..].find(starts).map_or(rest.len(), |at| at + first))
        }
    }
}

/// The role of a word, by its letters and by what follows it.
fn word_role(word: &str, after: &str) -> ColorRole {
    let mut letters = word.chars();
    match (letters.next(), letters.next()) {
        // `Path::new(…)` of Rust; other languages write a class after the keyword.
        _ if KEYWORDS.contains(&word) && !(word == "new" && after.starts_with('(')) => ColorRole::Keyword,
        _ if after.starts_with('(') || after.starts_with("!(") => ColorRole::Function,
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => ColorRole::Type,
        _ => ColorRole::Text,
    }
}

/// A string literal. A quote without a closing one is plain text.
fn string_token(rest: &str, quote: char) -> (ColorRole, usize) {
    let mut escaped = false;
    for (at, ch) in rest.char_indices().skip(1) {
        match ch {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if ch == quote => return (ColorRole::Literal, at + ch.len_utf8()),
            _ => {}
        }
    }
    (ColorRole::Text, quote.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(code: &str, language: &str) -> Vec<String> {
        highlight(code, language).iter().map(Line::to_markup).collect()
    }

    #[test]
    fn comments_strings_numbers_and_keywords_are_highlighted() {
        assert_eq!(
            marked("let x = \"a \\\" b\"; // 1\nfn f() -> &'a str { 42u8 }", "rust"),
            [
                "{keyword|let} x = {literal|\"a \\\" b\"}; {comment|// 1}",
                "{keyword|fn} {function|f}() -> &'a str { {literal|42u8} }"
            ]
        );
        assert_eq!(marked("Some(Path::new(x))", "rust"), ["{function|Some}({type|Path}::{function|new}(x))"]);
        assert_eq!(marked("x = 'y' # no", "python"), ["x = {literal|'y'} {comment|# no}"]);
        assert_eq!(marked("a /* b\nc */ d", "c"), ["a {comment|/* b}", "{comment|c */} d"]);
        assert_eq!(marked("+a\n-b\n c", "diff"), ["{added|+a}", "{removed|-b}", "{dim| c}"]);
    }

    #[test]
    fn highlighting_keeps_the_text() {
        let code = "é'\"`//*/<!--#--;\\ 1.5e3_x 'unclosed";
        for language in ["rust", "python", "sql", "html", "json", "css", "lisp", "text", "diff", "?"] {
            assert_eq!(highlight(code, language)[0].plain(), code, "{language}");
        }
    }
}
