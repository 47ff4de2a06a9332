//! Splits a command line into simple commands. Rejects everything that only a shell could interpret.
//!
//! The tree-sitter grammar of bash finds commands and words. Two more checks do not rely on the grammar: every byte must belong
//! to a word, an operator, or the space between them, and every word must consist of characters that no shell expands.

use tree_sitter::{Node, Parser};

use super::word;

/// Longer command lines are rejected, which limits the parsing time.
const MAX_LEN: usize = 2048;

/// Operators between commands. Every command must be allowed, so it does not matter which of them run.
const OPERATORS: &[&str] = &[";", "&&", "||", "|", "\n"];

/// Redirections that do not write to a file.
const REDIRECTIONS: &[&str] =
    &["2>&1", "1>&2", ">&2", ">/dev/null", "1>/dev/null", "2>/dev/null", "&>/dev/null", "</dev/null"];

/// The words of each command in `text`, or `None` if any part is rejected.
pub(super) fn parse(text: &str) -> Option<Vec<Vec<String>>> {
    if text.len() > MAX_LEN {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None)?;
    let root = tree.root_node();
    if root.has_error() || root.kind() != "program" {
        return None;
    }
    let mut reader = CommandCollector { text, checked: 0, commands: Vec::new() };
    reader.collect(root)?;
    reader.skip_space(text.len(), " \t\n")?;
    (!reader.commands.is_empty()).then_some(reader.commands)
}

struct CommandCollector<'a> {
    text: &'a str,
    /// All bytes before this offset have been checked.
    checked: usize,
    commands: Vec<Vec<String>>,
}

impl CommandCollector<'_> {
    /// Not recursive, because a chain of `&&` is as deep as it is long.
    fn collect(&mut self, root: Node<'_>) -> Option<()> {
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            match node.kind() {
                "program" | "list" | "pipeline" | "redirected_statement" => {
                    let children: Vec<Node<'_>> = node.children(&mut node.walk()).collect();
                    open.extend(children.into_iter().rev());
                }
                "command" => self.command(node)?,
                "file_redirect" => self.token(node, |text| {
                    let joined: String = text.chars().filter(|c| !matches!(c, ' ' | '\t')).collect();
                    REDIRECTIONS.contains(&joined.as_str())
                })?,
                _ => self.token(node, |text| OPERATORS.contains(&text))?,
            }
        }
        Some(())
    }

    fn command(&mut self, command: Node<'_>) -> Option<()> {
        let mut words = Vec::new();
        for node in command.children(&mut command.walk()) {
            let kinds = ["command_name", "word", "number", "string", "raw_string", "concatenation"];
            if !kinds.contains(&node.kind()) {
                return None;
            }
            // The first word may follow a line feed; the other words follow a space.
            let before = self.checked;
            self.skip_space(node.start_byte(), if words.is_empty() { " \t\n" } else { " \t" })?;
            if !words.is_empty() && before == self.checked {
                return None;
            }
            words.push(word::literal(&self.text[node.byte_range()])?);
            self.checked = node.end_byte();
        }
        // Rejects `NAME=value command`, which changes the command, and `%1`, which is a job.
        let name: &String = words.first()?;
        if !name.starts_with(char::is_alphanumeric) || name.contains('=') {
            return None;
        }
        self.commands.push(words);
        Some(())
    }

    fn token(&mut self, node: Node<'_>, is_known: impl Fn(&str) -> bool) -> Option<()> {
        self.skip_space(node.start_byte(), " \t\n")?;
        self.checked = node.end_byte();
        is_known(&self.text[node.byte_range()]).then_some(())
    }

    /// Checks that only space characters precede `end`.
    fn skip_space(&mut self, end: usize, space: &str) -> Option<()> {
        let gap = self.text.get(self.checked..end)?;
        self.checked = end;
        gap.chars().all(|c| space.contains(c)).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let commands = parse(text)?;
        Some(commands.iter().map(|words| words.join("|")).collect::<Vec<_>>().join(" ; "))
    }

    #[test]
    fn plain_commands_are_split_into_words() {
        for (text, expected) in [
            ("git  status\t-s", "git|status|-s"),
            (r#"git log --grep "a; b" 'c $(d)'"#, "git|log|--grep|a; b|c $(d)"),
            (r#"g"i"t sta''tus"#, "git|status"),
            ("ls ''", "ls|"),
            ("grep -n x src/a.rs | head -5", "grep|-n|x|src/a.rs ; head|-5"),
            ("ls && git status || pwd; ls\nls", "ls ; git|status ; pwd ; ls ; ls"),
            ("cargo test 2>&1 | tail -3", "cargo|test ; tail|-3"),
            ("ls a 2> /dev/null", "ls|a"),
            ("ls\n", "ls"),
            ("git diff HEAD~1", "git|diff|HEAD~1"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn command_line_that_needs_a_shell_is_rejected() {
        for text in [
            "ls & rm x",
            "ls &",
            "ls |& sh",
            "ls `rm x`",
            "ls $(rm x)",
            "ls \"$(rm x)\"",
            "ls \"`rm x`\"",
            "ls $X",
            "ls ${X:=`rm x`}",
            "ls > x",
            "ls >> x",
            "ls 2>x",
            "ls >&x",
            "ls &> x",
            "ls >| x",
            "ls <> x",
            "ls < x",
            "ls > /dev/null/../x",
            "> x ls",
            "ls <(rm x)",
            "ls <<E\nx\nE\n",
            "ls <<< x",
            "ls\r\nrm x",
            "ls \\\nrm",
            "l\\s",
            "ls 'a\nb'",
            "(ls)",
            "{ ls; }",
            "ls {a,b}",
            "X=1 ls",
            "X=1",
            "! ls",
            "ls # x",
            "ls 'x",
            "ls \"x",
            "ls\u{0}x",
            "ls \u{b}x",
            "",
            "   ",
            "''",
            "f() { ls; }",
            "if ls; then ls; fi",
            "while ls; do ls; done",
            "for x in a; do ls; done",
            "case a in a) ls;; esac",
            "[[ a ]]",
            "[ a ]",
            "(( 1 ))",
            "declare x",
            "export A=b",
            "ls ~",
            "ls ~/x",
            "ls a=~/x",
            "ls *",
            "ls a?",
            "ls [a]",
            "ls $'a'",
            "ls $\"a\"",
            "ls ;; ls",
            "ls && ",
            "&& ls",
            "a=b=c",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn hostile_text_is_parsed_quickly() {
        for piece in [
            "(",
            "$(",
            "{ ",
            "if ",
            "`\\",
            "\"$(",
            "<<a ",
            "a ",
            "a|",
            "a&&",
            "$((",
            "! ",
            "case x in ",
            "'",
            "\u{fe0f}",
        ] {
            let whole: String = piece.repeat(2 * MAX_LEN);
            parse(&whole);
            parse(&whole[..whole.floor_char_boundary(MAX_LEN)]);
        }
    }
}
