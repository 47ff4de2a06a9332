//! Picks one row of a list: a model, a thinking level, a mode.

use std::fmt;

use super::filter_list::{FilterList, ListEvent, ListRow};
use super::{Overlay, OverlayArea, OverlayOutcome};
use crate::key::Key;
use crate::screen::Frame;

type SelectionHandler = Box<dyn Fn(usize) -> OverlayOutcome + Send>;

/// A list, and what a selection does.
pub(crate) struct ListPicker {
    list: FilterList,
    on_select: SelectionHandler,
}

impl ListPicker {
    pub(crate) fn new(
        title: &str,
        rows: Vec<ListRow>,
        then: impl Fn(usize) -> OverlayOutcome + Send + 'static,
    ) -> ListPicker {
        ListPicker { list: FilterList::new(title, rows), on_select: Box::new(then) }
    }
}

impl fmt::Debug for ListPicker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pick").field("list", &self.list).finish_non_exhaustive()
    }
}

impl Overlay for ListPicker {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        match self.list.handle_key(key, area) {
            ListEvent::StayOpen => OverlayOutcome::Stay,
            ListEvent::Selected(at) => (self.on_select)(at),
            ListEvent::Closed => OverlayOutcome::Close,
        }
    }

    fn paste(&mut self, text: &str) {
        self.list.paste(text);
    }

    fn view(&self, area: OverlayArea) -> Frame {
        self.list.view(area)
    }
}
