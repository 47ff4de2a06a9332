//! Content for generated lines: words, ids and times, all derived from seeds and numbers.

use crate::rng::Rng;

/// 2026-01-01T00:00Z in milliseconds.
pub(super) const START: u64 = 1_767_225_600_000;

/// A pool of words, already escaped for JSON. Texts are slices of it, so generating a gigabyte is only
/// copying.
#[derive(Clone, Copy)]
pub(super) struct WordPool(&'static str);

impl WordPool {
    pub(super) fn new() -> Self {
        static POOL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
        Self(POOL.get_or_init(pool))
    }

    pub(super) fn text(self, rng: &mut Rng, length: usize) -> &'static str {
        let start = rng.below(self.0.len() - length - 2);
        let start = if self.0.as_bytes()[start] == b'n' { start + 1 } else { start };
        self.0[start..start + length.max(1)].trim_end_matches('\\')
    }
}

fn pool() -> String {
    // No word starts with n, so an n at the start of a slice may be half of an escape and is skipped.
    const LIST: &[&str] = &[
        "the", "parser", "reads", "each", "line", "then", "checks", "whether", "state", "moved", "before",
        "writing", "back", "a", "value", "path", "error", "test", "module", "return", "index", "cache",
        "update", "session", "branch", "leaf",
    ];
    let mut rng = Rng::new(7);
    let mut pool = String::new();
    while pool.len() < 256 << 10 {
        pool.push_str(LIST[rng.below(LIST.len())]);
        pool.push_str(if rng.chance(8) { ".\\n" } else { " " });
    }
    pool
}

/// A unique id for every number: multiplying by an odd number is reversible.
pub(super) fn entry_id(n: usize) -> u32 {
    let mixed = (n as u32).wrapping_add(0x5eed).wrapping_mul(0x9e37_79b1);
    mixed ^ (mixed >> 15)
}

pub(super) fn session_id(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let (a, b) = (rng.next(), rng.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}

/// Formats milliseconds since 1970 as pi writes them.
pub(super) fn iso(ms: u64) -> String {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    // Counted in 400-year eras that start on March 1, so that the leap day is the last day of a year.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (era * 400 + year + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (seconds, ms) = (rest / 1000, rest % 1000);
    format!(
        "{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}.{ms:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_use_pis_format() {
        assert_eq!(iso(START), "2026-01-01T00:00:00.000Z");
        assert_eq!(iso(951_827_696_789), "2000-02-29T12:34:56.789Z");
    }

    #[test]
    fn text_never_ends_inside_an_escape() {
        let mut rng = Rng::new(1);
        for _ in 0..20_000 {
            let text = format!("\"{}\"", WordPool::new().text(&mut rng, 40));
            serde_json::from_str::<String>(&text).unwrap();
        }
    }
}
