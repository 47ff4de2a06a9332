//! Previews of a whole log, taken in the order of its lines: it remembers the calls, because a result is shown as its call.
//!
//! Not every model gives each call an id of its own. Of several calls with the id, a result answers the one it hangs below.

use rustc_hash::FxHashMap;

use super::{calls_of, line, said_field};
use crate::entry::{Entry, Role};
use crate::scan::Raw;

/// See the module.
#[derive(Debug, Default)]
pub struct Previews {
    home: Option<Box<str>>,
    /// The last call with each id.
    calls: FxHashMap<Box<str>, Made>,
    /// Those before it, where there are several.
    earlier: FxHashMap<Box<str>, Vec<Made>>,
    /// Of each message with calls, the last entry below it that answers one; at first itself.
    ends: Vec<Box<str>>,
}

#[derive(Debug)]
struct Made {
    /// The number of the message among those with calls.
    message: usize,
    line: Box<str>,
}

impl Previews {
    /// `home` is the user's home folder, which is written `~`.
    pub fn new(home: Option<&str>) -> Previews {
        Previews { home: home.map(Into::into), ..Previews::default() }
    }

    pub fn preview(&mut self, entry: &Entry<'_>) -> String {
        self.remember(entry);
        let answered = (entry.role == Role::ToolResult).then(|| said_field(entry, "toolCallId")).flatten();
        let Some((message, call)) = answered.and_then(Raw::text).and_then(|id| self.call(&id, entry)) else {
            return line(entry, &|_| None);
        };
        if let Some(end) = self.ends.get_mut(message) {
            *end = (&*entry.id).into();
        }
        line(entry, &|_| Some(call.clone()))
    }

    fn remember(&mut self, entry: &Entry<'_>) {
        let calls = calls_of(entry);
        if calls.is_empty() {
            return;
        }
        let message = self.ends.len();
        self.ends.push((&*entry.id).into());
        for (id, call) in calls {
            let made = Made { message, line: call.line(self.home.as_deref()).into() };
            if let Some(old) = self.calls.insert((&*id).into(), made) {
                self.earlier.entry((&*id).into()).or_default().push(old);
            }
        }
    }

    /// The call that a result answers, and the message it is in.
    fn call(&self, id: &str, result: &Entry<'_>) -> Option<(usize, String)> {
        let last = self.calls.get(id)?;
        let is_above =
            |made: &&Made| result.parent.as_deref() == self.ends.get(made.message).map(|end| &**end);
        let above = self.earlier.get(id).and_then(|earlier| {
            let mut all = std::iter::once(last).chain(earlier.iter().rev());
            all.find(is_above)
        });
        let made = above.unwrap_or(last);
        Some((made.message, made.line.to_string()))
    }
}
