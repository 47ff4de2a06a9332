//! Suggestions for mistyped words.

/// The known word closest to `word`. Allows one typo per four letters, two at most: short words differ by little.
pub(crate) fn closest_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |known: &'a str| (strsim::damerau_levenshtein(&word, known), known);
    let near =
        known.into_iter().map(distance).filter(|(distance, known)| *distance <= (known.len() / 4).min(2));
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_or_two_typos_are_corrected_but_other_words_are_not() {
        let known = ["sessions", "demo", "man", "models", "config", "help"];
        let meant = |word| closest_word(word, known);
        assert_eq!(meant("sesions"), Some("sessions"));
        assert_eq!(meant("Session"), Some("sessions"));
        assert_eq!(meant("modles"), Some("models"));
        assert_eq!(meant("dmeo"), Some("demo"));
        for word in ["hello", "fix", "mean", "ma", "", "configuration", "modify"] {
            assert_eq!(meant(word), None, "{word}");
        }
    }
}
