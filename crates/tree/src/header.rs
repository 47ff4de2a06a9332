//! The first line of a log: the header of the session. It is not part of the tree.

use crate::scan::{Raw, quote};
use crate::time::{self, Millis};

/// The version of the format that Osier writes, the same as pi's. New kinds of entries did not change the number, so only
/// the migration of older files may depend on it.
pub const VERSION: u32 = 3;

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
    /// How often garbage collection replaced the log.
    pub rewritten: u32,
    /// Unknown fields, byte for byte, each preceded by a comma.
    pub others: Vec<u8>,
}

/// The fields that Osier reads.
const KNOWN: [&str; 10] = [
    "type",
    "version",
    "id",
    "timestamp",
    "cwd",
    "parentSession",
    "parentSessionId",
    "parentStore",
    "agentId",
    "rewritten",
];

impl Header {
    pub fn new(id: impl Into<String>, created: Millis, cwd: impl Into<String>) -> Header {
        Header {
            id: id.into(),
            version: VERSION,
            created: Some(created),
            cwd: cwd.into(),
            parent_session: None,
            parent_session_id: None,
            parent_store: None,
            agent_id: None,
            rewritten: 0,
            others: Vec::new(),
        }
    }

    /// Reads a line that was parsed as a header. `None` if it has no string `id`: then the file is not a session.
    pub fn read(header: Raw<'_>) -> Option<Header> {
        let text = |key| header.get(key).and_then(Raw::text).map(String::from);
        Some(Header {
            id: text("id")?,
            version: header
                .get("version")
                .and_then(Raw::number)
                .map_or(1, |version| version.clamp(1.0, 1e6) as u32),
            created: text("timestamp").as_deref().and_then(time::parse),
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
            parent_session_id: text("parentSessionId"),
            parent_store: text("parentStore"),
            agent_id: text("agentId"),
            rewritten: header
                .get("rewritten")
                .and_then(Raw::number)
                .map_or(0, |times| times.clamp(0.0, 1e9) as u32),
            others: others(header),
        })
    }

    /// The line of the header, without a line feed.
    pub fn line(&self) -> Vec<u8> {
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
        ];
        for (key, value) in fields {
            if let Some(value) = value {
                out.extend_from_slice(format!(r#","{key}":"#).as_bytes());
                quote(value, &mut out);
            }
        }
        if self.rewritten > 0 {
            out.extend_from_slice(format!(r#","rewritten":{}"#, self.rewritten).as_bytes());
        }
        out.extend_from_slice(&self.others);
        out.push(b'}');
        out
    }
}

fn others(header: Raw<'_>) -> Vec<u8> {
    let mut others = Vec::new();
    header.each_field(|key, value| {
        // A header that does not come from a file can contain line feeds, which would split the line.
        if !KNOWN.contains(&key) && !value.bytes().contains(&b'\n') {
            others.push(b',');
            quote(key, &mut others);
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
        header.rewritten = 2;
        let line = header.line();
        assert_eq!(Header::read(Raw::parse(&line).unwrap()), Some(header));
    }

    #[test]
    fn unknown_fields_are_kept_unless_they_contain_a_line_feed() {
        let line = r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","x":{"y": [1.50, "ü\n"]},"z":null}"#;
        assert_eq!(Header::read(Raw::parse(line.as_bytes()).unwrap()).unwrap().line(), line.as_bytes());
        let broken = line.replace("[1.50", "[\n1.50");
        let line = Header::read(Raw::parse(broken.as_bytes()).unwrap()).unwrap().line();
        assert!(line.ends_with(br#","cwd":"/","z":null}"#), "{}", String::from_utf8_lossy(&line));
    }

    #[test]
    fn header_without_version_is_version_1_and_without_id_is_refused() {
        let read = |text: &str| Header::read(Raw::parse(text.as_bytes()).unwrap());
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
