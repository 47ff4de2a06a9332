//! The reading operations: each reads a stored session, whether it is live or not, and writes nothing.

use osier_engine::{
    EngineError, EntryLocation, ExportFormat, JsonLayout, KeepWhen, ShownEntries, SnapshotOptions,
    StoredSession, TreeJsonOptions,
};
use osier_protocol::Client;
use osier_protocol::outline::{Outline, OutlineFilter, OutlineOptions};
use osier_session::Session;
use osier_tree::Entry;
use serde_json::Value;

use crate::support::TestEngine;

/// A session with two branches below `first`: `left`, and `right`, which is the active one.
async fn session_with_branches(engine: &TestEngine) -> Session {
    let session = engine.create(KeepWhen::Always).await.session().clone();
    for (id, parent, role) in
        [("first", "null", "user"), ("left", "\"first\"", "assistant"), ("right", "\"first\"", "assistant")]
    {
        let entry = format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"{role}","content":"text of {id}"}}}}"#
        );
        session.append_entry(entry.as_bytes()).await.unwrap();
    }
    session.label("left", Some("kept")).await.unwrap();
    session
}

/// Runs an operation that writes to a callback, and parses its output.
macro_rules! written {
    ($engine:ident.$operation:ident($($argument:expr),*)) => {{
        let mut output = Vec::new();
        let write = |piece: &[u8]| -> Result<(), EngineError> {
            output.extend_from_slice(piece);
            Ok(())
        };
        $engine.engine.$operation($($argument,)* write).await.map(|()| output)
    }};
}

fn parse(json: Result<Vec<u8>, EngineError>) -> Value {
    serde_json::from_slice(&json.unwrap()).unwrap()
}

fn ids(entries: &Value) -> Vec<&str> {
    entries.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

async fn path_ids(engine: &TestEngine, stored: &StoredSession, at: Option<&str>) -> Vec<String> {
    let mut ids = Vec::new();
    let read = |entry: &Entry<'_>| -> Result<(), EngineError> {
        ids.push(entry.id.to_string());
        Ok(())
    };
    engine.engine.for_each_path_entry(stored, at, read).await.unwrap();
    ids
}

#[tokio::test]
async fn each_operation_reads_a_live_and_a_closed_session_alike() {
    let engine = TestEngine::new();
    let live = session_with_branches(&engine).await;
    let stored = engine.find(live.id()).await;
    let before = read_everything(&engine, &stored).await;
    drop(live);
    assert_eq!(read_everything(&engine, &stored).await, before);
    let now = engine.find(&stored.key).await;
    assert_eq!(now.opened.version, stored.opened.version, "reading writes nothing");
}

/// The output of every operation.
async fn read_everything(engine: &TestEngine, stored: &StoredSession) -> Vec<Vec<u8>> {
    let flat = TreeJsonOptions { layout: JsonLayout::Flat, ..TreeJsonOptions::default() };
    let tree = engine.engine.tree(stored, None).await.unwrap();
    let rows = tree.tree.heads().iter().map(|(seq, _)| tree.previews.get(seq).into_owned());
    vec![
        written!(engine.write_snapshot(stored, SnapshotOptions::default())).unwrap(),
        written!(engine.write_tree_json(stored, TreeJsonOptions::default())).unwrap(),
        written!(engine.write_tree_json(stored, flat)).unwrap(),
        written!(engine.write_path_json(stored, None)).unwrap(),
        written!(engine.write_context_json(stored, None)).unwrap(),
        written!(engine.write_export(stored, None, ExportFormat::Markdown)).unwrap(),
        engine.engine.entry(stored, "left").await.unwrap().json,
        rows.collect::<Vec<_>>().join("\n").into_bytes(),
    ]
}

