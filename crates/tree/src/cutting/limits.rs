//! When a context is too full for its model, and how much of it is kept then. All in tokens.

/// What a model can take, and what the settings say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub window: u64,
    /// The longest answer of the model, if that is known.
    pub max_output: Option<u64>,
    /// Settings: what must stay free, and how much is kept as it is.
    pub reserve: Option<u64>,
    pub keep_recent: Option<u64>,
}

impl Limits {
    /// The window of a model of which nothing is known.
    pub const UNKNOWN_WINDOW: u64 = 128_000;

    pub fn new(window: u64, max_output: Option<u64>) -> Limits {
        Limits { window, max_output, reserve: None, keep_recent: None }
    }

    /// Whether a context of so many tokens is to be compacted before the model is asked again.
    pub fn should_compact(&self, tokens: u64) -> bool {
        tokens >= self.threshold()
    }

    /// The number of tokens from which on a context is compacted.
    pub fn threshold(&self) -> u64 {
        let wanted = match self.reserve {
            Some(reserve) => self.window.saturating_sub(reserve),
            None => {
                let answer = self.max_output.unwrap_or(LONGEST_ANSWER).min(LONGEST_ANSWER);
                share(self.window.saturating_sub(answer), 90).max(self.usual())
            }
        };
        wanted.max(share(self.window, 80).min(SMALLEST))
    }

    /// The window without its reserve.
    fn usual(&self) -> u64 {
        let reserve = match self.window {
            32_000 | 32_768 => 10_000,
            64_000 | 65_536 => 27_000,
            128_000 | 131_072 => 30_000,
            200_000 => 40_000,
            other => return other.saturating_sub(40_000).max(share(other, 80)),
        };
        self.window - reserve
    }

    /// How much of a context a compaction keeps as it is. A setting may ask for up to half of the window.
    pub fn keep_recent(&self) -> u64 {
        match self.keep_recent {
            Some(tokens) => tokens.min(self.window / 2),
            None => 20_000.min(self.window / 4),
        }
    }

    /// How much conversation a summary can be made of at once. `reserve` is what a setting leaves free for the answer.
    pub fn summary_budget(&self, reserve: Option<u64>) -> u64 {
        self.window - reserve.unwrap_or(16_384).min(self.window / 2)
    }
}

/// An answer longer than this does not make the context smaller.
const LONGEST_ANSWER: u64 = 32_000;
/// A context smaller than this is never compacted on its own.
const SMALLEST: u64 = 25_600;

/// So many hundredths, rounded up.
fn share(of: u64, percent: u64) -> u64 {
    of.saturating_mul(percent).div_ceil(100)
}
