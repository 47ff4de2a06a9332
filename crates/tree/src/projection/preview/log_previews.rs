//! Previews of a whole log, line by line. Remembers the calls, because a result is shown as its call.
//!
//! Some models reuse call ids. If several calls have the same id, a result belongs to the one that it is below.

use rustc_hash::FxHashMap;

use super::{preview_line, tool_calls};
use crate::entry::{Entry, MessageRole};
use crate::scan::RawJson;

/// Makes previews of the entries of a log, in log order.
#[derive(Debug, Default)]
pub struct Previews {
    home: Option<Box<str>>,
    /// The last call with each id.
    calls: FxHashMap<Box<str>, RememberedCall>,
    /// The earlier calls with the same id.
    earlier: FxHashMap<Box<str>, Vec<RememberedCall>>,
    /// For each message with calls, the last entry below it that answers one; at first the message itself.
    last_results: Vec<Box<str>>,
}

#[derive(Debug)]
struct RememberedCall {
    /// The index of the message among those with calls.
    message: usize,
    line: Box<str>,
}

impl Previews {
    /// `home` is the user's home directory, shown as `~`.
    pub fn new(home: Option<&str>) -> Previews {
        Previews { home: home.map(Into::into), ..Previews::default() }
    }

    pub fn preview(&mut self, entry: &Entry<'_>) -> String {
        self.remember(entry);
        let answered =
            (entry.role == MessageRole::ToolResult).then_some(entry.message_parts.tool_call_id).flatten();
        let Some((message, call)) = answered.and_then(RawJson::text).and_then(|id| self.call(&id, entry))
        else {
            return preview_line(entry, &|_| None);
        };
        if let Some(end) = self.last_results.get_mut(message) {
            *end = (&*entry.id).into();
        }
        call
    }

    fn remember(&mut self, entry: &Entry<'_>) {
        let calls = tool_calls(entry);
        if calls.is_empty() {
            return;
        }
        let message = self.last_results.len();
        self.last_results.push((&*entry.id).into());
        for (id, call) in calls {
            let remembered = RememberedCall { message, line: call.line(self.home.as_deref()).into() };
            if let Some(old) = self.calls.insert((&*id).into(), remembered) {
                self.earlier.entry((&*id).into()).or_default().push(old);
            }
        }
    }

    /// The message and the call that a result answers.
    fn call(&self, id: &str, result: &Entry<'_>) -> Option<(usize, String)> {
        let last = self.calls.get(id)?;
        let is_above = |remembered: &&RememberedCall| {
            result.parent.as_deref() == self.last_results.get(remembered.message).map(|end| &**end)
        };
        let above = self.earlier.get(id).and_then(|earlier| {
            let mut all = std::iter::once(last).chain(earlier.iter().rev());
            all.find(is_above)
        });
        let remembered = above.unwrap_or(last);
        Some((remembered.message, remembered.line.to_string()))
    }
}
