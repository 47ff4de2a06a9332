//! Reading frames that another program wrote. Any text is answered with a frame or an error, never with a panic.

use osier_protocol::{
    ClientError, ClientEvent, EntryEvent, EntryId, EntryLine, ErrorCode, SessionId, plain_json_error,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::frame::{ClientFrame, EventFrame, ServerFrame};

/// Reads a frame of a client. The error has the id of the request, if it is known.
pub fn decode_client_frame(text: &str) -> Result<ClientFrame, (Option<u64>, ClientError)> {
    serde_json::from_str(text).map_err(|error| (reply_id(text), invalid_frame(&error.to_string())))
}

/// Reads a frame of an engine.
pub fn decode_server_frame(text: &str) -> Result<ServerFrame, ClientError> {
    if let Some(event) = decode_event(text) {
        return Ok(ServerFrame::Event(event));
    }
    serde_json::from_str(text).map_err(|error| invalid_frame(&error.to_string()))
}

pub(crate) fn invalid_frame(reason: &str) -> ClientError {
    ClientError::new(ErrorCode::InvalidFrame, format!("cannot read the frame: {}", plain_json_error(reason)))
}

/// The id of a frame that is otherwise wrong.
pub(crate) fn reply_id(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct IdOnly {
        id: u64,
    }
    serde_json::from_str::<IdOnly>(text).ok().map(|frame| frame.id)
}

/// An event whose content is not read yet.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEventFrame<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    session_id: SessionId,
    stream: u64,
    generation: String,
    revision: usize,
    #[serde(borrow)]
    event: &'a RawValue,
}

/// An entry whose line is not read: it is copied exactly, and its nesting does not matter.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEntryEvent<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    seq: usize,
    id: EntryId,
    draft_id: Option<EntryId>,
    foreign: bool,
    #[serde(default)]
    off_path: bool,
    #[serde(default)]
    is_hook_message: bool,
    #[serde(borrow)]
    entry: &'a RawValue,
}

/// Reads an event, by far the most frequent frame. `None` if the frame is another one.
fn decode_event(text: &str) -> Option<EventFrame> {
    let frame: RawEventFrame<'_> =
        serde_json::from_str(text).ok().filter(|frame: &RawEventFrame<'_>| frame.kind == "event")?;
    let event = match decode_entry(frame.event.get()) {
        Some(entry) => ClientEvent::Entry(EntryEvent {
            generation: u64::from_str_radix(&frame.generation, 16).ok(),
            ..entry
        }),
        None => serde_json::from_str(frame.event.get()).ok()?,
    };
    let RawEventFrame { session_id, stream, generation, revision, .. } = frame;
    Some(EventFrame { session_id, stream, generation, revision, event })
}

fn decode_entry(event: &str) -> Option<EntryEvent> {
    let entry: RawEntryEvent<'_> =
        serde_json::from_str(event).ok().filter(|entry: &RawEntryEvent<'_>| entry.kind == "entry")?;
    let RawEntryEvent { seq, id, draft_id, foreign, off_path, is_hook_message, .. } = entry;
    let entry = EntryLine::from_json(entry.entry.get().as_bytes());
    Some(EntryEvent { seq, generation: None, id, draft_id, foreign, off_path, is_hook_message, entry })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_malformed_request_is_kept() {
        let (id, error) = decode_client_frame(r#"{"type":"send","id":7,"session":"x"}"#).unwrap_err();
        assert_eq!((id, error.code), (Some(7), ErrorCode::InvalidFrame));
        assert_eq!(decode_client_frame("junk").unwrap_err().0, None);
    }

    #[test]
    fn an_entry_is_copied_exactly_however_deep_it_is() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let line = format!(r#"{{"type":"message","id":"1","parentId":null,"x":1.00,"y":{deep}}}"#);
        let text = format!(
            r#"{{"type":"event","sessionId":"s","stream":1,"generation":"0a","revision":1,"event":{{"type":"entry","seq":0,"id":"1","draftId":null,"foreign":false,"entry":{line}}}}}"#
        );
        let ServerFrame::Event(frame) = decode_server_frame(&text).unwrap() else { panic!("an event") };
        let ClientEvent::Entry(entry) = frame.event else { panic!("an entry") };
        assert_eq!(entry.entry.bytes(), line.as_bytes());
    }
}