#[tokio::test]
async fn the_path_and_the_context_end_at_the_leaf_or_at_a_named_entry() {
    let engine = TestEngine::new();
    let stored = engine.find(session_with_branches(&engine).await.id()).await;
    assert_eq!(path_ids(&engine, &stored, None).await[..2], ["first", "right"]);
    assert_eq!(path_ids(&engine, &stored, Some("left")).await, ["first", "left"]);
    assert!(path_ids(&engine, &stored, Some("root")).await.is_empty());
    assert_eq!(ids(&parse(written!(engine.write_path_json(&stored, Some("left"))))), ["first", "left"]);
    let context = parse(written!(engine.write_context_json(&stored, Some("left"))));
    assert_eq!((&context["leafId"], context["messages"].as_array().unwrap().len()), (&"left".into(), 2));
    assert_eq!(context["messages"][1]["content"], "text of left");
}

#[tokio::test]
async fn the_tree_has_every_branch_with_its_labels() {
    let engine = TestEngine::new();
    let stored = engine.find(session_with_branches(&engine).await.id()).await;
    let tree = parse(written!(engine.write_tree_json(&stored, TreeJsonOptions::default())));
    let children = tree[0]["children"].as_array().unwrap();
    assert_eq!((&children[0]["entry"]["id"], &children[0]["label"]), (&"left".into(), &"kept".into()));
    assert_eq!(children[1]["entry"]["id"], "right");
    let marked = TreeJsonOptions { at: Some("left"), layout: JsonLayout::Flat, ..TreeJsonOptions::default() };
    let rows = parse(written!(engine.write_tree_json(&stored, marked)));
    let on_path: Vec<&Value> = rows.as_array().unwrap().iter().filter(|row| row["onPath"] == true).collect();
    assert_eq!(on_path.iter().map(|row| &row["entry"]["id"]).collect::<Vec<_>>(), ["first", "left"]);
}

#[tokio::test]
async fn an_entry_has_its_place_in_the_tree() {
    let engine = TestEngine::new();
    let session = session_with_branches(&engine).await;
    let stored = engine.find(session.id()).await;
    let left = engine.engine.entry(&stored, "lef").await.unwrap();
    assert_eq!((&*left.id, left.parent.as_deref()), ("left", Some("first")));
    assert_eq!((left.label.as_deref(), left.location), (Some("kept"), EntryLocation::OtherBranch));
    assert_eq!(serde_json::from_slice::<Value>(&left.message.unwrap()).unwrap()["content"], "text of left");
    let first = engine.engine.entry(&stored, "first").await.unwrap();
    assert_eq!(first.children[..2], ["left", "right"]);
    assert_eq!(first.location, EntryLocation::ActivePath);
    session.delete_branch("left").await.unwrap();
    let location = engine.engine.entry(&stored, "left").await.unwrap().location;
    assert_eq!(location, EntryLocation::DeletedBranch, "the live state is read, not the one that was found");
}

#[tokio::test]
async fn an_unknown_entry_is_reported_before_anything_is_written() {
    let engine = TestEngine::new();
    let stored = engine.find(session_with_branches(&engine).await.id()).await;
    let mut pieces = 0;
    let mut write = |_: &[u8]| -> Result<(), EngineError> {
        pieces += 1;
        Ok(())
    };
    let options = TreeJsonOptions { at: Some("nowhere"), ..TreeJsonOptions::default() };
    let results = [
        engine.engine.write_tree_json(&stored, options, &mut write).await,
        engine.engine.write_path_json(&stored, options.at, &mut write).await,
        engine.engine.write_context_json(&stored, options.at, &mut write).await,
        engine.engine.write_export(&stored, options.at, ExportFormat::Json, &mut write).await,
        engine.engine.entry(&stored, "nowhere").await.map(drop),
    ];
    for result in results {
        assert!(matches!(result, Err(EngineError::EntryNotFound { .. })), "{result:?}");
    }
    assert_eq!(pieces, 0);
}

#[tokio::test]
async fn an_error_of_the_callback_ends_the_operation() {
    let engine = TestEngine::new();
    let stored = engine.find(session_with_branches(&engine).await.id()).await;
    let mut pieces = 0;
    let refuse = |_: &[u8]| {
        pieces += 1;
        Err(EngineError::Refused)
    };
    let result = engine.engine.write_snapshot(&stored, SnapshotOptions::default(), refuse).await;
    assert!(matches!(result, Err(EngineError::Refused)) && pieces == 1, "{result:?}, {pieces} pieces");
}

