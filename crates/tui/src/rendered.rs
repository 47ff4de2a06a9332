//! Lines that extensions draw for messages, entries and calls of tools. The terminal asks for what it shows, and shows the last
//! lines that it has until newer ones arrive.

use std::collections::HashMap;

use osier_protocol::{RenderRequest, RenderSubject, RenderTarget, RenderedLines};

use crate::text::{Line, parse_lines};

/// More than a screen shows. When there are more, all are asked for again.
const MAX_SUBJECTS: usize = 1_000;
/// The most lines of one drawing.
const MAX_LINES: usize = 500;

/// See the module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RenderedEntries {
    /// What extensions render, and whether they also draw what usually surrounds it.
    renderers: HashMap<(RenderTarget, String), bool>,
    drawings: HashMap<String, Drawing>,
    /// Changes with every new line.
    version: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Drawing {
    /// What was asked for: columns, expanded, and whether there was a result.
    asked: (usize, bool, bool),
    /// The answer has not arrived.
    waits: bool,
    own_shell: bool,
    call: Option<Vec<Line>>,
    body: Option<Vec<Line>>,
}

/// A call as an extension draws it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenderedCall<'a> {
    pub(crate) call: Option<&'a [Line]>,
    pub(crate) result: Option<&'a [Line]>,
    /// Nothing surrounds the lines.
    pub(crate) own_shell: bool,
}

impl RenderedEntries {
    pub(crate) fn set_renderer(&mut self, target: RenderTarget, name: String, own_shell: bool) {
        self.renderers.insert((target, name), own_shell);
    }

    pub(crate) fn remove_renderer(&mut self, target: RenderTarget, name: String) {
        self.renderers.remove(&(target, name));
        // Osier draws everything until the extension is back.
        self.drawings.clear();
        self.version += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.renderers.is_empty()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The request for something on the screen, if an extension draws it and was not asked yet.
    pub(crate) fn request(
        &mut self,
        subject: RenderSubject,
        columns: usize,
        expanded: bool,
    ) -> Option<RenderRequest> {
        let (target, name, has_result) = match &subject {
            RenderSubject::Message { custom_type, .. } => (RenderTarget::Message, custom_type, true),
            RenderSubject::Entry { custom_type, .. } => (RenderTarget::Entry, custom_type, true),
            RenderSubject::Tool { name, result, .. } => (RenderTarget::Tool, name, result.is_some()),
        };
        let own_shell = *self.renderers.get(&(target, name.clone()))?;
        let is_framed = target == RenderTarget::Tool && !own_shell;
        let columns = if is_framed { columns.saturating_sub(2).max(1) } else { columns };
        let asked = (columns, expanded, has_result);
        if self.drawings.len() >= MAX_SUBJECTS {
            self.drawings.clear();
        }
        let drawing = self.drawings.entry(subject.id().to_owned()).or_default();
        if drawing.asked == asked {
            return None;
        }
        (drawing.asked, drawing.waits, drawing.own_shell) = (asked, true, own_shell);
        Some(RenderRequest { subject, columns, expanded })
    }

    /// Takes lines. Those for another size or another client are ignored.
    pub(crate) fn receive(&mut self, id: &str, columns: usize, expanded: bool, lines: RenderedLines) {
        let Some(drawing) = self.drawings.get_mut(id) else { return };
        if (drawing.asked.0, drawing.asked.1) != (columns, expanded) {
            return;
        }
        let parse = |lines: Vec<String>| parse_lines(&lines[..lines.len().min(MAX_LINES)], columns).0;
        drawing.call = lines.call.map(parse);
        drawing.body = lines.body.map(parse);
        drawing.waits = false;
        self.version += 1;
    }

    pub(crate) fn is_awaited(&self, subject: &RenderSubject) -> bool {
        self.drawings.get(subject.id()).is_some_and(|drawing| drawing.waits)
    }

    /// The lines of a message or an entry.
    pub(crate) fn body(&self, id: &str) -> Option<&[Line]> {
        self.drawings.get(id)?.body.as_deref()
    }

    pub(crate) fn call(&self, id: &str) -> Option<RenderedCall<'_>> {
        let Drawing { call, body, own_shell, .. } = self.drawings.get(id)?;
        (call.is_some() || body.is_some()).then_some(RenderedCall {
            call: call.as_deref(),
            result: body.as_deref(),
            own_shell: *own_shell,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> RenderedLines {
        RenderedLines { call: None, body: Some(vec![text.to_owned()]) }
    }

    fn message() -> RenderSubject {
        RenderSubject::Message { entry: "e1".into(), custom_type: "note".to_owned() }
    }

    #[test]
    fn what_is_shown_is_asked_for_once_per_size() {
        let mut rendered = RenderedEntries::default();
        assert!(rendered.request(message(), 40, false).is_none(), "no extension renders it");
        rendered.set_renderer(RenderTarget::Message, "note".to_owned(), false);
        assert_eq!(rendered.request(message(), 40, false).unwrap().columns, 40);
        assert!(rendered.request(message(), 40, false).is_none());
        assert!(rendered.is_awaited(&message()));
        assert!(rendered.request(message(), 40, true).is_some(), "expanded, it looks different");
    }

    #[test]
    fn the_last_lines_stay_until_newer_ones_arrive() {
        let mut rendered = RenderedEntries::default();
        rendered.set_renderer(RenderTarget::Message, "note".to_owned(), false);
        rendered.request(message(), 40, false);
        rendered.receive("e1", 40, false, lines("first"));
        rendered.request(message(), 20, false);
        assert_eq!(rendered.body("e1").unwrap()[0].plain(), "first");
        rendered.receive("e1", 40, false, lines("too wide"));
        assert_eq!(rendered.body("e1").unwrap()[0].plain(), "first");
        rendered.receive("e1", 20, false, lines("second"));
        assert_eq!(rendered.body("e1").unwrap()[0].plain(), "second");
        rendered.receive("other", 20, false, lines("never asked for"));
        assert_eq!(rendered.body("other"), None);
    }

    #[test]
    fn a_call_is_asked_for_again_when_it_has_a_result() {
        let mut rendered = RenderedEntries::default();
        rendered.set_renderer(RenderTarget::Tool, "todo".to_owned(), false);
        let call = |result: Option<&str>| RenderSubject::Tool {
            call: "c1".to_owned(),
            name: "todo".to_owned(),
            arguments: serde_json::Value::Null,
            result: result.map(Into::into),
        };
        assert_eq!(rendered.request(call(None), 40, false).unwrap().columns, 38, "a mark stands before it");
        assert!(rendered.request(call(None), 40, false).is_none());
        assert!(rendered.request(call(Some("e2")), 40, false).is_some());
    }
}
