//! Entries in JSON output: as stored, except for Osier's own kinds. Those are stored as pi's `custom` entries and appear
//! here under their own names, with their fields at the top level.

use std::borrow::Cow;

use crate::entry::{Entry, EntryKind};
use crate::scan::{RawJson, write_json_string};

/// The fields that every entry has.
const BASE_FIELDS: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// An entry in the form for JSON output.
pub fn entry_json<'a>(entry: &Entry<'a>) -> Cow<'a, [u8]> {
    if entry.kind.custom_type().is_none() {
        return valid_utf8(entry.line);
    }
    let object = entry.object();
    let mut out = Vec::with_capacity(entry.line.len());
    let mut member = |key: &str, value: &[u8]| {
        out.push(if out.is_empty() { b'{' } else { b',' });
        write_json_string(key, &mut out);
        out.push(b':');
        out.extend_from_slice(value);
    };
    object.each_field(|key, value| match key {
        "type" => member("type", format!("\"{}\"", entry.kind.name()).as_bytes()),
        "customType" => {}
        "data" | "details" if value.is_object() => value.each_field(|key, value| {
            // Inner fields must not replace the base fields.
            if !BASE_FIELDS.contains(&key) {
                member(key, value.bytes());
            }
        }),
        _ => member(key, value.bytes()),
    });
    out.push(b'}');
    Cow::Owned(valid_utf8(&out).into_owned())
}

/// The inverse of [`entry_json`] for Osier's own kinds: the stored form. `None` for every other entry.
pub fn stored_form(object: RawJson<'_>) -> Option<Vec<u8>> {
    let kind = EntryKind::from_osier_name(&object.get("type")?.text()?)?;
    let (word, body) = match kind {
        EntryKind::Backtrack => ("custom_message", "details"),
        _ => ("custom", "data"),
    };
    let mut out = format!("{{\"type\":\"{word}\"").into_bytes();
    let mut outer = |key: &str, value: &[u8]| push_member(&mut out, key, value);
    for key in &BASE_FIELDS[1..] {
        object.get(key).into_iter().for_each(|value| outer(key, value.bytes()));
    }
    outer("customType", format!("\"{}\"", kind.custom_type()?).as_bytes());
    let mut inner = Vec::new();
    object.each_field(|key, value| match key {
        _ if BASE_FIELDS.contains(&key) => {}
        "content" | "display" if kind == EntryKind::Backtrack => outer(key, value.bytes()),
        _ => push_member(&mut inner, key, value.bytes()),
    });
    match inner.first_mut() {
        Some(comma) => *comma = b'{',
        None => inner.push(b'{'),
    }
    inner.push(b'}');
    outer(body, &inner);
    out.push(b'}');
    Some(out)
}

fn push_member(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    out.push(b',');
    write_json_string(key, out);
    out.push(b':');
    out.extend_from_slice(value);
}

/// JSON must be UTF-8. Invalid bytes become U+FFFD, as in all other readers.
fn valid_utf8(line: &[u8]) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_entry;

    #[test]
    fn json_output_of_own_kinds_converts_back_to_the_stored_line() {
        for line in [
            r#"{"type":"custom","id":"b","parentId":null,"timestamp":"t","customType":"osier.leaf","data":{"fromId":"a","why":"move"}}"#,
            r#"{"type":"custom","id":"b","parentId":"a","timestamp":"t","customType":"osier.config","data":{"set":{"x":1},"unset":[]}}"#,
            r#"{"type":"custom","id":"b","parentId":"a","timestamp":"t","customType":"osier.delete_branch","data":{"targetId":"a"}}"#,
            r#"{"type":"custom","id":"b","parentId":"a","timestamp":"t","customType":"osier.entry_update","data":{"targetId":"a","status":"failed","payload":{}}}"#,
            r#"{"type":"custom_message","id":"b","parentId":"a","timestamp":"t","customType":"osier.backtrack","content":"x","display":true,"details":{"note":"n"}}"#,
        ] {
            let json = entry_json(&parse_entry(line.as_bytes()).unwrap()).into_owned();
            let stored = stored_form(RawJson::parse(&json).unwrap()).unwrap();
            assert_eq!(String::from_utf8(stored).unwrap(), line);
        }
        let none = |text: &str| stored_form(RawJson::parse(text.as_bytes()).unwrap()).is_none();
        assert!(none(r#"{"type":"label","targetId":"a"}"#) && none(r#"{"type":"leafs"}"#) && none("{}"));
        assert_eq!(
            stored_form(RawJson::parse(br#"{"type":"leaf"}"#).unwrap()).unwrap(),
            br#"{"type":"custom","customType":"osier.leaf","data":{}}"#
        );
    }

    #[test]
    fn a_move_is_printed_as_a_leaf_entry_and_other_lines_unchanged() {
        let line = br#"{"type":"custom","id":"b","parentId":null,"timestamp":"t","customType":"osier.leaf","data":{"fromId":"a","why":"move"}}"#;
        let seen = entry_json(&parse_entry(line).unwrap()).into_owned();
        assert_eq!(
            String::from_utf8(seen).unwrap(),
            r#"{"type":"leaf","id":"b","parentId":null,"timestamp":"t","fromId":"a","why":"move"}"#
        );
        let hostile = br#"{"type":"custom","customType":"osier.config","data":{"id":"x","set":{}},"id":"d"}"#;
        let seen = entry_json(&parse_entry(hostile).unwrap()).into_owned();
        assert_eq!(String::from_utf8(seen).unwrap(), r#"{"type":"config","set":{},"id":"d"}"#);
        let plain = br#"{"type":"new kind","id":"c","x":1.0}"#;
        assert_eq!(&*entry_json(&parse_entry(plain).unwrap()), plain);
    }
}