#[tokio::test]
async fn rows_of_some_entries_are_those_of_the_whole_tree() {
    let engine = TestEngine::new();
    let session = session_with_branches(&engine).await;
    let call = r#"{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"notes.txt"}}"#;
    let batch = r#""content":{"batchId":"x","status":"running"}"#;
    for entry in [
        format!(r#"{{"type":"message","id":"calls","parentId":"right","message":{{"role":"assistant","content":[{call}]}}}}"#),
        r#"{"type":"message","id":"result","parentId":"calls","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"milk"}]}}"#.to_owned(),
        format!(r#"{{"type":"subagent_batch","id":"batch","parentId":"result",{batch}}}"#),
        r#"{"type":"custom","customType":"osier.entry_update","id":"update","data":{"targetId":"batch","status":"completed","payload":null}}"#.to_owned(),
    ] {
        session.append_entry(entry.as_bytes()).await.unwrap();
    }
    let stored = engine.engine.session_at(session.store().name(), session.key()).await.unwrap();
    let tree = engine.engine.tree(&stored, None).await.unwrap();
    let whole = |id: &str| tree.row(tree.tree.find(id).unwrap());
    // Without the call, the preview of the result could not name it.
    let ids = ["result", "left", "batch", "none"];
    let some = engine.engine.entry_rows(&stored, ShownEntries::Ids(&ids)).await.unwrap();
    let rows: Vec<_> = some.entries.iter().map(|entry| entry.row.clone()).collect();
    assert_eq!(rows, [whole("result"), whole("left"), whole("batch")]);
    assert_eq!(some.hidden_entries, 0);
    let last = engine.engine.entry_rows(&stored, ShownEntries::LastOfPath(1)).await.unwrap();
    assert_eq!(last.entries[0].row, whole("batch"));
    let path = engine.engine.entry_rows(&stored, ShownEntries::LastOfPath(usize::MAX)).await.unwrap();
    assert_eq!((last.hidden_entries, path.hidden_entries), (path.entries.len() - 1, 0));
    assert_eq!(last.leaf_id, some.leaf_id);
}

/// A chain of messages.
fn chain(name: &str, below: &str, count: usize) -> String {
    let line = |number: usize| {
        let parent = match number {
            0 => below.to_owned(),
            number => format!("\"{name}{}\"", number - 1),
        };
        let role = ["user", "assistant"][number % 2];
        format!(
            r#"{{"type":"message","id":"{name}{number}","parentId":{parent},"message":{{"role":"{role}","content":"text {number} of {name}"}}}}"#
        ) + "\n"
    };
    (0..count).map(line).collect()
}

#[tokio::test]
async fn the_first_rows_of_a_long_tree_are_those_around_an_entry() {
    let engine = TestEngine::new();
    let id = engine.create(KeepWhen::Always).await.session().id().to_owned();
    let stored = engine.find(&id).await;
    let append = |lines: String| {
        let file = std::fs::OpenOptions::new().append(true).open(stored.file().unwrap()).unwrap();
        std::io::Write::write_all(&mut &file, lines.as_bytes()).unwrap();
    };
    append(chain("a", "null", 500));
    let read = async |around: Option<&str>, filter| {
        let reader = engine.engine.read(&stored).await.unwrap();
        let reader: &dyn Client = &reader;
        (reader.tree().await.unwrap(), reader.first_rows(filter, around.map(Into::into)).await.unwrap())
    };
    let (whole, first) = read(None, OutlineFilter::Default).await;
    assert!(first == whole && !first.is_partial, "a short session is read as a whole");

    append(chain("b", "\"a100\"", 3000));
    let cases = [
        (None, OutlineFilter::Default, "b2999"),
        (Some("a50"), OutlineFilter::UserOnly, "a50"),
        (Some("none"), OutlineFilter::All, "b2999"),
    ];
    for (around, filter, center) in cases {
        let (whole, first) = read(around, filter).await;
        assert!(first.is_partial && first.tree.len() == whole.tree.len());
        let options = OutlineOptions { filter, ..OutlineOptions::default() };
        let outline = Outline::new(&whole.tree, whole.leaf, &options, &|seq| whole.preview(seq));
        let center = outline.row_of(whole.tree.find(center).unwrap()).unwrap();
        for (at, row) in outline.rows.iter().enumerate() {
            let text = first.preview(row.seq);
            let is_near = at.abs_diff(center) < 100;
            assert!(text == whole.preview(row.seq) || !is_near && text.is_empty(), "row {at}: {text}");
        }
        let read = outline.rows.iter().filter(|row| !first.preview(row.seq).is_empty()).count();
        assert!(read < 400, "{read} texts were read");
    }
}

#[tokio::test]
async fn an_export_pauses_between_its_pieces() {
    let engine = TestEngine::new();
    let session = engine.create(KeepWhen::Always).await.session().clone();
    for number in 0..8 {
        let text = "x".repeat(1 << 20);
        let entry = format!(
            r#"{{"type":"message","id":"entry{number}","message":{{"role":"user","content":"{text}"}}}}"#
        );
        session.append_entry(entry.as_bytes()).await.unwrap();
    }
    let stored = engine.engine.session_at(session.store().name(), session.key()).await.unwrap();
    for format in [ExportFormat::Markdown, ExportFormat::Json, ExportFormat::Jsonl] {
        let written = std::sync::atomic::AtomicUsize::new(0);
        let write = |piece: &[u8]| -> Result<(), EngineError> {
            written.fetch_add(piece.len(), std::sync::atomic::Ordering::Relaxed);
            Ok(())
        };
        let mut export = std::pin::pin!(engine.engine.write_export(&stored, None, format, write));
        let (mut total, mut largest) = (0, 0);
        while futures_util::poll!(export.as_mut()).is_pending() {
            let piece = written.swap(0, std::sync::atomic::Ordering::Relaxed);
            (total, largest) = (total + piece, largest.max(piece));
            tokio::task::yield_now().await;
        }
        assert!(total >= 4 << 20 && largest <= 3 << 20, "{format:?}: {largest} of {total} bytes at once");
    }
}

/// The next page is asked for by the id of the last entry, which names the last line with it.
#[tokio::test]
async fn a_page_of_entries_does_not_end_at_an_id_that_is_repeated_later() {
    let engine = TestEngine::new();
    let id = engine.create(KeepWhen::Always).await.session().id().to_owned();
    let stored = engine.find(&id).await;
    let line = |id: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    // The page is full at the last of the entries that are read together. It and the one before are repeated.
    let mut lines: Vec<String> = (0..1022).map(|number| line(&format!("{number:08x}"), "small")).collect();
    lines.extend([line("twice000", "first"), line("twice001", &"x".repeat(17 << 20)), line("between0", "b")]);
    lines.extend([line("twice000", "again"), line("twice001", "again")]);
    lines.push(line("lastlast", "end"));
    let file = std::fs::OpenOptions::new().append(true).open(stored.file().unwrap()).unwrap();
    std::io::Write::write_all(&mut &file, (lines.join("\n") + "\n").as_bytes()).unwrap();
    let reader = engine.engine.read(&stored).await.unwrap();
    let reader: &dyn Client = &reader;
    let (mut after, mut texts) = (None, Vec::new());
    loop {
        let page = reader.entries(after).await.unwrap();
        texts.extend(page.entries.iter().map(|entry| entry.bytes().to_vec()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(texts.len(), lines.len());
    assert!(texts.iter().zip(&lines).all(|(text, line)| text == line.as_bytes()));
}

/// A gateway may send any id, and so may a session file that another program wrote.
#[test]
fn an_export_stays_in_its_folder_whatever_the_id_of_the_session_is() {
    let cwd = tempfile::tempdir().unwrap();
    let folder = osier_engine::ExportFolder { cwd: cwd.path().to_owned(), home: None };
    for id in ["c3a9e07d", "..", "x/../../y", "/etc/passwd", "a\\b", "a\nb", "\u{1b}[2J"] {
        let path = folder.resolve(None, id);
        assert_eq!(path.parent(), Some(cwd.path()), "{id:?}");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("osier-") && name.ends_with(".md") && !name.contains(char::is_control));
    }
    assert_eq!(folder.resolve(None, "c3a9e07d"), cwd.path().join("osier-c3a9e07d.md"));
}
