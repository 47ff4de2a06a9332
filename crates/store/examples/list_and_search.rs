//! Measures lists and searches of many sessions: `list_and_search HOME WORD`.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use osier_store::{FileStore, SessionFilter, Store};
use osier_tree::search_query::{SearchDetail, SearchQuery};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let home = PathBuf::from(args.next().unwrap());
    let words = args.next().unwrap_or_else(|| "absent".to_owned());
    let caches = home.join("cache");
    // The folder also holds locks and leases, which must stay.
    for cache in ["cards", "texts", "index", "previews"] {
        let _ = std::fs::remove_dir_all(caches.join(cache));
    }
    let query = Arc::new(SearchQuery::parse(&words).unwrap());
    let mut cards = Vec::new();
    for round in ["cold", "warm", "warm"] {
        let store = FileStore::new(home.join("sessions"), Some(caches.clone()));
        let begin = Instant::now();
        cards = store.list(&SessionFilter::default()).await.unwrap().cards;
        println!("list {round}: {:.1} ms, {} sessions", begin.elapsed().as_secs_f64() * 1e3, cards.len());
    }
    for round in ["cold", "warm", "warm"] {
        let store = FileStore::new(home.join("sessions"), Some(caches.clone()));
        for max_hits in [0, 3] {
            let detail = SearchDetail { max_hits, context: 1 };
            let begin = Instant::now();
            let results = store.search_messages(&query, &cards, detail).await.unwrap();
            let found = results.iter().filter(|result| result.as_ref().unwrap().is_match).count();
            let ms = begin.elapsed().as_secs_f64() * 1e3;
            println!("search {round}, {max_hits} hits: {ms:.1} ms, {found} sessions");
        }
    }
}
