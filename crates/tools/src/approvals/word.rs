//! Checks that a word of a command line is literal, so that no shell expands it.

/// The word without its quotes, or `None` if a shell might expand it.
pub(super) fn literal(source: &str) -> Option<String> {
    let mut word = String::new();
    let mut assigns = false;
    let mut rest = source.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => quoted(&mut rest, '\'', &[], &mut word)?,
            '"' => quoted(&mut rest, '"', &['$', '`', '\\', '!'], &mut word)?,
            // Shells expand `~` at the start of a word and in assignments.
            '~' if word.is_empty() || assigns => return None,
            c if is_plain(c) => {
                assigns |= matches!(c, '=' | ':');
                word.push(c);
            }
            _ => return None,
        }
    }
    Some(word)
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-./,:+=@%^~".contains(c)
}

/// Appends the text up to the closing quote.
fn quoted(rest: &mut std::str::Chars<'_>, close: char, special: &[char], word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            c if c == close => return Some(()),
            c if special.contains(&c) || (c.is_control() && c != '\t') => return None,
            c => word.push(c),
        }
    }
}
