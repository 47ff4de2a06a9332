//! Lists in limited room: every list gets its share, and what one does not need the others may take. Of each list the newest
//! items are kept, in the order of time, and it says how many are missing.

/// One list of a note.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// Oldest first.
    pub(super) items: Vec<String>,
    /// How much of the room it gets, compared to the others.
    pub(super) share: usize,
}

/// An item shorter than this says nothing.
const LEAST: usize = 40;

/// All lists in at most `room` characters.
pub(super) fn told(sections: &[Section], room: usize) -> String {
    let overhead: usize = sections.iter().map(|section| len(section.title) + len(&missing(9999)) + 2).sum();
    let room = room.saturating_sub(overhead);
    let given = shared(sections, room);
    let lists = sections.iter().zip(given).map(|(section, room)| section.list(room));
    lists.collect::<Vec<_>>().join("\n\n")
}

/// The room of each list: by its share, again and again, until it has all it needs or nothing is left.
fn shared(sections: &[Section], room: usize) -> Vec<usize> {
    let mut given = vec![0; sections.len()];
    let mut rest = room;
    loop {
        let hungry: Vec<usize> = (0..given.len()).filter(|at| sections[*at].need() > given[*at]).collect();
        if hungry.is_empty() || rest == 0 {
            return given;
        }
        let shares: usize = hungry.iter().map(|at| sections[*at].share).sum();
        let pot = rest;
        for at in hungry {
            let section = &sections[at];
            let more = (pot * section.share / shares).max(1).min(section.need() - given[at]).min(rest);
            given[at] += more;
            rest -= more;
        }
    }
}

impl Section {
    fn need(&self) -> usize {
        self.items.iter().map(|item| item_len(item)).sum()
    }

    fn list(&self, mut room: usize) -> String {
        let mut kept: Vec<String> = Vec::new();
        for item in self.items.iter().rev() {
            let need = item_len(item);
            if need <= room {
                kept.push(set_in(item));
                room -= need;
                continue;
            }
            if kept.is_empty() && room >= LEAST {
                kept.push(set_in(&fitting(item, room)));
            }
            break;
        }
        let left_out = self.items.len() - kept.len();
        kept.extend((left_out > 0).then(|| missing(left_out)));
        kept.push(self.title.to_owned());
        kept.reverse();
        kept.join("\n")
    }
}

fn missing(count: usize) -> String {
    match count {
        1 => "- (1 earlier one is left out)".to_owned(),
        count => format!("- ({count} earlier ones are left out)"),
    }
}

/// An item as one of a list, further lines below its first.
fn set_in(item: &str) -> String {
    format!("- {}", item.replace('\n', "\n  "))
}

/// The room it takes, with the line feed before it.
fn item_len(item: &str) -> usize {
    len(item) + 2 * item.matches('\n').count() + 3
}

fn len(text: &str) -> usize {
    text.chars().count()
}

/// The beginning of an item that is too long, so that it fits.
fn fitting(item: &str, room: usize) -> String {
    let mut most = room;
    loop {
        let text = cut(item, most);
        let over = item_len(&text).saturating_sub(room);
        if over == 0 || most == 0 {
            return text;
        }
        most = most.saturating_sub(over);
    }
}

/// At most `most` characters of a text, and a sign if that is not all of it.
pub(crate) fn cut(text: &str, most: usize) -> String {
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

    fn section(title: &'static str, items: &[&str], share: usize) -> Section {
        Section { title, items: items.iter().map(ToString::to_string).collect(), share }
    }

    #[test]
    fn the_newest_are_kept_and_the_missing_counted() {
        let list = section("T:", &["one", "two\nlines", "three"], 100);
        assert_eq!(list.list(100), "T:\n- one\n- two\n  lines\n- three");
        assert_eq!(list.list(22), "T:\n- (1 earlier one is left out)\n- two\n  lines\n- three");
        assert_eq!(list.list(10), "T:\n- (2 earlier ones are left out)\n- three");
        assert_eq!(list.list(0), "T:\n- (3 earlier ones are left out)");
        let long = "x".repeat(100);
        assert_eq!(
            section("T:", &["a", &long], 1).list(50),
            format!("T:\n- (1 earlier one is left out)\n- {}…", "x".repeat(46))
        );
    }

    #[test]
    fn what_one_list_does_not_need_the_others_may_take() {
        let long = "x".repeat(60);
        let told = told(&[section("A:", &["a"], 50), section("B:", &[&long, &long], 50)], 300);
        assert_eq!(told, format!("A:\n- a\n\nB:\n- {long}\n- {long}"));
    }

    proptest! {
        #[test]
        fn the_room_is_enough(items in prop::collection::vec("(?s).{0,80}", 0..12), room in 60usize..600) {
            let half = items.len() / 2;
            let sections = [
                Section { title: "Some:", items: items[..half].to_vec(), share: 70 },
                Section { title: "Others:", items: items[half..].to_vec(), share: 60 },
            ];
            prop_assert!(told(&sections, room + 80).chars().count() <= room + 80);
        }
    }
}
