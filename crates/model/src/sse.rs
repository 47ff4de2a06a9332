//! Decodes server-sent events from bytes that arrive in arbitrary chunks. Each byte is scanned once.

/// Larger than any event of a model. Keeps an endless line from filling the memory.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// One event. Its data lines are joined by newlines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SseEvent {
    pub(crate) name: String,
    pub(crate) data: String,
}

/// The server sent an event that exceeds the size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTooLong;

/// An incremental decoder for server-sent events.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The start of a line whose end was not received yet.
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last byte was a carriage return; a line feed right after it belongs to the same line ending.
    after_carriage_return: bool,
    past_first_line: bool,
}

impl SseDecoder {
    /// Decodes the next bytes and appends the completed events to `events`.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), EventTooLong> {
        let mut rest = bytes;
        if self.after_carriage_return {
            self.after_carriage_return = rest.is_empty();
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            let end = at + 1;
            if self.line.is_empty() {
                self.process_line(&rest[..at], events);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&rest[..at]);
                self.process_line(&line, events);
                line.clear();
                self.line = line;
            }
            let is_return = rest[at] == b'\r';
            rest = &rest[end..];
            if is_return {
                self.after_carriage_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.line.extend_from_slice(rest);
        if self.line.len() + self.event.data.len() > MAX_EVENT_BYTES { Err(EventTooLong) } else { Ok(()) }
    }

    /// The unfinished event at the end of the stream. Many servers omit the last empty line.
    pub(crate) fn finish(mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let mut none = Vec::new();
        if !line.is_empty() {
            self.process_line(&line, &mut none);
        }
        self.has_data.then_some(self.event)
    }

    fn process_line(&mut self, line: &[u8], events: &mut Vec<SseEvent>) {
        let line = if std::mem::replace(&mut self.past_first_line, true) {
            line
        } else {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        };
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            // A comment, often used as a keep-alive.
            Some(0) => return,
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &b""[..]),
        };
        match field {
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk, &mut events).unwrap();
        }
        events.extend(decoder.finish());
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn one(text: &str) -> Vec<(String, String)> {
        decode([text.as_bytes()])
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn parses_fields_comments_and_line_endings() {
        assert_eq!(one("event: a\ndata: 1\n\ndata:2\n\n"), [event("a", "1"), event("", "2")]);
        assert_eq!(
            one("event: a\r\ndata: 1\r\n\r\ndata: 2\r\rdata: 3\n\n"),
            [event("a", "1"), event("", "2"), event("", "3")]
        );
        assert_eq!(one(": ping\n\nid: 7\nretry: 3\ndata: x\ndata\ndata: y: z\n\n"), [event("", "x\n\ny: z")]);
        assert_eq!(one("\u{feff}data: first\n\n"), [event("", "first")]);
    }

    #[test]
    fn event_without_data_is_skipped_and_its_name_is_dropped() {
        assert_eq!(one("event: ping\n\ndata: 1\n\n"), [event("", "1")]);
    }

    #[test]
    fn last_event_needs_no_empty_line() {
        assert_eq!(one("data: 1\n\ndata: [DONE]"), [event("", "1"), event("", "[DONE]")]);
        assert_eq!(one("data: 1\n\n"), [event("", "1")]);
    }

    #[test]
    fn crlf_split_across_chunks_is_one_line_ending() {
        let chunks: [&[u8]; 4] = [b"data: 1\r", b"\ndata: 2\r", b"", b"\n\r\n"];
        assert_eq!(decode(chunks), [event("", "1\n2")]);
    }

    #[test]
    fn long_line_in_tiny_chunks_takes_linear_time() {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        decoder.push(b"data: ", &mut events).unwrap();
        for _ in 0..400_000 {
            decoder.push(b"0123456789", &mut events).unwrap();
        }
        decoder.push(b"\n\n", &mut events).unwrap();
        assert_eq!(events[0].data.len(), 4_000_000);
    }

    #[test]
    fn endless_line_is_refused() {
        let mut decoder = SseDecoder::default();
        let chunk = vec![b'x'; 8 << 20];
        let results: Vec<_> = (0..9).map(|_| decoder.push(&chunk, &mut Vec::new())).collect();
        assert_eq!(results.last(), Some(&Err(EventTooLong)));
    }

    proptest! {
        #[test]
        fn chunking_does_not_change_the_events(
            lines in prop::collection::vec(("(data|event|id|:|data: )?", "[^\\r\\n]{0,12}", "\n|\r\n|\r"), 0..24),
            cuts in prop::collection::vec(0usize..400, 0..12),
        ) {
            let text: String = lines.iter().map(|(field, value, end)| {
                if value.is_empty() { end.clone() } else { format!("{field}: {value}{end}") }
            }).collect();
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(decode(chunks), one(&text));
            prop_assert_eq!(decode(bytes.chunks(1)), one(&text));
        }

        #[test]
        fn encoded_events_are_decoded(events in prop::collection::vec(("[a-z]{0,5}", "[^\\r]{0,30}"), 0..10)) {
            let written: String = events.iter().map(|(name, data)| {
                let data: String = data.split('\n').map(|line| format!("data: {line}\n")).collect();
                format!("event: {name}\n{data}\n")
            }).collect();
            let expected: Vec<_> = events.iter().map(|(name, data)| event(name, data)).collect();
            prop_assert_eq!(one(&written), expected);
        }
    }
}
