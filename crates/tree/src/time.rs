//! Times in logs: ISO 8601 text in entries, Unix milliseconds in messages.

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// Parses the timestamp of an entry. The usual format has a fast path, because opening a session parses one per line.
pub fn parse(text: &str) -> Option<Millis> {
    parse_canonical(text.as_bytes())
        .or_else(|| text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond))
}

/// Parses exactly the format `2026-01-02T03:04:05.678Z`.
fn parse_canonical(text: &[u8]) -> Option<Millis> {
    let [
        y3,
        y2,
        y1,
        y0,
        b'-',
        mo1,
        mo0,
        b'-',
        d1,
        d0,
        b'T',
        h1,
        h0,
        b':',
        mi1,
        mi0,
        b':',
        s1,
        s0,
        b'.',
        f2,
        f1,
        f0,
        b'Z',
    ] = *text
    else {
        return None;
    };
    let digits = |bytes: &[u8]| {
        bytes.iter().try_fold(0i64, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0')))
    };
    let (year, month, day) = (digits(&[y3, y2, y1, y0])?, digits(&[mo1, mo0])?, digits(&[d1, d0])?);
    let (hour, minute, second) = (digits(&[h1, h0])?, digits(&[mi1, mi0])?, digits(&[s1, s0])?);
    let millis = digits(&[f2, f1, f0])?;
    if !(1..=12).contains(&month)
        || !(1..=days_in_month(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    Some((((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts years from March, so that the leap day is the last day of its year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// Formats a time as in entries.
pub fn format(millis: Millis) -> String {
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_usual_format_and_others_are_parsed() {
        assert_eq!(parse("2026-01-02T03:04:05.678Z"), Some(1_767_323_045_678));
        assert_eq!(parse("2026-01-02T03:04:05Z"), Some(1_767_323_045_000));
        assert_eq!(parse("2026-01-02T04:04:05.678+01:00"), Some(1_767_323_045_678));
        assert_eq!(parse("2026-02-30T03:04:05.678Z"), None);
        assert_eq!(parse("yesterday"), None);
    }

    proptest! {
        #[test]
        fn formatted_times_parse_to_the_original(millis in 0i64..253_402_300_799_000) {
            prop_assert_eq!(parse_canonical(format(millis).as_bytes()), Some(millis));
        }
    }
}
