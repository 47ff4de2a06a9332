//! Prompts that were queued when an earlier process died. They go back into the editor, except one that was
//! delivered just before the crash: a prompt is stored as an entry before it leaves the queue.

use osier_tree::entry::{Entry, read_entry};
use osier_tree::projection::card::text_of;
use osier_tree::projection::preview::display_text;
use osier_tree::{Kind, Role, Seq, SessionTree};
use serde::Deserialize;

use crate::error::Error;
use crate::queue::{KEY, Queue};
use crate::saying::Said;
use crate::workplace::Workplace;

impl Workplace {
    /// Reads the leftover prompts. Writes nothing: the setting stays until the user sends a prompt.
    pub(crate) async fn left_waiting(&self) -> Result<Vec<Said>, Error> {
        let (state, at) = self.here();
        let stored = state.tree.marks().settings().get(KEY);
        let Some(mut queue) = stored.and_then(|queue| Queue::deserialize(queue).ok()) else {
            return Ok(Vec::new());
        };
        let Some(queued) = self.last_change(&state.tree).await? else { return Ok(queue.into_all()) };
        let later = state.tree.heads().up(at).take_while(|seq| *seq > queued);
        let delivered: Vec<Seq> = later.filter(|seq| state.tree.head(*seq).role == Role::User).collect();
        let lines = self.lines(&state, &delivered).await?;
        for entry in delivered.iter().rev().filter_map(|seq| read_entry(lines.get(seq)?).ok()) {
            queue.forget(&typed(&entry));
        }
        Ok(queue.into_all())
    }

    /// The entry that last changed the queue. It is among the last `config` entries, so this reads few lines.
    async fn last_change(&self, tree: &SessionTree) -> Result<Option<Seq>, Error> {
        let state = self.session.state();
        let configs = (0..tree.len()).rev().map(Seq::new).filter(|seq| tree.head(*seq).kind == Kind::Config);
        for seq in configs {
            let lines = self.lines(&state, &[seq]).await?;
            let entry = lines.get(&seq).and_then(|line| read_entry(line).ok());
            if entry.is_some_and(|entry| changes_queue(&entry)) {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }
}

fn changes_queue(entry: &Entry<'_>) -> bool {
    let set = entry.get("data").and_then(|data| data.get("set"));
    set.is_some_and(|set| set.get(KEY).is_some())
}

/// The text that the user typed. A message from a template stores it next to the expanded text.
fn typed(entry: &Entry<'_>) -> String {
    let Some(message) = entry.message else { return String::new() };
    display_text(entry).map_or_else(|| text_of(message), std::borrow::Cow::into_owned)
}

impl Queue {
    /// Removes the first prompt with this text.
    fn forget(&mut self, text: &str) {
        for queue in [&mut self.steering, &mut self.follow_up] {
            if let Some(at) = queue.iter().position(|prompt| prompt.text == text) {
                queue.remove(at);
                return;
            }
        }
    }
}
