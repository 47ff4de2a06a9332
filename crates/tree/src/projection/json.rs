//! How entries look in JSON output: as stored, but for Osier's own kinds, which appear under their own names with their
//! fields in the open instead of in pi's `custom` clothes.

use std::borrow::Cow;

use crate::entry::Entry;
use crate::scan::quote;

/// What every entry has.
const BASE: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// An entry as programs see it.
pub fn entry_json<'a>(entry: &Entry<'a>) -> Cow<'a, [u8]> {
    if entry.kind.custom_type().is_none() {
        return inert(entry.line);
    }
    let object = entry.object();
    let mut out = Vec::with_capacity(entry.line.len());
    let mut member = |key: &str, value: &[u8]| {
        out.push(if out.is_empty() { b'{' } else { b',' });
        quote(key, &mut out);
        out.push(b':');
        out.extend_from_slice(value);
    };
    object.each_field(|key, value| match key {
        "type" => member("type", format!("\"{}\"", entry.kind.name()).as_bytes()),
        "customType" => {}
        "data" | "details" if value.is_object() => value.each_field(|key, value| {
            // What lies inside must not pass itself off as what every entry has.
            if !BASE.contains(&key) {
                member(key, value.bytes());
            }
        }),
        _ => member(key, value.bytes()),
    });
    out.push(b'}');
    Cow::Owned(inert(&out).into_owned())
}

/// JSON must be UTF-8; what is not becomes U+FFFD, as in every other reader.
fn inert(line: &[u8]) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::read_entry;

    #[test]
    fn a_move_appears_as_a_leaf_entry_and_other_lines_as_they_are() {
        let line = br#"{"type":"custom","id":"b","parentId":null,"timestamp":"t","customType":"osier.leaf","data":{"fromId":"a","why":"move"}}"#;
        let seen = entry_json(&read_entry(line).unwrap()).into_owned();
        assert_eq!(
            String::from_utf8(seen).unwrap(),
            r#"{"type":"leaf","id":"b","parentId":null,"timestamp":"t","fromId":"a","why":"move"}"#
        );
        let sly = br#"{"type":"custom","customType":"osier.config","data":{"id":"x","set":{}},"id":"d"}"#;
        let seen = entry_json(&read_entry(sly).unwrap()).into_owned();
        assert_eq!(String::from_utf8(seen).unwrap(), r#"{"type":"config","set":{},"id":"d"}"#);
        let plain = br#"{"type":"new kind","id":"c","x":1.0}"#;
        assert_eq!(&*entry_json(&read_entry(plain).unwrap()), plain);
    }
}
