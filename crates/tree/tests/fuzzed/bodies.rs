//! Properties that hold for any bytes. The targets in `fuzz/` check them with fuzzer input, the tests here with random bytes.

use osier_tree::entry::{Entry, ParsedLine, parse_entry, parse_line};
use osier_tree::migrate::migrate;
use osier_tree::projection::outline::{Outline, OutlineOptions};
use osier_tree::projection::preview::{Previews, search_text};
use osier_tree::{Head, Header, Seq, SessionTree};

fn lines(data: &[u8]) -> Vec<&[u8]> {
    data.split(|byte| *byte == b'\n').collect()
}

fn entries(data: &[u8]) -> Vec<Entry<'_>> {
    lines(data).into_iter().filter_map(|line| parse_entry(line).ok()).collect()
}

/// A line is an entry only if another JSON parser also accepts it as an object.
pub(crate) fn line(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        // Invalid UTF-8 is read with replacement characters, and must not panic.
        drop(parse_line(data));
        return;
    };
    // `RawValue` accepts numbers of any size and lone surrogates, as JavaScript and Osier do.
    let reference =
        serde_json::from_str::<&serde_json::value::RawValue>(text).map(|raw| raw.get().trim_start());
    match parse_line(data) {
        ParsedLine::Entry(_) | ParsedLine::Header(_) => {
            assert!(reference.is_ok_and(|raw| raw.starts_with('{')), "{text:?}");
        }
        ParsedLine::Blank => assert!(text.trim().is_empty(), "{text:?}"),
        ParsedLine::Invalid(osier_tree::InvalidLine::NotJson) => {
            assert!(reference.is_err() || text.contains('\n'), "{text:?}");
        }
        ParsedLine::Invalid(_) => assert!(reference.is_ok(), "{text:?}"),
    }
}

/// Any log folds into a valid tree, and into the same tree line by line, in one batch, or restored from heads.
pub(crate) fn fold(data: &[u8]) {
    let entries = entries(data);
    let mut tree = SessionTree::default();
    for entry in &entries {
        tree.append(entry, 0, entry.line.len() as u32);
    }
    let mut at_once = SessionTree::default();
    at_once.extend(entries.iter().map(|entry| (entry.clone(), 0, entry.line.len() as u32)));
    let heads = |tree: &SessionTree| -> Vec<Head> { tree.heads().iter().map(|(_, head)| *head).collect() };
    assert_eq!(heads(&tree), heads(&at_once), "line by line and in one batch");
    let restored = SessionTree::restore(heads(&tree), |seq| entries.get(seq.index()).cloned());
    assert_eq!(heads(&tree), heads(&restored), "restored from its heads");
    assert_eq!(tree.leaf(), restored.leaf());
    for (seq, head) in tree.heads().iter() {
        let path = tree.path(Some(seq));
        assert_eq!((path.len(), path.last()), (head.depth as usize + 1, Some(&seq)));
        tree.context_entries(Some(seq));
        tree.checkpoints(Some(seq));
    }
    let mut previews = Previews::new(None);
    for entry in &entries {
        previews.preview(entry);
    }
    let texts = |seq: Seq| search_text(&entries[seq.index()]).into();
    Outline::new(&tree, tree.leaf(), &OutlineOptions::default(), &texts);
    collect(&tree, &entries);
}

fn collect(tree: &SessionTree, entries: &[Entry<'_>]) {
    let lines: Vec<Vec<u8>> = entries.iter().map(|entry| entry.line.to_vec()).collect();
    let mut count = 0;
    let new_id = || {
        count += 1;
        format!("minted{count}")
    };
    let plan = tree.plan_gc();
    let kept = tree.gc(&plan, &lines, 0, new_id).expect("all lines are available");
    assert!(kept.iter().all(|line| parse_entry(line).is_ok()), "a kept line is an entry");
    assert!(kept.len() >= lines.len() - plan.removed_count());
}

/// Any old log migrates to the current version, in which every object is an entry below the one before.
pub(crate) fn migration(data: &[u8]) {
    let lines = lines(data);
    for version in [1, 2] {
        let header = Header { version, ..Header::new("old", 0, "/") };
        let new = migrate(&header, &lines);
        assert_eq!(new.len(), lines.len());
        let mut previous = None;
        for (old, new) in lines.iter().zip(&new) {
            assert!(!new.contains(&b'\n'), "the new line has no line feed");
            match (parse_line(old), parse_line(new)) {
                (
                    ParsedLine::Blank
                    | ParsedLine::Invalid(
                        osier_tree::InvalidLine::NotJson | osier_tree::InvalidLine::NotAnObject,
                    ),
                    _,
                ) => {
                    assert_eq!(old, new);
                }
                (_, ParsedLine::Entry(entry)) if version == 1 => {
                    assert_eq!(entry.parent.as_deref(), previous.as_deref());
                    previous = Some(entry.id.into_owned());
                }
                (_, ParsedLine::Invalid(_)) if version == 1 => panic!("a migrated object has no id"),
                _ => {}
            }
        }
        let borrowed: Vec<&[u8]> = new.iter().map(Vec::as_slice).collect();
        assert_eq!(
            migrate(&Header { version: 3, ..header }, &borrowed),
            new,
            "migrating again changes nothing"
        );
    }
}
