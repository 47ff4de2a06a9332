//! How a search reports sessions that it cannot read.

use std::fs;
use std::sync::Arc;

use osier_session::{Stores, filter_cards};
use osier_store::{FileStore, SessionFilter, Store};
use osier_tree::search_query::SearchQuery;

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
