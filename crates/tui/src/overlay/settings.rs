//! The settings list: each setting with its value and its source. Selecting one edits it and saves the change.

use super::list::{List, Row, Taken};
use super::{Ask, News, Outcome, Overlay, Pick, Room};
use crate::host::SettingRow;
use crate::key::Key;
use crate::msg::Action;
use crate::screen::Frame;

/// The settings and the list that shows them.
#[derive(Debug)]
pub(crate) struct Settings {
    rows: Vec<SettingRow>,
    list: List,
}

impl Settings {
    pub(crate) fn new(rows: Vec<SettingRow>) -> Settings {
        Settings { list: List::new("Settings", rows.iter().map(row).collect()), rows }
    }

    fn change(&self, at: usize) -> Outcome {
        let SettingRow { key, value, help, choices, .. } = self.rows[at].clone();
        let title = if help.is_empty() { key.clone() } else { format!("{key}: {help}") };
        if choices.is_empty() {
            let then = move |value| Outcome::End(vec![Action::ChangeSetting { key: key.clone(), value }]);
            return Outcome::Open(Box::new(Ask::new(&title, &value, then)));
        }
        let rows =
            choices.iter().map(|name| Row { name: name.clone(), now: *name == value, ..Row::default() });
        let rows = rows.collect();
        Outcome::Open(Box::new(Pick::new(&title, rows, move |at| {
            Outcome::End(vec![Action::ChangeSetting { key: key.clone(), value: choices[at].clone() }])
        })))
    }
}

fn row(setting: &SettingRow) -> Row {
    let value = if setting.value.is_empty() { "(not set)" } else { &setting.value };
    Row {
        name: setting.key.clone(),
        told: format!("{value}   {}", setting.source),
        note: setting.help.clone(),
        now: false,
    }
}

impl Overlay for Settings {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        match self.list.key(key, room) {
            Taken::Nothing => Outcome::Stay,
            Taken::Chosen(at) => self.change(at),
            Taken::Closed => Outcome::Close,
        }
    }

    fn paste(&mut self, text: &str) {
        self.list.paste(text);
    }

    fn view(&self, room: Room) -> Frame {
        self.list.view(room)
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        if let News::Settings(rows) = news {
            self.rows = rows.to_vec();
            self.list.renew(rows.iter().map(row).collect());
        }
        Outcome::Stay
    }
}

#[cfg(test)]
mod tests;
