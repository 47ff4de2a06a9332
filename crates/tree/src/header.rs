//! The first line of a log: which session this is. It is not part of the tree.

use crate::scan::{Raw, quote};
use crate::time::{self, Millis};

/// The version of the format that Osier writes, which is pi's. Kinds of entries came later without a new number, so
/// nothing may depend on it but the migration of older files.
pub const VERSION: u32 = 3;

/// See the module.
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
    /// How often garbage collection put another log in the place of this one.
    pub rewritten: u32,
    /// Fields that Osier does not know, as they stand in the line, each behind a comma.
    pub others: Vec<u8>,
}

/// The fields that Osier knows.
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

    /// Reads a line that [`crate::entry::read`] found to be a header. `None` without a text `id`: then no such session exists.
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

    /// The line of a new session, without line feed.
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
        // Where a header comes from elsewhere than a file it may hold line feeds, which would end it in one.
        if !KNOWN.contains(&key) && !value.bytes().contains(&b'\n') {
            others.push(b',');
            quote(key, &mut others);
            others.push(b':');
            others.extend_from_slice(value.bytes());
        }
    });
    others
}

/// Whether a string may name a session: it becomes part of a file name.
pub fn is_valid_id(id: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric());
    let bytes = id.as_bytes();
    bytes.len() <= 128
        && ends(bytes.first().copied())
        && ends(bytes.last().copied())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back() {
        let mut header = Header::new("a-1", 1_767_323_045_678, "/tmp/ü \"x\"");
        header.parent_session = Some("/x.jsonl".into());
        header.rewritten = 2;
        let line = header.line();
        assert_eq!(Header::read(Raw::parse(&line).unwrap()), Some(header));
    }

    #[test]
    fn fields_that_nobody_knows_are_kept_as_they_stand_but_never_make_a_second_line() {
        let line = r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","x":{"y": [1.50, "ü\n"]},"z":null}"#;
        assert_eq!(Header::read(Raw::parse(line.as_bytes()).unwrap()).unwrap().line(), line.as_bytes());
        let broken = line.replace("[1.50", "[\n1.50");
        let line = Header::read(Raw::parse(broken.as_bytes()).unwrap()).unwrap().line();
        assert!(line.ends_with(br#","cwd":"/","z":null}"#), "{}", String::from_utf8_lossy(&line));
    }

    #[test]
    fn old_headers_have_no_version_and_broken_ones_no_id() {
        let read = |text: &str| Header::read(Raw::parse(text.as_bytes()).unwrap());
        assert_eq!(read(r#"{"type":"session","id":"x"}"#).unwrap().version, 1);
        assert_eq!(read(r#"{"type":"session","id":7}"#), None);
    }

    #[test]
    fn ids_that_could_leave_their_folder_are_refused() {
        assert!(is_valid_id("019b7ca9-a7f6-74ba-af75-068de155e02b"));
        for bad in ["", "../x", "a/b", "-a", "a.", "a b", "ü"] {
            assert!(!is_valid_id(bad), "{bad}");
        }
    }
}
