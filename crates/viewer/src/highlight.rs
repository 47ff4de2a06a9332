//! Syntax highlighting with a lexer for what most languages share: comments, strings, numbers, keywords, names of types and
//! functions.
//!
//! It has no grammars to load, never backtracks, and never changes the text. So hostile code costs no more than other code.

mod language;

use language::{Language, Quotes};

/// What a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenClass {
    Plain,
    Comment,
    Literal,
    Number,
    Keyword,
    Type,
    Function,
    /// The name of a field, of an attribute or of a variable in a shell.
    Property,
}

impl TokenClass {
    /// The CSS class; empty for plain text.
    pub fn css(self) -> &'static str {
        match self {
            TokenClass::Plain => "",
            TokenClass::Comment => "t-comment",
            TokenClass::Literal => "t-literal",
            TokenClass::Number => "t-number",
            TokenClass::Keyword => "t-keyword",
            TokenClass::Type => "t-type",
            TokenClass::Function => "t-function",
            TokenClass::Property => "t-property",
        }
    }
}

/// Splits code into tokens, line by line. Comments and strings may span several lines.
#[derive(Debug, Clone)]
pub struct Highlighter {
    language: Language,
    /// What ends the comment or the string that the next line starts in.
    open: Option<(TokenClass, &'static str)>,
}

impl Highlighter {
    /// `language` is the name after the opening fence, or the extension of a file.
    pub fn new(language: &str) -> Highlighter {
        Highlighter { language: Language::find(language), open: None }
    }

    /// Calls `emit` with the tokens of a line, which together are the line.
    pub fn line<'t>(&mut self, line: &'t str, mut emit: impl FnMut(TokenClass, &'t str)) {
        let mut rest = line;
        while !rest.is_empty() {
            let (class, length) = self.next_token(rest, line.len() - rest.len(), line);
            let (token, remaining) = rest.split_at(length);
            emit(class, token);
            rest = remaining;
        }
    }

    fn next_token(&mut self, rest: &str, at: usize, line: &str) -> (TokenClass, usize) {
        if let Some((class, end)) = self.open {
            return self.until(class, rest, 0, end);
        }
        if self.language.is_plain {
            return (TokenClass::Plain, rest.len());
        }
        if let Some((open, close)) = self.language.block_comment
            && rest.starts_with(open)
        {
            return self.until(TokenClass::Comment, rest, open.len(), close);
        }
        if self.language.starts_line_comment(rest, at, line) {
            return (TokenClass::Comment, rest.len());
        }
        for quote in self.language.block_quotes {
            if rest.starts_with(quote) {
                return self.until(TokenClass::Literal, rest, quote.len(), quote);
            }
        }
        let first = rest.chars().next().unwrap_or(' ');
        match first {
            '"' | '\'' | '`' => self.string(rest, first),
            '0'..='9' => (TokenClass::Number, number_length(rest)),
            _ if is_word(first) => self.word(rest),
            '$' if self.language.is_shell => shell_variable(rest),
            '<' if self.language.is_markup => markup_tag(rest),
            _ => (TokenClass::Plain, plain_length(rest, first)),
        }
    }

    /// A token that goes on until `end`, perhaps in a later line.
    fn until(
        &mut self,
        class: TokenClass,
        rest: &str,
        from: usize,
        end: &'static str,
    ) -> (TokenClass, usize) {
        match rest[from..].find(end) {
            Some(found) => {
                self.open = None;
                (class, from + found + end.len())
            }
            None => {
                self.open = Some((class, end));
                (class, rest.len())
            }
        }
    }

    /// A string in one line. A quote without a closing one is plain text.
    fn string(&self, rest: &str, quote: char) -> (TokenClass, usize) {
        let most = match (quote, self.language.quotes) {
            // A lifetime looks like an open quote, so only short texts are character literals.
            ('\'', Quotes::Characters) if rest.starts_with("'\\") => 12,
            ('\'', Quotes::Characters) => 4,
            _ => rest.len(),
        };
        let mut escaped = false;
        for (at, ch) in rest.char_indices().skip(1).take_while(|(at, _)| *at <= most) {
            match ch {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if ch == quote => {
                    let length = at + ch.len_utf8();
                    let is_key = self.language.has_keys && rest[length..].trim_start().starts_with(':');
                    return (if is_key { TokenClass::Property } else { TokenClass::Literal }, length);
                }
                _ => {}
            }
        }
        (TokenClass::Plain, quote.len_utf8())
    }

