//! Which part of a turn is the answer, and when it can be printed.
//!
//! Only the last message of a turn is the answer: text before a tool call announces what the model is about to do. On a
//! terminal everything is printed as it streams. A pipe gets only the answer, which is known only when the message has ended,
//! unless there are no tools; then all text is printed as it arrives.

use osier_protocol::{ClientEvent, EntryId, EntryLine, ReplyDelta};
use osier_tree::projection::entry_view::{AssistantView, EntryContent, MessageView, ReplyBlockView};
use osier_tree::projection::stream_sanitizer::StreamSanitizer;

/// Extracts the text to print from the events of a turn.
#[derive(Debug)]
pub struct AnswerFilter {
    eager: bool,
    clean: StreamSanitizer,
    /// The draft that is being printed.
    streaming: Option<EntryId>,
    /// Something was printed.
    has_output: bool,
    at_line_start: bool,
    /// Part of a reply was printed that broke off and is requested again.
    withdrawn: bool,
    /// The last message, if it calls no tools.
    last: Option<String>,
}

impl AnswerFilter {
    /// `eager`: print everything as it streams.
    pub fn new(eager: bool) -> AnswerFilter {
        AnswerFilter {
            eager,
            clean: StreamSanitizer::default(),
            streaming: None,
            has_output: false,
            at_line_start: true,
            withdrawn: false,
            last: None,
        }
    }

    /// The text to print for this event.
    pub fn handle_event(&mut self, event: &ClientEvent) -> String {
        match event {
            ClientEvent::DraftDelta { id, delta, .. } if self.eager => self.draft_text(id, delta),
            ClientEvent::DraftDropped { id } if self.streaming.as_ref() == Some(id) => {
                self.withdrawn = true;
                self.streaming = None;
                self.break_line()
            }
            ClientEvent::Entry(event) => self.finished_message(&event.entry, event.draft_id.as_ref()),
            _ => String::new(),
        }
    }

    /// Whether text was printed that is not part of any answer.
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    /// The rest of the answer, after a successful turn.
    pub fn finish(&mut self) -> String {
        match self.last.take() {
            Some(text) if !self.eager => self.clean_text(&text) + &self.break_line(),
            _ => String::new(),
        }
    }

    fn draft_text(&mut self, id: &EntryId, delta: &ReplyDelta) -> String {
        match delta {
            ReplyDelta::TextDelta { delta, .. } => {
                let gap =
                    if self.streaming.as_ref() == Some(id) { String::new() } else { self.paragraph_break() };
                self.streaming = Some(id.clone());
                gap + &self.clean_text(delta)
            }
            // Two blocks of text are two paragraphs.
            ReplyDelta::TextEnd { .. } => self.break_line(),
            _ => String::new(),
        }
    }

    fn finished_message(&mut self, line: &EntryLine, draft: Option<&EntryId>) -> String {
        let Some(reply) = reply(line) else { return String::new() };
        let text = reply_text(reply);
        let was_shown = self.streaming.take().is_some_and(|id| draft == Some(&id));
        let shown = match self.eager {
            true if was_shown => self.break_line(),
            true if !text.is_empty() => self.paragraph_break() + &self.clean_text(&text) + &self.break_line(),
            _ => String::new(),
        };
        self.last = (!calls_tools(reply)).then_some(text);
        shown
    }

    /// A blank line between the previous text and the next.
    fn paragraph_break(&mut self) -> String {
        let ended = self.break_line();
        if self.has_output { ended + "\n" } else { ended }
    }

    fn clean_text(&mut self, text: &str) -> String {
        let text = self.clean.push(text);
        if let Some(last) = text.chars().last() {
            self.has_output = true;
            self.at_line_start = last == '\n';
        }
        text
    }

    /// Ends the line, if one is open.
    pub fn break_line(&mut self) -> String {
        let mut rest = self.clean.finish();
        if !rest.is_empty() {
            self.at_line_start = rest.ends_with('\n');
        }
        if !self.at_line_start {
            rest.push('\n');
            self.at_line_start = true;
        }
        rest
    }
}

