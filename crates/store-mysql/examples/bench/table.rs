//! Prints the rows of the table, with baseline and target.

use std::time::Duration;

pub(crate) fn print_header() {
    println!("{:<46} {:>10} {:>10} {:>7} {:>7}", "", "measured", "baseline", "ratio", "target");
}

/// Prints a time and its baseline. `target` is the maximum ratio.
pub(crate) fn print_row(what: &str, measured: Duration, floor: Duration, target: Option<f64>) {
    let times = measured.as_secs_f64() / floor.as_secs_f64();
    let (target, missed) = match target {
        Some(target) => (format!("{target:.1}"), if times > target { "  missed" } else { "" }),
        None => (String::new(), ""),
    };
    println!(
        "{what:<46} {:>10} {:>10} {times:>7.2} {target:>7}{missed}",
        format_time(measured),
        format_time(floor)
    );
}

/// Prints a value that has no baseline.
pub(crate) fn print_value(what: &str, measured: &str) {
    println!("{what:<46} {measured:>10}");
}

pub(crate) fn format_time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..100.0 => format!("{micros:.1} µs"),
        ..100_000.0 => format!("{micros:.0} µs"),
        _ => format!("{:.0} ms", micros / 1e3),
    }
}

/// The median, which other load on the machine affects least.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
