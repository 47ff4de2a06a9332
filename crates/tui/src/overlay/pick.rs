//! Picks one row of a list: a model, a thinking level, a mode.

use std::fmt;

use super::list::{List, Row, Taken};
use super::{Outcome, Overlay, Room};
use crate::key::Key;
use crate::screen::Frame;

type Then = Box<dyn Fn(usize) -> Outcome + Send>;

/// A list, and what a selection does.
pub(crate) struct Pick {
    list: List,
    then: Then,
}

impl Pick {
    pub(crate) fn new(title: &str, rows: Vec<Row>, then: impl Fn(usize) -> Outcome + Send + 'static) -> Pick {
        Pick { list: List::new(title, rows), then: Box::new(then) }
    }
}

impl fmt::Debug for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pick").field("list", &self.list).finish_non_exhaustive()
    }
}

impl Overlay for Pick {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        match self.list.key(key, room) {
            Taken::Nothing => Outcome::Stay,
            Taken::Chosen(at) => (self.then)(at),
            Taken::Closed => Outcome::Close,
        }
    }

    fn paste(&mut self, text: &str) {
        self.list.paste(text);
    }

    fn view(&self, room: Room) -> Frame {
        self.list.view(room)
    }
}
