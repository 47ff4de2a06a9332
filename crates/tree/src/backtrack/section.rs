//! Fits lists into a limited number of characters. Each list gets its share, and the others use what a list does not need.
//! A list keeps its newest items in chronological order and states how many are omitted.

/// One list of an addendum.
#[derive(Debug)]
pub(super) struct AddendumSection {
    pub(super) title: &'static str,
    /// Oldest first.
    pub(super) items: Vec<String>,
    /// Its share of the room, relative to the other lists.
    pub(super) share: usize,
}

/// An item truncated to less than this is useless.
const MIN_ITEM_CHARS: usize = 40;

/// Renders all lists in at most `room` characters.
pub(super) fn render_sections(sections: &[AddendumSection], max_chars: usize) -> String {
    let overhead: usize =
        sections.iter().map(|section| char_count(section.title) + char_count(&omitted_line(9999)) + 2).sum();
    let max_chars = max_chars.saturating_sub(overhead);
    let given = allocate_room(sections, max_chars);
    let lists = sections.iter().zip(given).map(|(section, max_chars)| section.render(max_chars));
    lists.collect::<Vec<_>>().join("\n\n")
}

/// The room of each list. Distributes the room by share, repeatedly, until every list has enough or nothing is left.
fn allocate_room(sections: &[AddendumSection], max_chars: usize) -> Vec<usize> {
    let mut given = vec![0; sections.len()];
    let mut rest = max_chars;
    loop {
        let unsatisfied: Vec<usize> =
            (0..given.len()).filter(|at| sections[*at].full_len() > given[*at]).collect();
        if unsatisfied.is_empty() || rest == 0 {
            return given;
        }
        let shares: usize = unsatisfied.iter().map(|at| sections[*at].share).sum();
        let available = rest;
        for at in unsatisfied {
            let section = &sections[at];
            let more =
                (available * section.share / shares).max(1).min(section.full_len() - given[at]).min(rest);
            given[at] += more;
            rest -= more;
        }
    }
}

impl AddendumSection {
    fn full_len(&self) -> usize {
        self.items.iter().map(|item| item_len(item)).sum()
    }

    fn render(&self, mut max_chars: usize) -> String {
        let mut kept: Vec<String> = Vec::new();
        for item in self.items.iter().rev() {
            let need = item_len(item);
            if need <= max_chars {
                kept.push(list_item(item));
                max_chars -= need;
                continue;
            }
            if kept.is_empty() && max_chars >= MIN_ITEM_CHARS {
                kept.push(list_item(&truncate_to_fit(item, max_chars)));
            }
            break;
        }
        let left_out = self.items.len() - kept.len();
        kept.extend((left_out > 0).then(|| omitted_line(left_out)));
        kept.push(self.title.to_owned());
        kept.reverse();
        kept.join("\n")
    }
}

fn omitted_line(count: usize) -> String {
    match count {
        1 => "- (1 earlier item omitted)".to_owned(),
        count => format!("- ({count} earlier items omitted)"),
    }
}

/// Formats a list item, with further lines indented.
fn list_item(item: &str) -> String {
    format!("- {}", item.replace('\n', "\n  "))
}

/// The room that an item takes, including the line feed before it.
fn item_len(item: &str) -> usize {
    char_count(item) + 2 * item.matches('\n').count() + 3
}

fn char_count(text: &str) -> usize {
    text.chars().count()
}

/// Truncates an item so that it fits.
fn truncate_to_fit(item: &str, max_chars: usize) -> String {
    let mut most = max_chars;
    loop {
        let text = truncate(item, most);
        let over = item_len(&text).saturating_sub(max_chars);
        if over == 0 || most == 0 {
            return text;
        }
        most = most.saturating_sub(over);
    }
}

/// Truncates a text to `most` characters, ending in `…` if something is cut.
pub(crate) fn truncate(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
            format!("{}…", text[..end].trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section(title: &'static str, items: &[&str], share: usize) -> AddendumSection {
        AddendumSection { title, items: items.iter().map(ToString::to_string).collect(), share }
    }

    #[test]
    fn a_list_keeps_its_newest_items_and_counts_the_omitted_ones() {
        let list = section("T:", &["one", "two\nlines", "three"], 100);
        assert_eq!(list.render(100), "T:\n- one\n- two\n  lines\n- three");
        assert_eq!(list.render(22), "T:\n- (1 earlier item omitted)\n- two\n  lines\n- three");
        assert_eq!(list.render(10), "T:\n- (2 earlier items omitted)\n- three");
        assert_eq!(list.render(0), "T:\n- (3 earlier items omitted)");
        let long = "x".repeat(100);
        assert_eq!(
            section("T:", &["a", &long], 1).render(50),
            format!("T:\n- (1 earlier item omitted)\n- {}…", "x".repeat(46))
        );
    }

    #[test]
    fn lists_use_the_room_that_other_lists_do_not_need() {
        let long = "x".repeat(60);
        let text = render_sections(&[section("A:", &["a"], 50), section("B:", &[&long, &long], 50)], 300);
        assert_eq!(text, format!("A:\n- a\n\nB:\n- {long}\n- {long}"));
    }

    proptest! {
        #[test]
        fn the_text_never_exceeds_the_room(items in prop::collection::vec("(?s).{0,80}", 0..12), max_chars in 60usize..600) {
            let half = items.len() / 2;
            let sections = [
                AddendumSection { title: "Some:", items: items[..half].to_vec(), share: 70 },
                AddendumSection { title: "Others:", items: items[half..].to_vec(), share: 60 },
            ];
            prop_assert!(render_sections(&sections, max_chars + 80).chars().count() <= max_chars + 80);
        }
    }
}
