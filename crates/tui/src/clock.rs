//! Times and ages as text in the user's time zone. The caller reads the system clock.

use osier_protocol::time::{Millis, format};

/// The current time, and the user's offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LocalClock {
    pub now: Millis,
    /// Seconds east of UTC.
    pub utc_offset: i32,
}

const MINUTE: Millis = 60_000;
const HOUR: Millis = 60 * MINUTE;
const DAY: Millis = 24 * HOUR;

impl LocalClock {
    /// `2026-01-31 09:26`.
    pub(crate) fn format_full(self, at: Millis) -> String {
        self.format_local(at).get(..16).unwrap_or_default().replacen('T', " ", 1)
    }

    /// The time, with the date unless it is today, and with the year unless it is this year: `09:26`, `1/31 09:26`,
    /// `26/1/31 09:26`.
    pub(crate) fn format_short(self, at: Millis) -> String {
        let (then, today) = (self.format_local(at), self.format_local(self.now));
        let piece = |from: usize, to: usize| then.get(from..to).unwrap_or_default();
        let number = |from: usize, to: usize| piece(from, to).trim_start_matches('0').to_owned();
        let hour = piece(11, 16);
        if then.get(..10) == today.get(..10) {
            return hour.to_owned();
        }
        let day = format!("{}/{} {hour}", number(5, 7), number(8, 10));
        if then.get(..4) == today.get(..4) { day } else { format!("{}/{day}", piece(2, 4)) }
    }

    /// How long ago: `now`, `5m`, `3h`, `2d`, `4w`, `7mo`, `1y`.
    pub(crate) fn format_age(self, at: Millis) -> String {
        match self.now - at {
            ..MINUTE => "now".to_owned(),
            past @ ..HOUR => format!("{}m", past / MINUTE),
            past @ ..DAY => format!("{}h", past / HOUR),
            past if past < 7 * DAY => format!("{}d", past / DAY),
            past if past < 30 * DAY => format!("{}w", past / (7 * DAY)),
            past if past < 365 * DAY => format!("{}mo", past / (30 * DAY)),
            past => format!("{}y", past / (365 * DAY)),
        }
    }

    fn format_local(self, at: Millis) -> String {
        format(at + Millis::from(self.utc_offset) * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::time::parse;

    #[test]
    fn times_omit_the_date_today_and_the_year_this_year() {
        let clock = LocalClock { now: parse("2026-03-04T23:30:00Z").unwrap(), utc_offset: 3600 };
        let short = |text: &str| clock.format_short(parse(text).unwrap());
        assert_eq!(short("2026-03-04T23:05:00Z"), "00:05", "it is March 5 in the user's time zone");
        assert_eq!(short("2026-03-04T22:05:00Z"), "3/4 23:05");
        assert_eq!(short("2025-12-31T22:05:00Z"), "25/12/31 23:05");
        assert_eq!(clock.format_full(parse("2026-03-04T23:05:00Z").unwrap()), "2026-03-05 00:05");
    }

    #[test]
    fn ages_use_one_unit() {
        let clock = LocalClock { now: 1000 * DAY, utc_offset: 0 };
        let ages = [0, 59_000, 5 * MINUTE, 3 * HOUR, 2 * DAY, 29 * DAY, 200 * DAY, 800 * DAY, -DAY];
        let texts: Vec<String> = ages.iter().map(|age| clock.format_age(clock.now - age)).collect();
        assert_eq!(texts, ["now", "now", "5m", "3h", "2d", "4w", "6mo", "2y", "now"]);
    }
}
