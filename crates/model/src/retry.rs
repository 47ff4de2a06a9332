//! Decides when to retry and how long to wait. Pure: the caller supplies the random number and does the waiting.

use std::time::Duration;

use jiff::Timestamp;

use crate::error::ModelError;

/// How to retry transient errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Maximum number of attempts.
    pub max_attempts: u32,
    /// The delay before the second attempt; doubles with each further attempt.
    pub initial_delay: Duration,
    pub max_delay: Duration,
    /// If the server asks for a longer delay, the error is reported instead of retried.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            max_attempts: 4,
            initial_delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// The delay after `tried` failed attempts; `None` to give up. `dice` is a random number between 0 and 1, so that clients
    /// that failed at the same time do not retry at the same time.
    pub fn delay(&self, tried: u32, failure: &ModelError, random: f64) -> Option<Duration> {
        if tried >= self.max_attempts || !failure.is_transient() {
            return None;
        }
        match failure.retry_after() {
            Some(asked) if asked > self.max_retry_after => None,
            // Slightly longer than requested, to spread the retries.
            Some(asked) => Some(asked + self.initial_delay.mul_f64(0.25 * random)),
            None => {
                let doubled = self.initial_delay.saturating_mul(1 << (tried - 1).min(16)).min(self.max_delay);
                Some(doubled.mul_f64(0.5 + 0.5 * random))
            }
        }
    }
}

/// Reads `Retry-After` (seconds, or a date) and `retry-after-ms`. `now` is in milliseconds since 1970.
pub(crate) fn parse_retry_after(
    seconds_or_date: Option<&str>,
    millis: Option<&str>,
    now: i64,
) -> Option<Duration> {
    if let Some(millis) = millis.and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let text = seconds_or_date?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date: Timestamp = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::from_millis(u64::try_from(date.as_millisecond() - now).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overloaded(retry_after: Option<u64>) -> ModelError {
        let retry_after = retry_after.map(Duration::from_secs);
        ModelError::Overloaded { provider: "p".to_owned(), retry_after, detail: String::new() }
    }

    #[test]
    fn delays_double_with_jitter_and_end() {
        let delays = |random| {
            let retry = RetryPolicy { max_attempts: 7, ..RetryPolicy::default() };
            (1..=7)
                .map(|tried| retry.delay(tried, &overloaded(None), random).map(|delay| delay.as_secs_f64()))
                .collect::<Vec<_>>()
        };
        assert_eq!(delays(1.0), [Some(2.0), Some(4.0), Some(8.0), Some(16.0), Some(30.0), Some(30.0), None]);
        assert_eq!(delays(0.0), [Some(1.0), Some(2.0), Some(4.0), Some(8.0), Some(15.0), Some(15.0), None]);
    }

    #[test]
    fn retry_after_is_honored_up_to_a_maximum() {
        let retry = RetryPolicy::default();
        assert_eq!(retry.delay(1, &overloaded(Some(7)), 0.0), Some(Duration::from_secs(7)));
        assert!(retry.delay(1, &overloaded(Some(7)), 1.0).unwrap() > Duration::from_secs(7));
        assert_eq!(retry.delay(1, &overloaded(Some(3600)), 0.0), None);
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        for failure in [ModelError::Cancelled, ModelError::Refused { detail: String::new() }] {
            assert_eq!(RetryPolicy::default().delay(1, &failure, 0.5), None);
        }
        let once = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
        assert_eq!(once.delay(1, &overloaded(None), 0.5), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = 784_111_777_000;
        let read = |text| parse_retry_after(Some(text), None, now).map(|delay| delay.as_secs_f64());
        assert_eq!(read("7"), Some(7.0));
        assert_eq!(read(" 0.5 "), Some(0.5));
        assert_eq!(read("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30.0));
        assert_eq!(read("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0.0));
        assert_eq!(read("soon"), None);
        assert_eq!(read("-3"), None);
        assert_eq!(parse_retry_after(Some("7"), Some("1500"), now), Some(Duration::from_millis(1500)));
    }
}
