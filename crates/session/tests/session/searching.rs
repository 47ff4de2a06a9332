//! What a search in conversations tells of sessions that it cannot look into.

use std::fs;
use std::sync::Arc;

use osier_session::{Query, Stores};
use osier_store::{FileStore, Filter, Store};

use crate::support::{empty, env, exchange};

#[tokio::test]
async fn a_session_that_cannot_be_read_is_told_and_one_that_is_gone_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(FileStore::new(folder.path(), None));
    exchange(&empty(&store, env("a")).await.main(), "hello").await;
    let stores = Stores::new(vec![store]);
    let card = stores.list(&Filter::default()).await.unwrap().page.cards.remove(0);
    let query = Query::parse("HELLO nothing").unwrap();
    let told = async || query.choose(vec![card.clone(), card.clone()], &stores).await.1.told();
    assert_eq!(told().await, None, "it was read");

    let file = card.file.clone().unwrap();
    fs::write(&file, "no session\n").unwrap();
    let all = told().await.unwrap();
    assert!(all.starts_with("2 sessions could not be searched; the first is "), "{all}");
    assert!(all.contains("is not a session"), "{all}");

    fs::remove_file(&file).unwrap();
    assert_eq!(told().await, None, "it is gone");
}
