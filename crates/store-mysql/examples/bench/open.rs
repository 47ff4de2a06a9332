//! Measures opening a session up to its context, reading a path, and the first append, in logs of different lengths.

use std::time::Instant;

use osier_store::{LogVersion, PagedHeads, Store, StoreError};
use osier_store_mysql::MySqlStore;
use osier_tree::Seq;

use crate::table::{format_time, median, print_row, print_value};
use crate::{BenchDatabase, Result, baseline, header, line};

/// The number of messages that the compaction kept.
const KEPT: usize = 50;

pub(crate) async fn measure(bench: &BenchDatabase, quick: bool) -> Result<()> {
    let sizes = if quick { [1_000, 10_000] } else { [1_000, 100_000] };
    for size in sizes {
        let (id, version) = make(bench, size).await?;
        let floor = baseline::Reader::new(bench).await?.median().await?;
        let mut times = Vec::new();
        for _ in 0..7 {
            let store = connected(bench).await?;
            let started = Instant::now();
            open(&store, &id).await?;
            times.push(started.elapsed());
        }
        print_row(&format!("open to context of {}, log of {size}", KEPT + 1), median(times), floor, None);

        let store = connected(bench).await?;
        let mut times = Vec::new();
        for _ in 0..3 {
            let started = Instant::now();
            let mut heads = PagedHeads::new(&store, &id, version);
            let leaf = heads.leaf().await?;
            heads.path(leaf).await?;
            times.push(started.elapsed());
        }
        let each = median(times) / version.entries as u32;
        print_value(&format!("path of {} entries, per entry", version.entries), &format_time(each));

        let store = connected(bench).await?;
        let started = Instant::now();
        store.append(&id, version, &[line(size)]).await?;
        print_row(&format!("first append of a process, log of {size}"), started.elapsed(), floor, None);
    }
    Ok(())
}

/// A chain of messages with a compaction at its end.
async fn make(bench: &BenchDatabase, size: usize) -> Result<(String, LogVersion)> {
    let id = format!("open-{size}");
    let mut lines: Vec<Vec<u8>> = (0..size).map(line).collect();
    let compaction = format!(
        r#"{{"type":"compaction","id":"compact1","parentId":"{:08}","summary":"s","firstKeptEntryId":"{:08}"}}"#,
        size - 1,
        size - KEPT
    );
    lines.push(compaction.into_bytes());
    let version = bench.store().create(&header(&id), &lines).await?.version;
    Ok((id, version))
}

/// A store that is connected but has nothing cached.
async fn connected(bench: &BenchDatabase) -> Result<MySqlStore> {
    let store = bench.store();
    store.find_ids("x").await?;
    Ok(store)
}

async fn open(store: &MySqlStore, id: &str) -> Result<()> {
    let version = store.open(id).await?.version;
    let mut heads = PagedHeads::new(store, id, version);
    let leaf = heads.leaf().await?;
    let plan = heads.context(leaf).await?;
    let seqs: Vec<Seq> = plan.items.iter().map(|item| item.seq).collect();
    let read =
        osier_store::for_each_line(store, id, version.generation, &seqs, |_, _| Ok::<_, StoreError>(()));
    Ok(read.await?)
}
