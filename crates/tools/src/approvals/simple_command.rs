//! A command line taken apart, if it is one single plain command. Whatever could start a second command, name another file
//! to write to, or mean something else to the shell than it seems to, makes it not plain; then nobody vouches for it.

/// The words of a plain command with their quotes taken off, or nothing.
pub(super) fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => word.get_or_insert_default().push_str(&single_quoted(&mut rest)?),
            '"' => word.get_or_insert_default().push_str(&double_quoted(&mut rest)?),
            c if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    // `NAME=value command` changes what the command is.
    let first: &String = words.first()?;
    (!first.is_empty() && !first.contains('=')).then_some(words)
}

/// Everything else is, somewhere, an operator, an expansion, a redirection, a comment or a control character.
fn is_plain(c: char) -> bool {
    !c.is_control()
        && !matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '$' | '`' | '\\' | '#' | '!')
}

/// Nothing is special in single quotes; a line break is refused all the same.
fn single_quoted(rest: &mut std::str::Chars<'_>) -> Option<String> {
    let mut text = String::new();
    loop {
        match rest.next()? {
            '\'' => return Some(text),
            c if c.is_control() && c != '\t' => return None,
            c => text.push(c),
        }
    }
}

fn double_quoted(rest: &mut std::str::Chars<'_>) -> Option<String> {
    let mut text = String::new();
    loop {
        match rest.next()? {
            '"' => return Some(text),
            '$' | '`' | '\\' | '!' => return None,
            c if c.is_control() && c != '\t' => return None,
            c => text.push(c),
        }
    }
}

/// The words as one line that reads as the same words.
pub(super) fn quoted(words: &[String]) -> String {
    let quote =
        |word: &String| match word.chars().all(|c| is_plain(c) && !matches!(c, ' ' | '\t' | '\'' | '"')) {
            true if !word.is_empty() => word.clone(),
            _ if word.contains('\'') => format!("\"{word}\""),
            _ => format!("'{word}'"),
        };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commands_are_taken_apart() {
        let some = |line: &str| words(line).unwrap().join("|");
        assert_eq!(some("git  status\t-s"), "git|status|-s");
        assert_eq!(some(r#"git commit -m "a; b" 'c $(d)'"#), "git|commit|-m|a; b|c $(d)");
        assert_eq!(some(r#"g"i"t sta''tus"#), "git|status");
        assert_eq!(some("ls ''"), "ls|");
        assert_eq!(some("cargo test --features=a,b *.rs ~/x"), "cargo|test|--features=a,b|*.rs|~/x");
    }

    #[test]
    fn whatever_may_be_more_than_one_command_is_not_plain() {
        for line in [
            "git status; rm -rf /",
            "git status && rm x",
            "git status & rm x",
            "git status || rm x",
            "git status | sh",
            "git status `rm x`",
            "git status $(rm x)",
            "git status \"$(rm x)\"",
            "git status \"`rm x`\"",
            "git log $X",
            "git log ${X:=`rm x`}",
            "git status > x",
            "git status >> x",
            "git status 2>x",
            "git diff < x",
            "git diff <(rm x)",
            "git status\nrm x",
            "git status\r\nrm x",
            "git status \\\nrm",
            "git\\ status",
            "git 'status\nrm x'",
            "(rm x)",
            "{ rm x; }",
            "git {a,b}",
            "X=1 git status",
            "! git status",
            "git status # x",
            "git 'status",
            "git \"x",
            "git\u{0}status",
            "git status\u{b}x",
            "",
            "   ",
            "''",
            "f() { rm x; }",
        ] {
            assert_eq!(words(line), None, "{line}");
        }
    }

    #[test]
    fn unicode_spaces_separate_nothing_because_the_shell_does_not_think_so() {
        assert_eq!(words("git\u{a0}status").unwrap(), ["git\u{a0}status"]);
    }

    #[test]
    fn quoting_and_reading_agree() {
        for line in ["git status", "echo 'a b' ''", "echo \"it's\"", "echo 'a;b' 'c\"d'"] {
            let taken = words(line).unwrap();
            assert_eq!(words(&quoted(&taken)).unwrap(), taken, "{line}");
        }
    }

    /// Random lines of signs that mean something to a shell, the same ones every time.
    fn random_lines(count: usize) -> Vec<String> {
        let signs: Vec<char> = "ab  ''\"\";&|<>()$`\\{}!#*?[]=-,:^%\t\n".chars().collect();
        let mut state = 7u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut line = || -> String { (0..next(14)).map(|_| signs[next(signs.len())]).collect() };
        (0..count).map(|_| format!("cmd {}", line())).collect()
    }

    #[test]
    fn bash_agrees_about_every_line_taken_apart() {
        let plain: Vec<(String, Vec<String>)> = random_lines(60_000)
            .into_iter()
            .filter_map(|line| words(&line).map(|words| (line, words)))
            .collect();
        assert!(plain.len() > 5000, "{}", plain.len());
        let script: String = plain.iter().map(|(line, _)| format!("{line}\n")).collect();
        let empty = tempfile::tempdir().unwrap();
        std::fs::write(
            empty.path().join(".script"),
            format!("cmd() {{ printf '%s\\0' cmd \"$@\" '\n'; }}\n{script}"),
        )
        .unwrap();
        let ran =
            std::process::Command::new("bash").arg(".script").current_dir(empty.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "nothing else was run");
        let printed = String::from_utf8(ran.stdout).unwrap();
        let mut seen = printed.split("\n\0");
        for (line, words) in plain {
            let expected: String = words.iter().map(|word| format!("{word}\0")).collect();
            assert_eq!(seen.next(), Some(expected.as_str()), "{line}");
        }
    }
}
