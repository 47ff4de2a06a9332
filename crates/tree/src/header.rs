//! The first line of a log: the header of the session. It is not part of the tree.

use crate::scan::{RawJson, write_json_string};
use crate::time::{self, Millis};

/// The version of the format that Osier writes, the same as pi's. New kinds of entries did not change the number, so only
/// the migration of older files may depend on it.
pub const FORMAT_VERSION: u32 = 3;

/// The header of a session; see the module documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub id: String,
    pub version: u32,
    pub created: Option<Millis>,
    pub cwd: String,
    /// The file this session was forked from.
    pub parent_session: Option<String>,
    pub parent_session_id: Option<String>,
    pub parent_store: Option<String>,
    pub agent_id: Option<String>,
    /// The call of the parent session that delegated a task to this session. Only such a session is a child.
    pub parent_tool_call_id: Option<String>,
    /// How often garbage collection replaced the log.
    pub rewrite_count: u32,
    /// Unknown fields, byte for byte, each preceded by a comma.
    pub unknown_fields: Vec<u8>,
}

/// The fields that Osier reads.
const KNOWN_FIELDS: [&str; 11] = [
    "type",
    "version",
    "id",
    "timestamp",
    "cwd",
    "parentSession",
    "parentSessionId",
    "parentStore",
    "agentId",
    "parentToolCallId",
    "rewritten",
];

impl Header {
    pub fn new(id: impl Into<String>, created: Millis, cwd: impl Into<String>) -> Header {
        Header {
            id: id.into(),
            version: FORMAT_VERSION,
            created: Some(created),
            cwd: cwd.into(),
            parent_session: None,
            parent_session_id: None,
            parent_store: None,
            agent_id: None,
            parent_tool_call_id: None,
            rewrite_count: 0,
            unknown_fields: Vec::new(),
        }
    }

    /// Reads a line that was parsed as a header. `None` if it has no string `id`: then the file is not a session.
    pub fn from_raw(header: RawJson<'_>) -> Option<Header> {
        let text = |key| header.get(key).and_then(RawJson::text).map(String::from);
        Some(Header {
            id: text("id")?,
            version: header
                .get("version")
                .and_then(RawJson::number)
                .map_or(1, |version| version.clamp(1.0, 1e6) as u32),
            created: text("timestamp").as_deref().and_then(time::parse),
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
            parent_session_id: text("parentSessionId"),
            parent_store: text("parentStore"),
            agent_id: text("agentId"),
            parent_tool_call_id: text("parentToolCallId"),
            rewrite_count: header
                .get("rewritten")
                .and_then(RawJson::number)
                .map_or(0, |times| times.clamp(0.0, 1e9) as u32),
            unknown_fields: unknown_fields(header),
        })
    }

    /// The line of the header, without a line feed.
    pub fn to_line(&self) -> Vec<u8> {
        let mut out = format!(r#"{{"type":"session","version":{}"#, self.version).into_bytes();
        let created = time::format(self.created.unwrap_or_default());
        let fields = [
            ("id", Some(&self.id)),
            ("timestamp", Some(&created)),
            ("cwd", Some(&self.cwd)),
            ("parentSession", self.parent_session.as_ref()),
            ("parentSessionId", self.parent_session_id.as_ref()),
            ("parentStore", self.parent_store.as_ref()),
            ("agentId", self.agent_id.as_ref()),
            ("parentToolCallId", self.parent_tool_call_id.as_ref()),
        ];
        for (key, value) in fields {
            if let Some(value) = value {
                out.extend_from_slice(format!(r#","{key}":"#).as_bytes());
                write_json_string(value, &mut out);
            }
        }
        if self.rewrite_count > 0 {
            out.extend_from_slice(format!(r#","rewritten":{}"#, self.rewrite_count).as_bytes());
        }
        out.extend_from_slice(&self.unknown_fields);
        out.push(b'}');
        out
    }
}

fn unknown_fields(header: RawJson<'_>) -> Vec<u8> {
    let mut others = Vec::new();
    header.each_field(|key, value| {
        // A header that does not come from a file can contain line feeds, which would split the line.
        if !KNOWN_FIELDS.contains(&key) && !value.bytes().contains(&b'\n') {
            others.push(b',');
            write_json_string(key, &mut others);
            others.push(b':');
            others.extend_from_slice(value.bytes());
        }
    });
    others
}

/// Whether a string is a valid session id. An id becomes part of a file name.
pub fn is_valid_id(id: &str) -> bool {
    let is_alphanumeric = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric());
    let bytes = id.as_bytes();
    bytes.len() <= 128
        && is_alphanumeric(bytes.first().copied())
        && is_alphanumeric(bytes.last().copied())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_round_trips() {
        let mut header = Header::new("a-1", 1_767_323_045_678, "/tmp/ü \"x\"");
        header.parent_session = Some("/x.jsonl".into());
        header.parent_tool_call_id = Some("call_1".into());
        header.rewrite_count = 2;
        let line = header.to_line();
        assert_eq!(Header::from_raw(RawJson::parse(&line).unwrap()), Some(header));
    }

    #[test]
    fn unknown_fields_are_kept_unless_they_contain_a_line_feed() {
        let line = r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","x":{"y": [1.50, "ü\n"]},"z":null}"#;
        assert_eq!(
            Header::from_raw(RawJson::parse(line.as_bytes()).unwrap()).unwrap().to_line(),
            line.as_bytes()
        );
        let broken = line.replace("[1.50", "[\n1.50");
        let line = Header::from_raw(RawJson::parse(broken.as_bytes()).unwrap()).unwrap().to_line();
        assert!(line.ends_with(br#","cwd":"/","z":null}"#), "{}", String::from_utf8_lossy(&line));
    }

    #[test]
    fn header_without_version_is_version_1_and_without_id_is_refused() {
        let read = |text: &str| Header::from_raw(RawJson::parse(text.as_bytes()).unwrap());
        assert_eq!(read(r#"{"type":"session","id":"x"}"#).unwrap().version, 1);
        assert_eq!(read(r#"{"type":"session","id":7}"#), None);
    }

    #[test]
    fn ids_that_could_escape_the_folder_are_invalid() {
        assert!(is_valid_id("019b7ca9-a7f6-74ba-af75-068de155e02b"));
        for bad in ["", "../x", "a/b", "-a", "a.", "a b", "ü"] {
            assert!(!is_valid_id(bad), "{bad}");
        }
    }
}
