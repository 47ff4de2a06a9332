//! When a context must be compacted, and how much of it a compaction keeps. All values are in tokens.

/// The context window of a model, and the settings that apply to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    pub window: u64,
    /// The longest answer of the model, if known.
    pub max_output: Option<u64>,
    /// Setting: how much of the window must stay free.
    pub reserve: Option<u64>,
    /// Setting: how much of the context a compaction keeps.
    pub keep_recent: Option<u64>,
}

impl ContextLimits {
    /// The window that is assumed for an unknown model.
    pub const UNKNOWN_WINDOW: u64 = 128_000;

    pub fn new(window: u64, max_output: Option<u64>) -> ContextLimits {
        ContextLimits { window, max_output, reserve: None, keep_recent: None }
    }

    /// Whether a context of this size must be compacted before the next model call.
    pub fn should_compact(&self, tokens: u64) -> bool {
        tokens >= self.threshold()
    }

    /// The size at which a context is compacted.
    pub fn threshold(&self) -> u64 {
        let threshold = match self.reserve {
            Some(reserve) => self.window.saturating_sub(reserve),
            None => {
                let answer = self.max_output.unwrap_or(MAX_ANSWER_RESERVE).min(MAX_ANSWER_RESERVE);
                percent_of(self.window.saturating_sub(answer), 90).max(self.default_threshold())
            }
        };
        threshold.max(percent_of(self.window, 80).min(MIN_THRESHOLD))
    }

    /// The window minus the default reserve for its size.
    fn default_threshold(&self) -> u64 {
        let reserve = match self.window {
            32_000 | 32_768 => 10_000,
            64_000 | 65_536 => 27_000,
            128_000 | 131_072 => 30_000,
            200_000 => 40_000,
            other => return other.saturating_sub(40_000).max(percent_of(other, 80)),
        };
        self.window - reserve
    }

    /// How much of a context a compaction keeps. The setting is limited to half of the window.
    pub fn keep_recent(&self) -> u64 {
        match self.keep_recent {
            Some(tokens) => tokens.min(self.window / 2),
            None => 20_000.min(self.window / 4),
        }
    }

    /// How much conversation fits into one summary request. `reserve` is the setting for the space left for the answer.
    pub fn summary_budget(&self, reserve: Option<u64>) -> u64 {
        self.window - reserve.unwrap_or(16_384).min(self.window / 2)
    }
}

/// At most this much of the window is reserved for the answer.
const MAX_ANSWER_RESERVE: u64 = 32_000;
/// A context smaller than this is never compacted automatically.
const MIN_THRESHOLD: u64 = 25_600;

/// `percent` of `total`, rounded up.
fn percent_of(total: u64, percent: u64) -> u64 {
    total.saturating_mul(percent).div_ceil(100)
}
