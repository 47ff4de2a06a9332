//! The help: commands and keys in groups, with a search.

use super::filter_list::{edited_query, search_frame, search_head};
use super::{Overlay, OverlayArea, OverlayOutcome};
use crate::key::{Key, KeyCode};
use crate::panel::key_hints;
use crate::screen::Frame;
use crate::text::{Line, Style, wrap};
use crate::theme::ColorRole;

/// The columns of the names, if there is room for two columns.
const NAME_COLUMNS: usize = 26;
const MIN_TWO_COLUMNS: usize = 68;

/// A title with names and what they do.
#[derive(Debug, Clone)]
pub(crate) struct HelpGroup {
    pub(crate) title: &'static str,
    pub(crate) rows: Vec<(String, String)>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct HelpPage {
    groups: Vec<HelpGroup>,
    query: String,
    first_line: usize,
}

impl HelpPage {
    pub(crate) fn new(groups: Vec<HelpGroup>) -> HelpPage {
        HelpPage { groups, query: String::new(), first_line: 0 }
    }

    /// The lines of the groups with rows that contain all words of the query.
    fn lines(&self, columns: usize) -> Vec<Line> {
        let query = self.query.to_lowercase();
        let matches = |(name, help): &&(String, String)| {
            let text = format!("{name} {help}").to_lowercase();
            query.split_whitespace().all(|word| text.contains(word))
        };
        let mut lines = Vec::new();
        for group in &self.groups {
            let rows: Vec<_> = group.rows.iter().filter(matches).collect();
            if rows.is_empty() {
                continue;
            }
            if !lines.is_empty() {
                lines.push(Line::new());
            }
            lines.push(Line::styled(Style::from(ColorRole::Heading).bold(), group.title));
            lines.extend(rows.into_iter().flat_map(|(name, help)| help_row(name, help, columns)));
        }
        if lines.is_empty() {
            lines.push(Line::styled(ColorRole::Dim, "no match; esc clears the search"));
        }
        lines
    }

    fn page_height(area: OverlayArea) -> usize {
        area.rows.saturating_sub(3).max(1)
    }

    fn set_query(&mut self, query: String) {
        (self.query, self.first_line) = (query, 0);
    }
}

/// A name with its help text, next to it or below it.
fn help_row(name: &str, help: &str, columns: usize) -> Vec<Line> {
    let is_wide = columns >= MIN_TWO_COLUMNS;
    let indent = if is_wide { NAME_COLUMNS } else { 4 };
    let mut name = Line::styled(ColorRole::Accent, &format!("  {name}"));
    let mut help = wrap(&Line::styled(ColorRole::Text, help), columns.saturating_sub(indent)).into_iter();
    if is_wide && name.width() < indent {
        let pad = " ".repeat(indent - name.width());
        name.push(ColorRole::Text, &pad);
        name.spans.extend(help.next().unwrap_or_default().spans);
    }
    let blank = " ".repeat(indent);
    std::iter::once(name).chain(help.map(|line| line.prepend(ColorRole::Text, &blank))).collect()
}

impl Overlay for HelpPage {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        let height = HelpPage::page_height(area);
        let most = self.lines(area.columns).len().saturating_sub(height);
        self.first_line = match (key.code, key.ctrl) {
            (KeyCode::Escape, _) if !self.query.is_empty() => {
                self.set_query(String::new());
                0
            }
            (KeyCode::Escape | KeyCode::Enter, _) | (KeyCode::Char('c'), true) => {
                return OverlayOutcome::Close;
            }
            (KeyCode::Up, _) => self.first_line.saturating_sub(1),
            (KeyCode::Down, _) => (self.first_line + 1).min(most),
            (KeyCode::PageUp | KeyCode::Left, _) => self.first_line.saturating_sub(height),
            (KeyCode::PageDown | KeyCode::Right, _) => (self.first_line + height).min(most),
            (KeyCode::Home, _) => 0,
            (KeyCode::End, _) => most,
            _ => {
                if let Some(query) = edited_query(&self.query, key) {
                    self.set_query(query);
                }
                self.first_line
            }
        };
        OverlayOutcome::Stay
    }

    fn paste(&mut self, text: &str) {
        self.set_query(format!("{}{}", self.query, text.replace('\n', " ")));
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let mut lines = search_head("Help", &self.query);
        let (all, height) = (self.lines(area.columns), HelpPage::page_height(area));
        let more = all.len().saturating_sub(self.first_line + height);
        lines.extend(all.into_iter().skip(self.first_line).take(height));
        let below = format!("scroll, {more} more lines");
        let scroll = (more > 0).then_some(("↑↓", below.as_str()));
        let keys: Vec<(&str, &str)> = scroll.into_iter().chain([("esc", "close")]).collect();
        lines.push(key_hints(&keys, area.columns));
        search_frame(lines, &self.query, area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::LocalClock;
    use crate::text::plain;

    fn page() -> HelpPage {
        let rows =
            |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), format!("does {name}"))).collect();
        HelpPage::new(vec![
            HelpGroup { title: "Tree", rows: rows(&["/tree", "alt+t"]) },
            HelpGroup { title: "Sessions", rows: rows(&["/resume"]) },
        ])
    }

    fn area(columns: usize, rows: usize) -> OverlayArea {
        OverlayArea { columns, rows, now: 0, clock: LocalClock::default() }
    }

    #[test]
    fn rows_are_in_groups_and_the_search_keeps_matching_ones() {
        let mut page = page();
        expect_test::expect![[r#"
            Help
            / type to search
            Tree
              /tree                   does /tree
              alt+t                   does alt+t

            Sessions
              /resume                 does /resume
            esc close
        "#]]
        .assert_eq(&plain(&page.view(area(70, 20)).lines));
        page.paste("RES");
        assert_eq!(
            plain(&page.view(area(40, 20)).lines),
            "Help\n/ RES\nSessions\n  /resume\n    does /resume\nesc close\n"
        );
        page.handle_key(KeyCode::Escape.into(), area(40, 20));
        assert!(page.query.is_empty());
        assert!(matches!(page.handle_key(KeyCode::Escape.into(), area(40, 20)), OverlayOutcome::Close));
    }

    #[test]
    fn a_low_screen_scrolls_and_says_how_much_is_left() {
        let mut page = page();
        assert!(plain(&page.view(area(70, 5)).lines).contains("scroll, 4 more lines"));
        page.handle_key(KeyCode::End.into(), area(70, 5));
        assert!(plain(&page.view(area(70, 5)).lines).contains("/resume"));
    }
}
