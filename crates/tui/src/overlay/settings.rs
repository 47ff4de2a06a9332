//! The settings list: each setting with its value and its source. Selecting one edits it and saves the change.

use super::filter_list::{FilterList, ListEvent, ListRow, NOT_SET};
use super::{ListPicker, Overlay, OverlayArea, OverlayEvent, OverlayOutcome, TextPrompt};
use crate::key::Key;
use crate::msg::Action;
use crate::screen::Frame;
use osier_protocol::engine_request::SettingRow;

/// The settings and the list that shows them.
#[derive(Debug)]
pub(crate) struct SettingsPanel {
    rows: Vec<SettingRow>,
    list: FilterList,
}

impl SettingsPanel {
    pub(crate) fn new(rows: Vec<SettingRow>) -> SettingsPanel {
        SettingsPanel { list: FilterList::new("Settings", rows.iter().map(list_row).collect()), rows }
    }

    fn edit_setting(&self, at: usize) -> OverlayOutcome {
        let SettingRow { key, value, help, choices, .. } = self.rows[at].clone();
        let title = if help.is_empty() { key.clone() } else { format!("{key}: {help}") };
        if choices.is_empty() {
            let then = move |value| {
                OverlayOutcome::CloseAndRun(vec![Action::ChangeSetting { key: key.clone(), value }])
            };
            return OverlayOutcome::Open(Box::new(TextPrompt::new(&title, &value, then)));
        }
        let rows = choices.iter().map(|name| ListRow {
            name: name.clone(),
            is_current: *name == value,
            ..ListRow::default()
        });
        let rows = rows.collect();
        OverlayOutcome::Open(Box::new(ListPicker::new(&title, rows, move |at| {
            OverlayOutcome::CloseAndRun(vec![Action::ChangeSetting {
                key: key.clone(),
                value: choices[at].clone(),
            }])
        })))
    }
}

fn list_row(setting: &SettingRow) -> ListRow {
    let value = if setting.value.is_empty() { NOT_SET } else { &setting.value };
    ListRow {
        name: setting.key.clone(),
        description: value.to_owned(),
        source: setting.source.clone(),
        note: setting.help.clone(),
        is_current: false,
    }
}

impl Overlay for SettingsPanel {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        match self.list.handle_key(key, area) {
            ListEvent::StayOpen => OverlayOutcome::Stay,
            ListEvent::Selected(at) => self.edit_setting(at),
            ListEvent::Closed => OverlayOutcome::Close,
        }
    }

    fn paste(&mut self, text: &str) {
        self.list.paste(text);
    }

    fn view(&self, area: OverlayArea) -> Frame {
        self.list.view(area)
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        if let OverlayEvent::Settings(rows) = event {
            self.rows = rows.to_vec();
            self.list.set_rows(rows.iter().map(list_row).collect());
        }
        OverlayOutcome::Stay
    }
}

#[cfg(test)]
mod tests;
