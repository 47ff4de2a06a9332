//! Slips of the pen: which known word somebody may have meant.

/// The known word that somebody may have meant. One slip is forgiven for every four letters, two at most: a short word is
/// sooner another word.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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
    fn a_slip_is_one_or_two_letters_and_not_another_word() {
        let known = ["sessions", "demo", "man", "models", "config", "help"];
        let meant = |word| nearest(word, known);
        assert_eq!(meant("sesions"), Some("sessions"));
        assert_eq!(meant("Session"), Some("sessions"));
        assert_eq!(meant("modles"), Some("models"));
        assert_eq!(meant("dmeo"), Some("demo"));
        for word in ["hello", "fix", "mean", "ma", "", "configuration", "modify"] {
            assert_eq!(meant(word), None, "{word}");
        }
    }
}
