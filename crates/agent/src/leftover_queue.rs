//! Prompts that were queued when an earlier process died. They go back into the editor, except one that was
//! delivered just before the crash: a prompt is stored as an entry before it leaves the queue.

use osier_protocol::{Prompt, PromptQueue};
use osier_session::{Cursor, Session, SessionError, SessionState};
use osier_store::StoreError;
use osier_tree::entry::{Entry, parse_entry};
use osier_tree::projection::card::message_text;
use osier_tree::projection::preview::display_text;
use osier_tree::{EntryKind, MessageRole, Seq};
use serde::Deserialize;
use serde_json::Value;

use crate::context::read_lines;
use crate::error::AgentError;
use crate::queue::{SETTING, into_prompts};

/// Reads the leftover prompts. Writes nothing: the setting stays until the user sends a prompt. `None` if another process runs a
/// turn here: the prompts are in its queue.
pub(crate) async fn read_leftover_queue(cursor: &Cursor) -> Result<Option<Vec<Prompt>>, AgentError> {
    let (state, at) = cursor.state_and_place();
    let stored = state.tree.marks().settings().get(SETTING);
    let Some(mut queue) = stored.map(read_queue) else { return Ok(Some(Vec::new())) };
    match cursor.check_no_foreign_turn(&state.tree, at).await {
        Err(SessionError::Store(StoreError::Leased { .. })) => return Ok(None),
        checked => checked?,
    }
    let Some(queued) = last_queue_change(cursor.session(), &state).await? else {
        return Ok(Some(into_prompts(queue)));
    };
    let later = state.tree.heads().ancestors(at).take_while(|seq| *seq > queued);
    let delivered: Vec<Seq> = later.filter(|seq| state.tree.head(*seq).role == MessageRole::User).collect();
    let lines = read_lines(cursor.session(), &state, &delivered).await?;
    for entry in delivered.iter().rev().filter_map(|seq| parse_entry(lines.get(seq)?).ok()) {
        remove_text(&mut queue, &typed_text(&entry));
    }
    Ok(Some(into_prompts(queue)))
}

/// The entry that last changed the queue. It is among the last `config` entries, so this reads few lines.
async fn last_queue_change(session: &Session, state: &SessionState) -> Result<Option<Seq>, AgentError> {
    let tree = &state.tree;
    let configs = (0..tree.len()).rev().map(Seq::new).filter(|seq| tree.head(*seq).kind == EntryKind::Config);
    for seq in configs {
        let lines = read_lines(session, state, &[seq]).await?;
        let entry = lines.get(&seq).and_then(|line| parse_entry(line).ok());
        if entry.is_some_and(|entry| changes_queue(&entry)) {
            return Ok(Some(seq));
        }
    }
    Ok(None)
}

/// Reads each prompt on its own: one that another version wrote must not hide the others.
fn read_queue(stored: &Value) -> PromptQueue {
    let read = |prompt: &Value| {
        let text = || Prompt::text(prompt["text"].as_str().unwrap_or_default());
        Prompt::deserialize(prompt).unwrap_or_else(|_| text())
    };
    let prompts = |key: &str| stored[key].as_array().into_iter().flatten().map(read).collect();
    PromptQueue { steering: prompts("steering"), follow_up: prompts("followUp") }
}

fn changes_queue(entry: &Entry<'_>) -> bool {
    let set = entry.get("data").and_then(|data| data.get("set"));
    set.is_some_and(|set| set.get(SETTING).is_some())
}

/// The text that the user typed. A message from a template stores it next to the expanded text.
fn typed_text(entry: &Entry<'_>) -> String {
    let Some(message) = entry.message else { return String::new() };
    display_text(entry).map_or_else(|| message_text(message), std::borrow::Cow::into_owned)
}

/// Removes the first prompt with this text.
fn remove_text(queue: &mut PromptQueue, text: &str) {
    for prompts in [&mut queue.steering, &mut queue.follow_up] {
        if let Some(at) = prompts.iter().position(|prompt| prompt.text == text) {
            prompts.remove(at);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_of_another_version_does_not_hide_the_others() {
        let unknown = json!({ "text": "from the future", "message": { "role": "oracle", "content": 7 } });
        let queue = read_queue(&json!({ "steering": [unknown, { "text": "known" }], "followUp": 3 }));
        let texts: Vec<&str> = queue.steering.iter().map(|prompt| prompt.text.as_str()).collect();
        assert_eq!((texts, queue.follow_up.len()), (vec!["from the future", "known"], 0));
    }
}
