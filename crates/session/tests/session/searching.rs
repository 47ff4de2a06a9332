//! Searches of stores with and without a cache of texts, and how a search reports sessions that it cannot read.

use std::fs;
use std::sync::Arc;

use osier_session::{Stores, filter_cards, search_messages};
use osier_store::{FileStore, MemoryStore, SessionFilter, Store};
use osier_tree::Header;
use osier_tree::search_query::{MessageMatches, SearchDetail, SearchQuery};

use crate::support::{empty, env, exchange};

#[tokio::test]
async fn an_unreadable_session_is_reported_and_a_deleted_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(FileStore::new(folder.path(), None));
    exchange(&empty(&store, env("a")).await.main_cursor(), "hello").await;
    let stores = Stores::new(vec![store]);
    let card = stores.list(&SessionFilter::default()).await.unwrap().page.cards.remove(0);
    let query = Arc::new(SearchQuery::parse("HELLO nothing").unwrap());
    let errors = async || filter_cards(&query, vec![card.clone(), card.clone()], &stores).await.1.summary();
    assert_eq!(errors().await, None, "the session was read");

    let file = card.file.clone().unwrap();
    fs::write(
        &file,
        "not a session
",
    )
    .unwrap();
    let all = errors().await.unwrap();
    assert!(all.starts_with("cannot search 2 sessions; the first error is "), "{all}");
    assert!(all.contains("is not a session"), "{all}");

    fs::remove_file(&file).unwrap();
    assert_eq!(errors().await, None, "the session was deleted");
}

/// A session: its messages, each with the number of its parent, its role and its text.
type Messages = &'static [(usize, &'static str, &'static str)];

/// In the third session, the branch of the third message is deleted.
const SESSIONS: [Messages; 5] = [
    &[
        (0, "user", "the cursor"),
        (1, "assistant", "A page of the parser"),
        (2, "user", "cursor page"),
        (3, "assistant", "no"),
    ],
    &[(0, "user", "光标分页"), (1, "assistant", "ΟΔΟΣ"), (2, "user", "café")],
    &[
        (0, "user", "a"),
        (1, "assistant", "b"),
        (2, "user", "the secret cursor"),
        (3, "assistant", "gone"),
        (2, "user", "after"),
    ],
    &[(0, "user", "only a result"), (1, "toolResult", "the cursor is in a result")],
    &[
        (0, "user", "b"),
        (1, "branch_summary", "the marmalade of a branch"),
        (2, "compaction", "a compacted breakfast"),
        (3, "custom_message", "an extension with toast"),
        (4, "hidden_message", "a hidden spoon"),
    ],
];
const WITH_DELETED_BRANCH: usize = 2;

fn lines_of(session: usize) -> Vec<Vec<u8>> {
    let id = |number: usize| format!("{number:08x}");
    let line = |(at, (parent, role, text)): (usize, &(usize, &str, &str))| {
        let parent = if *parent == 0 { "null".to_owned() } else { format!("{:?}", id(*parent)) };
        let start = format!(r#""id":"{}","parentId":{parent}"#, id(at + 1));
        match *role {
            "branch_summary" | "compaction" => {
                return format!(
                    r#"{{"type":"{role}",{start},"firstKeptEntryId":"00000001","fromId":"root","summary":"{text}"}}"#
                );
            }
            "custom_message" | "hidden_message" => {
                let display = *role == "custom_message";
                return format!(
                    r#"{{"type":"custom_message",{start},"customType":"x","display":{display},"content":"{text}"}}"#
                );
            }
            _ => {}
        }
        let message = format!(r#"{{"role":"{role}","toolCallId":"c","content":"{text}"}}"#);
        format!(r#"{{"type":"message",{start},"message":{message}}}"#)
    };
    let mut lines: Vec<String> = SESSIONS[session].iter().enumerate().map(line).collect();
    if session == WITH_DELETED_BRANCH {
        let deletion = r#"{"type":"custom","id":"ffffffff","parentId":"00000005","customType":"osier.delete_branch","data":{"targetId":"00000003"}}"#;
        lines.push(deletion.to_owned());
    }
    lines.into_iter().map(String::into_bytes).collect()
}

/// What a search finds in the sessions.
async fn found_in(store: Arc<dyn Store>, query: &str, max_hits: usize) -> Vec<MessageMatches> {
    for session in 0..SESSIONS.len() {
        store.create(&Header::new(format!("s{session}"), 0, "/x"), &lines_of(session)).await.unwrap();
    }
    let stores = Stores::new(vec![store]);
    let mut cards = stores.list(&SessionFilter::default()).await.unwrap().page.cards;
    cards.sort_by(|a, b| a.id.cmp(&b.id));
    // Without the first message, which would match before the messages are read.
    cards.iter_mut().for_each(|card| card.first_message.clear());
    let query = Arc::new(SearchQuery::parse(query).unwrap());
    let detail = SearchDetail { max_hits, context: 1 };
    let (matches, errors) = search_messages(&query, &cards, &stores, detail).await;
    assert_eq!(errors.summary(), None);
    matches
}

/// The memory store, as the one in a database, has no cache of texts: every message is read.
#[tokio::test]
async fn a_store_without_a_cache_finds_what_the_file_store_finds() {
    for (query, sessions) in [
        ("cursor", vec![0]),
        ("urso", vec![0]),
        ("cursor page", vec![0]),
        ("\"the parser\"", vec![0]),
        ("标", vec![1]),
        ("光标", vec![1]),
        ("ς", vec![1]),
        ("CAFÉ", vec![1]),
        ("gone", vec![]),
        ("after", vec![2]),
        ("absent", vec![]),
        ("marmalade", vec![4]),
        ("breakfast", vec![4]),
        ("toast", vec![4]),
        ("spoon", vec![]),
        ("re:^the .*r$", vec![0]),
    ] {
        for max_hits in [0, 2] {
            let folder = tempfile::tempdir().unwrap();
            let files = FileStore::new(folder.path().join("sessions"), Some(folder.path().join("cache")));
            let in_files = found_in(Arc::new(files), query, max_hits).await;
            let in_memory = found_in(Arc::new(MemoryStore::default()), query, max_hits).await;
            assert_eq!(in_files, in_memory, "{query}");
            let matching: Vec<usize> = (0..SESSIONS.len()).filter(|at| in_files[*at].is_match).collect();
            assert_eq!(matching, sessions, "{query}");
        }
    }
}
