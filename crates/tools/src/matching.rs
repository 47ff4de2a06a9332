//! Suggests the most similar known word for a misspelled word.

/// The candidate most similar to `wanted`, if one is similar enough.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near: Vec<&str> = candidates.filter(|candidate| is_close_in_length(wanted, candidate)).collect();
    similar::get_close_matches(wanted, &near, 1, 0.7).first().copied()
}

/// Skips candidates that cannot be similar enough.
fn is_close_in_length(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a.len(), b.len()) } else { (b.len(), a.len()) };
    short * 2 >= long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typo_is_matched_and_unrelated_word_is_not() {
        let names = ["main.rs", "lib.rs", "README.md"];
        assert_eq!(nearest("mian.rs", names.into_iter()), Some("main.rs"));
        assert_eq!(nearest("@main.rs", names.into_iter()), Some("main.rs"));
        assert_eq!(nearest("config.toml", names.into_iter()), None);
    }
}
