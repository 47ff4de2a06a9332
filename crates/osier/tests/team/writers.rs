//! Commands beside processes that append to the same session all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_store::{Store, StoreError};
use osier_store_mysql::{Credentials, Limits, MySqlStore};
use serde_json::json;

use crate::commands::world_with_team_url;

/// Appends messages one by one until it is stopped. Returns their number.
async fn write(url: String, id: String, writer: usize, stop: Arc<AtomicBool>) -> usize {
    let store = MySqlStore::new("team", &Credentials::new(url), Limits::default()).unwrap();
    let _open = store.watch(&id).await.unwrap();
    let mut version = store.open(&id).await.unwrap().version;
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let message = json!({ "role": "user", "content": "x" });
        let entry = json!({ "type": "message", "id": format!("{writer}{count:07}"), "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z", "message": message });
        version = loop {
            match store.append(&id, version, &[entry.to_string().into_bytes()]).await {
                Err(StoreError::Conflict { now }) => version = now,
                done => break done.unwrap(),
            }
        };
        count += 1;
    }
    store.close().await;
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn delete_branch_beside_three_writers_ends() {
    let (env, url) = world_with_team_url().await;
    let begun = env.json("append 'to be deleted' --store team");
    let (id, entry) =
        (begun["session"].as_str().unwrap().to_owned(), begun["id"].as_str().unwrap().to_owned());
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..3).map(|writer| tokio::spawn(write(url.clone(), id.clone(), writer, stop.clone()))).collect();
    let (line, deleting) = (format!("delete-branch {id} {entry}"), env);
    let (output, env) = tokio::task::spawn_blocking(move || (deleting.run(&line), deleting)).await.unwrap();
    stop.store(true, Ordering::Relaxed);
    let mut appended = 0;
    for writer in writers {
        appended += writer.await.unwrap();
    }
    assert_eq!(output.code, 0, "{}", output.err);
    let verified = env.run(&format!("verify {id}"));
    assert_eq!(verified.code, 0, "{}", verified.err);
    // The message, its deletion, and what the writers got acknowledged.
    assert!(verified.out.starts_with(&format!("{} entries", appended + 2)), "{appended}: {}", verified.out);
}
