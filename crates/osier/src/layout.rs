//! Text in columns, measured in terminal widths and free of control characters from logs.

pub(crate) use osier_tree::projection::preview::sanitize_line;
use osier_tree::time::Millis;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The width of a text in terminal columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to a number of columns, with an ellipsis where it is cut.
pub(crate) fn truncate(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let kept = text.graphemes(true).take_while(|grapheme| {
        used += grapheme.width();
        used < columns
    });
    let ellipsis = if columns > 0 { "…" } else { "" };
    kept.chain([ellipsis]).collect()
}

/// Pads a text with spaces on the right.
pub(crate) fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Pads a text with spaces on the left.
pub(crate) fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Aligns the cells of rows: the first column to the left, the others to the right.
pub(crate) fn align_table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..columns).map(|at| widest(at).unwrap_or(0)).collect();
    let cell = |(at, cell): (usize, &String)| match at {
        0 => pad_right(cell, widths[at]),
        _ => pad_left(cell, widths[at]),
    };
    let line = |row: &Vec<String>| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
    rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
}

/// How long ago, in one unit: `5m`, `3d`.
pub(crate) fn format_age(then: Millis, now: Millis) -> String {
    let minutes = now.saturating_sub(then).max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1_440 => format!("{}h", minutes / 60),
        1_440..20_160 => format!("{}d", minutes / 1_440),
        20_160..86_400 => format!("{}w", minutes / 10_080),
        86_400..525_600 => format!("{}mo", minutes / 43_200),
        _ => format!("{}y", minutes / 525_600),
    }
}

/// `1 entry`, `2 entries`.
pub(crate) fn pluralize(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_text_never_exceeds_its_columns() {
        assert_eq!(truncate("short", 5), "short");
        assert_eq!(truncate("longer", 5), "long…");
        assert_eq!(truncate("一二三", 5), "一二…");
        assert_eq!(truncate("一二三", 4), "一…");
        assert_eq!(truncate("一二三", 1), "…");
        assert_eq!(truncate("一二三", 0), "");
    }

    #[test]
    fn grapheme_clusters_are_never_split() {
        let family = "👨‍👩‍👧";
        assert_eq!(truncate(&format!("{family}abc"), 4), format!("{family}a…"));
        assert_eq!(truncate(&format!("a{family}bc"), 3), "a…");
        assert_eq!(truncate("e\u{301}tude", 3), "e\u{301}t…");
    }

    #[test]
    fn table_aligns_by_terminal_width() {
        let rows =
            [["model", "tokens"], ["一二", "1.2k"], ["x", "7"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(align_table(&rows), ["model  tokens", "一二     1.2k", "x           7"]);
    }

    #[test]
    fn control_characters_and_line_breaks_are_replaced() {
        assert_eq!(sanitize_line("/a  b\nc\x1b[2J\u{202e}"), "/a  b\u{fffd}c\u{fffd}[2J\u{fffd}");
    }

    #[test]
    fn ages_use_one_unit() {
        let minute = 60_000;
        let ages =
            [-5, 0, 1, 59, 60, 1_440, 20_160, 86_400, 525_600].map(|then| format_age(0, then * minute));
        assert_eq!(ages, ["now", "now", "1m", "59m", "1h", "1d", "2w", "2mo", "1y"]);
    }
}
