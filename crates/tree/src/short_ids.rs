//! Short ids: the shortest unique prefixes of the ids in a set, as git abbreviates hashes. Ignores case.

/// The minimum length of a short session id.
pub const SESSION_ID_LENGTH: usize = 8;

/// A set of ids, ready to shorten any of them.
#[derive(Debug, Clone, Default)]
pub struct ShortIds {
    /// Lowercase, sorted, without duplicates.
    ids: Vec<String>,
}

impl ShortIds {
    pub fn new<T: AsRef<str>>(ids: impl IntoIterator<Item = T>) -> ShortIds {
        let mut ids: Vec<String> = ids.into_iter().map(|id| id.as_ref().to_ascii_lowercase()).collect();
        ids.sort_unstable();
        ids.dedup();
        ShortIds { ids }
    }

    /// The shortest prefix of `id` with at least `minimum` characters that no other id of the set starts with. The whole
    /// `id` if another id starts with it.
    pub fn shorten<'a>(&self, id: &'a str, minimum: usize) -> &'a str {
        let lower = id.to_ascii_lowercase();
        let at = self.ids.partition_point(|other| *other < lower);
        // In sorted order, the ids with the longest common prefix are adjacent.
        let before = at.checked_sub(1).map(|before| &self.ids[before]);
        let after = self.ids[at..].iter().find(|other| **other != lower);
        let shared = before.into_iter().chain(after).map(|other| shared_prefix(&lower, other));
        prefix(id, shared.max().map_or(minimum, |shared| minimum.max(shared + 1)))
    }
}

/// The length of the common prefix of two ids, in characters.
fn shared_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

fn prefix(id: &str, length: usize) -> &str {
    id.char_indices().nth(length).map_or(id, |(end, _)| &id[..end])
}

/// The first eight characters of a session id: its short id, unless another session id starts with them.
pub fn first_eight(id: &str) -> &str {
    prefix(id, SESSION_ID_LENGTH)
}

/// Whether `id` starts with `typed`, ignoring case.
pub fn has_prefix(id: &str, typed: &str) -> bool {
    id.get(..typed.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(ids: &[&'static str], minimum: usize) -> Vec<&'static str> {
        let short = ShortIds::new(ids);
        ids.iter().map(|id| short.shorten(id, minimum)).collect()
    }

    #[test]
    fn each_id_is_as_short_as_possible() {
        assert_eq!(shortened(&["abcdef", "abcxyz", "b", "zzzzzz"], 2), ["abcd", "abcx", "b", "zz"]);
        assert_eq!(shortened(&["019b7ca9-a7f6", "019b7ca9-a812"], 8), ["019b7ca9-a7", "019b7ca9-a8"]);
    }

    #[test]
    fn an_id_that_is_a_prefix_of_another_is_not_shortened() {
        assert_eq!(shortened(&["abcd", "abcd-2"], 2), ["abcd", "abcd-"]);
    }

    #[test]
    fn case_and_duplicates_are_ignored() {
        assert_eq!(shortened(&["ABCD1", "abcd2", "ABCD2"], 2), ["ABCD1", "abcd2", "ABCD2"]);
        assert_eq!(shortened(&["abcd", "ABCD", "abcd"], 2), ["ab", "AB", "ab"]);
    }

    #[test]
    fn ids_outside_the_set_and_empty_sets_work() {
        assert_eq!(ShortIds::new(["abcdef"]).shorten("abcxyz", 2), "abcx");
        assert_eq!(ShortIds::default().shorten("日本語", 2), "日本");
    }

    #[test]
    fn has_prefix_ignores_case_and_never_splits_a_character() {
        assert!(has_prefix("4F89da11", "4f8") && has_prefix("abc", "ABC") && has_prefix("abc", ""));
        assert!(!has_prefix("ab", "abc") && !has_prefix("日本", "\u{65e5}x") && !has_prefix("é", "e"));
    }
}