/// A complete reply, if the entry is one.
fn reply(line: &EntryLine) -> Option<&AssistantView> {
    match &line.view()?.content {
        EntryContent::Message(MessageView::Assistant(reply)) => Some(reply),
        _ => None,
    }
}

/// The text of a reply; each block starts on a new line.
fn reply_text(reply: &AssistantView) -> String {
    let texts = reply.blocks.iter().filter_map(|block| match block {
        ReplyBlockView::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn calls_tools(reply: &AssistantView) -> bool {
    reply.blocks.iter().any(|block| matches!(block, ReplyBlockView::Call(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::EntryEvent;
    use serde_json::{Value, json};

    fn text(id: &str, text: &str) -> ClientEvent {
        let delta = ReplyDelta::TextDelta { block: 0, delta: text.to_owned() };
        ClientEvent::DraftDelta { id: id.into(), index: 0, delta: delta.into() }
    }

    fn reply_entry(id: &str, content: &Value) -> ClientEvent {
        let message = json!({ "role": "assistant", "content": content });
        let line = json!({ "type": "message", "id": id, "parentId": null, "message": message }).to_string();
        ClientEvent::Entry(EntryEvent {
            seq: 0,
            generation: None,
            id: id.into(),
            draft_id: Some(id.into()),
            foreign: false,
            off_path: false,
            is_hook_message: false,
            entry: line.into_bytes().into(),
        })
    }

    fn turn() -> [ClientEvent; 6] {
        let look =
            json!([{ "type": "text", "text": "I look." }, { "type": "toolCall", "id": "c", "name": "ls" }]);
        [
            text("a", "I "),
            text("a", "look."),
            reply_entry("a", &look),
            text("b", "There is "),
            text("b", "one."),
            reply_entry("b", &json!([{ "type": "text", "text": "There is one." }])),
        ]
    }

    fn shown(answer: &mut AnswerFilter, events: &[ClientEvent]) -> Vec<String> {
        let mut shown: Vec<String> = events.iter().map(|event| answer.handle_event(event)).collect();
        shown.push(answer.finish());
        shown
    }

    #[test]
    fn a_terminal_gets_everything_as_it_streams() {
        let mut answer = AnswerFilter::new(true);
        assert_eq!(shown(&mut answer, &turn()), ["I ", "look.", "\n", "\nThere is ", "one.", "\n", ""]);
    }

    #[test]
    fn a_pipe_gets_only_the_answer() {
        let mut answer = AnswerFilter::new(false);
        assert_eq!(shown(&mut answer, &turn()).concat(), "There is one.\n");
        let mut answer = AnswerFilter::new(false);
        assert_eq!(
            shown(&mut answer, &turn()[..3]).concat(),
            "",
            "a message with a tool call is not the answer"
        );
    }

    #[test]
    fn a_retried_reply_starts_on_a_new_line() {
        let mut answer = AnswerFilter::new(true);
        let dropped = ClientEvent::DraftDropped { id: "a".into() };
        let whole = reply_entry("b", &json!([{ "type": "text", "text": "There is one." }]));
        let events = [text("a", "There"), dropped, text("b", "There is one."), whole];
        assert_eq!(shown(&mut answer, &events).concat(), "There\n\nThere is one.\n");
        assert!(answer.is_withdrawn());
    }

    #[test]
    fn a_message_that_was_not_streamed_is_printed_when_it_is_stored() {
        let mut answer = AnswerFilter::new(true);
        let blocks = json!([{ "type": "text", "text": "one" }, { "type": "text", "text": "two\n" }]);
        assert_eq!(shown(&mut answer, &[reply_entry("a", &blocks)]).concat(), "one\ntwo\n");
    }

    #[test]
    fn control_characters_in_a_reply_are_replaced() {
        let mut answer = AnswerFilter::new(true);
        let evil = [text("a", "x\u{1b}"), text("a", "[2Jy\u{7}"), reply_entry("a", &json!([]))];
        assert_eq!(shown(&mut answer, &evil).concat(), "x\u{fffd}[2Jy\u{fffd}\n");
    }
}
