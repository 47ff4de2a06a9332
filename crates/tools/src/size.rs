//! Formats counts and sizes.

/// `3 lines`, `1 line`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A number of bytes with a suitable unit.
pub(crate) fn bytes(number: u64) -> String {
    match number {
        0..1024 => format!("{number} bytes"),
        1024..1_048_576 => format!("{:.1} KB", number as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MB", number as f64 / 1_048_576.0),
        _ => format!("{:.1} GB", number as f64 / 1_073_741_824.0),
    }
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_have_units() {
        assert_eq!(count(1, "line", "lines"), "1 line");
        assert_eq!(count(1_234_567, "line", "lines"), "1,234,567 lines");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(51200), "50.0 KB");
        assert_eq!(bytes(100_000_000), "95.4 MB");
    }
}
