//! Migrates logs of pi's versions 1 and 2 to version 3. Pure: the store decides when to replace a file.

use rustc_hash::FxHashSet;

use crate::entry::{ParsedLine, parse_line};
use crate::fork::replace_member;
use crate::header::{FORMAT_VERSION, Header};
use crate::projection::context::with_field;
use crate::scan::{RawJson, write_json_string};

/// Returns the lines of an old log in version 3. Lines that are not JSON objects are unchanged.
///
/// Ids are derived from the session id and the line number, so reading the same file twice gives the same tree.
pub fn migrate(header: &Header, lines: &[&[u8]]) -> Vec<Vec<u8>> {
    let ids = if header.version < 2 { assign_ids(header, lines) } else { Vec::new() };
    // pi counts the lines that it can parse, including the header.
    let counted: Vec<usize> =
        (0..lines.len()).filter(|at| RawJson::parse(lines[*at]).is_ok_and(|raw| !raw.is_null())).collect();
    let mut previous: Option<&str> = None;
    let mut out = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let Ok(object) = RawJson::parse(line)
            .and_then(|raw| if raw.is_object() { Ok(raw) } else { Err(crate::scan::NotJson) })
        else {
            out.push(line.to_vec());
            continue;
        };
        if let ParsedLine::Header(_) = parse_line(line) {
            out.push(with_field(object, "version", FORMAT_VERSION.to_string().as_bytes()));
            continue;
        }
        let mut new = line.to_vec();
        if header.version < 2 {
            new =
                with_id_and_parent(object, &ids[at], previous, first_kept_id(object, &counted, &ids[..=at]));
            previous = Some(&ids[at]);
        }
        out.push(rename_hook_role(new));
    }
    out
}

/// An id for each line that becomes an entry; an empty string for headers and other lines.
fn assign_ids(header: &Header, lines: &[&[u8]]) -> Vec<String> {
    let mut taken = FxHashSet::default();
    let mut id_of = |number: usize| {
        (0u32..)
            .map(|again| derived_id(&header.id, number, again))
            .find(|id| taken.insert(id.clone()))
            .unwrap_or_default()
    };
    lines
        .iter()
        .enumerate()
        .map(|(number, line)| match (RawJson::parse(line), parse_line(line)) {
            (Ok(raw), ParsedLine::Entry(_) | ParsedLine::Invalid(_)) if raw.is_object() => id_of(number),
            _ => String::new(),
        })
        .collect()
}

/// Eight hex digits. The FNV-1a hash is implemented here because it must never change.
fn derived_id(session: &str, number: usize, again: u32) -> String {
    let text = format!("{session}:{number}:{again}");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:08x}", (hash >> 32) as u32 ^ hash as u32)
}

/// The id of the line that `firstKeptEntryIndex` refers to. Lines after the compaction have no id yet when pi migrates it.
fn first_kept_id<'a>(object: RawJson<'_>, counted: &[usize], ids: &'a [String]) -> Option<&'a str> {
    let index = object.get("firstKeptEntryIndex")?.number()?;
    let whole = index >= 0.0 && index.fract() == 0.0;
    let at = *counted.get(index as usize).filter(|_| whole)?;
    ids.get(at).map(String::as_str).filter(|id| !id.is_empty())
}

fn with_id_and_parent(object: RawJson<'_>, id: &str, parent: Option<&str>, kept: Option<&str>) -> Vec<u8> {
    let mut value = Vec::new();
    write_json_string(id, &mut value);
    let line = with_field(object, "id", &value);
    value.clear();
    match parent {
        Some(parent) => write_json_string(parent, &mut value),
        None => value.extend_from_slice(b"null"),
    }
    let mut line = with_field(RawJson::parse(&line).unwrap_or(object), "parentId", &value);
    let is_compaction = object.get("type").and_then(RawJson::text).as_deref() == Some("compaction");
    let counts = object.get("firstKeptEntryIndex").is_some_and(|index| index.number().is_some());
    if is_compaction && counts {
        line = without_field(&line, "firstKeptEntryIndex");
        if let (Some(kept), Ok(raw)) = (kept, RawJson::parse(&line)) {
            value.clear();
            write_json_string(kept, &mut value);
            return with_field(raw, "firstKeptEntryId", &value);
        }
    }
    line
}

fn without_field(line: &[u8], key: &str) -> Vec<u8> {
    let Ok(object) = RawJson::parse(line) else { return line.to_vec() };
    let mut out = Vec::with_capacity(line.len());
    object.each_field(|name, value| {
        if name != key {
            out.push(if out.is_empty() { b'{' } else { b',' });
            write_json_string(name, &mut out);
            out.push(b':');
            out.extend_from_slice(value.bytes());
        }
    });
    out.push(b'}');
    out
}

fn rename_hook_role(line: Vec<u8>) -> Vec<u8> {
    let is = |raw: RawJson<'_>, key: &str, text: &str| {
        raw.get(key).and_then(RawJson::text).as_deref() == Some(text)
    };
    let entry = RawJson::parse(&line).ok().filter(|entry| is(*entry, "type", "message"));
    let message = entry.and_then(|entry| entry.get("message"));
    let Some(message) = message.filter(|message| is(*message, "role", "hookMessage")) else { return line };
    let renamed = replace_member(message.bytes(), "role", b"\"custom\"");
    replace_member(&line, "message", &renamed)
}
