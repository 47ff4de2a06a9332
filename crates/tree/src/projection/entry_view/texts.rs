//! Every text that people can read in an entry, for a search.

use serde_json::Value;

use super::{EntryContent, EntryView, MessageView, ReplyBlockView};

impl EntryView {
    /// Calls `each` with every text of the entry, including folded parts such as thinking and the arguments of calls.
    pub fn for_each_text<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match &self.content {
            EntryContent::Message(message) => message_texts(message, each),
            EntryContent::Compaction(compaction) => each(&compaction.summary),
            EntryContent::BranchSummary(branch) => each(&branch.summary),
            EntryContent::Backtrack(backtrack) => {
                each(&backtrack.note);
                each(&backtrack.addendum);
            }
            EntryContent::Subagents(batch) => {
                for item in &batch.items {
                    each(&item.text);
                    item.agent.iter().chain(&item.error).for_each(|text| each(text));
                }
                for evidence in &batch.evidence {
                    each(&evidence.title);
                    each(&evidence.summary);
                }
            }
            EntryContent::Change(_)
            | EntryContent::Custom { .. }
            | EntryContent::Update { .. }
            | EntryContent::Other => {}
        }
    }
}

fn message_texts<'a>(message: &'a MessageView, each: &mut dyn FnMut(&'a str)) {
    match message {
        MessageView::User(user) => each(&user.text),
        MessageView::Assistant(reply) => {
            for block in &reply.blocks {
                match block {
                    ReplyBlockView::Text(text) | ReplyBlockView::Thinking(text) => each(text),
                    ReplyBlockView::Call(call) => {
                        each(&call.name);
                        value_texts(&call.arguments, each);
                    }
                }
            }
            reply.error.iter().for_each(|text| each(text));
        }
        MessageView::ToolResult(result) => {
            each(&result.tool_name);
            each(&result.text);
        }
        MessageView::UserCommand(run) => {
            each(&run.command);
            each(&run.output);
        }
        MessageView::Custom(custom) => each(&custom.text),
        MessageView::Other(other) => each(&other.text),
    }
}

/// The texts in a JSON value.
fn value_texts<'a>(value: &'a Value, each: &mut dyn FnMut(&'a str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| value_texts(item, each)),
        Value::Object(fields) => fields.values().for_each(|field| value_texts(field, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