    fn word(&self, rest: &str) -> (TokenClass, usize) {
        let end = rest.find(|ch| !is_word(ch)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let next = behind.trim_start();
        let class = match () {
            () if self.language.has_keys && (next.starts_with(':') || next.starts_with('=')) => {
                TokenClass::Property
            }
            () if language::is_keyword(word) => TokenClass::Keyword,
            () if behind.starts_with('(') || behind.starts_with("!(") => TokenClass::Function,
            () if self.language.has_types && is_type_name(word) => TokenClass::Type,
            () => TokenClass::Plain,
        };
        (class, end)
    }
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

fn is_type_name(word: &str) -> bool {
    word.starts_with(|ch: char| ch.is_uppercase()) && word.contains(|ch: char| ch.is_lowercase())
}

fn number_length(rest: &str) -> usize {
    let end = rest.find(|ch: char| !is_word(ch) && ch != '.').unwrap_or(rest.len());
    // In `0..10` the dots are not part of the number.
    rest[..end].find("..").unwrap_or(end).max(1)
}

fn shell_variable(rest: &str) -> (TokenClass, usize) {
    let name = rest[1..].strip_prefix('{').map_or(1, |_| 2);
    let end = rest[name..].find(|ch| !is_word(ch)).map_or(rest.len(), |end| name + end);
    let closing = usize::from(name == 2 && rest[end..].starts_with('}'));
    (TokenClass::Property, end + closing)
}

fn markup_tag(rest: &str) -> (TokenClass, usize) {
    let name = rest.find(|ch: char| !matches!(ch, '<' | '/' | '!' | '?')).unwrap_or(rest.len());
    let end = rest[name..]
        .find(|ch: char| !is_word(ch) && ch != '-' && ch != ':')
        .map_or(rest.len(), |end| name + end);
    (TokenClass::Keyword, end)
}

/// Up to the next character that may start another token.
fn plain_length(rest: &str, first: char) -> usize {
    let starts = |ch: char| {
        is_word(ch) || matches!(ch, '"' | '\'' | '`' | '/' | '#' | '-' | ';' | '<' | '$' | '%' | '(')
    };
    rest[first.len_utf8()..].find(starts).map_or(rest.len(), |at| at + first.len_utf8())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(code: &str, language: &str) -> String {
        let mut highlighter = Highlighter::new(language);
        let mut out = String::new();
        for line in code.split('\n') {
            highlighter.line(line, |class, token| match class {
                TokenClass::Plain => out.push_str(token),
                _ => out.push_str(&format!("[{}|{token}]", &class.css()[2..])),
            });
            out.push('\n');
        }
        out
    }

    #[test]
    fn tokens_of_common_languages() {
        assert_eq!(
            marked("let x: Vec<u8> = f(\"a \\\" b\"); // 1\nfn f<'a>(s: &'a str) -> char { 'x' }", "rust"),
            "[keyword|let] x: [type|Vec]<u8> = [function|f]([literal|\"a \\\" b\"]); [comment|// 1]\n\
             [keyword|fn] f<'a>(s: &'a str) -> [keyword|char] { [literal|'x'] }\n"
        );
        assert_eq!(
            marked("x = \"\"\"a\nb\"\"\" # no\nfor i in range(0..3):", "py"),
            "x = [literal|\"\"\"a]\n[literal|b\"\"\"] [comment|# no]\n\
             [keyword|for] i [keyword|in] [function|range]([number|0]..[number|3]):\n"
        );
        assert_eq!(marked("a /* b\nc */ d", "c"), "a [comment|/* b]\n[comment|c */] d\n");
        assert_eq!(
            marked("{ \"a\": 1, \"b\": true }", "json"),
            "{ [property|\"a\"]: [number|1], [property|\"b\"]: [keyword|true] }\n"
        );
        assert_eq!(
            marked("echo ${HOME} $# # x", "sh"),
            "echo [property|${HOME}] [property|$]# [comment|# x]\n"
        );
        assert_eq!(marked("<a b=\"c\">", "html"), "[keyword|<a] b=[literal|\"c\"]>\n");
        assert_eq!(marked("let x = 1", "text"), "let x = 1\n");
    }

    proptest! {
        #[test]
        fn highlighting_keeps_the_text(code in "[a-z\"'`/*#<!\\-\\\\$ é\u{1f600}\n]{0,80}", language in 0usize..10) {
            let names = ["rust", "python", "sql", "html", "json", "css", "lisp", "text", "bash", "?"];
            let mut highlighter = Highlighter::new(names[language]);
            for line in code.split('\n') {
                let mut joined = String::new();
                highlighter.line(line, |_, token| joined.push_str(token));
                prop_assert_eq!(joined, line);
            }
        }
    }
}
