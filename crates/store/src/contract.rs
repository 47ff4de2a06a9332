//! The contract tests that every store must pass, one function per rule. Each starts with an empty store.
//!
//! `contract_tests!(fixture)` generates one test per rule and evaluates `fixture` for each. Other crates enable it
//! with the feature `contract`.

mod damage;
mod leases;
mod listing;
mod reading;
mod writing;

use std::sync::Arc;

use async_trait::async_trait;
use osier_tree::entry::parse_entry;
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::{Head, Header, Heads, Seq};

use crate::{LineBatch, LogVersion, OpenedLog, Store, StoreError};

pub use damage::*;
pub use leases::*;
pub use listing::*;
pub use reading::*;
pub use writing::*;

/// The data of one test.
#[async_trait]
pub trait Fixture: Send + Sync {
    async fn store(&self) -> Arc<dyn Store>;

    /// Another instance on the same data, as another process would have it.
    async fn reopened(&self) -> Arc<dyn Store> {
        self.store().await
    }

    /// Whether the store knows if a session is open. One that does not deletes open sessions.
    fn tracks_open_sessions(&self) -> bool {
        true
    }
}

/// Calls a macro with the names of all rules: `contract_rules!([my_macro] fixture)` is `my_macro!(fixture; rule rule …)`.
#[macro_export]
macro_rules! contract_rules {
    ([$($with:tt)*] $fixture:expr) => {
        $($with)*! { $fixture;
            a_session_is_created_once_and_opens_unchanged
            invalid_session_ids_are_refused
            a_missing_session_is_not_found
            heads_read_in_pages_equal_the_fold_of_the_lines
            lines_are_returned_in_the_requested_order
            every_batch_has_at_least_one_line
            lines_are_preserved_byte_for_byte
            a_line_can_be_huge
            reading_a_missing_entry_is_an_error
            creating_a_session_from_a_line_source_is_atomic
            an_append_is_visible_to_every_instance
            an_append_to_a_stale_version_returns_the_current_version
            an_append_is_all_or_nothing
            many_writers_lose_nothing
            a_watch_reports_appends_of_other_instances
            synced_lines_are_still_there
            a_rewrite_starts_a_new_generation
            a_rewrite_of_a_stale_version_changes_nothing
            a_deletion_returns_counts_and_can_be_repeated
            an_open_session_is_deleted_only_after_it_is_closed
            a_lease_is_visible_to_every_instance_until_it_is_released
            a_conflicting_lease_is_refused_and_names_its_holder
            a_lease_can_be_updated_by_its_holder
            of_many_conflicting_leases_one_is_granted
            a_session_with_a_lease_is_neither_deleted_nor_rewritten
            an_open_session_is_rewritten_only_with_rewrite_in_use
            the_most_recently_used_session_is_listed_first
            a_list_can_be_limited_to_one_directory
            a_list_is_paginated
            cards_equal_the_fold_of_all_lines
            sessions_are_found_by_id_prefix
            a_short_id_is_as_short_as_possible
            heads_of_repeated_ids_equal_the_fold
            heads_with_late_or_missing_parents_equal_the_fold
            heads_of_cycles_equal_the_fold
            heads_of_damage_appended_line_by_line_equal_the_fold
        }
    };
}

/// Generates one test for each rule of the contract.
#[macro_export]
macro_rules! contract_tests {
    ($fixture:expr) => {
        $crate::contract_rules! { [$crate::contract_tests] $fixture }
    };
    ($fixture:expr; $($rule:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                $crate::contract::$rule(&$fixture).await;
            }
        )*
    };
}

/// 2026-01-01.
const DAY_ONE: i64 = 1_767_225_600_000;

fn header(id: &str) -> Header {
    Header::new(id, DAY_ONE, "/here")
}

/// A user message, `at` seconds after `DAY_ONE`.
fn message(id: &str, parent: Option<&str>, at: usize, text: &str) -> Vec<u8> {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    let time = osier_tree::time::format(DAY_ONE + at as i64 * 1000);
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"{time}","message":{{"role":"user","content":"{text}"}}}}"#
    )
    .into_bytes()
}

/// Messages in a chain.
fn chain(count: usize) -> Vec<Vec<u8>> {
    let id = |at: usize| format!("{at:08x}");
    let parent = |at: usize| at.checked_sub(1).map(id);
    (0..count).map(|at| message(&id(at), parent(at).as_deref(), at, &format!("message {at}"))).collect()
}

fn fold(lines: &[Vec<u8>]) -> Heads {
    let mut heads = Heads::default();
    for line in lines {
        heads.append(&parse_entry(line).expect("the lines of the tests are valid"), 0, line.len() as u32);
    }
    heads.settle();
    heads
}

fn card(header: &Header, store: &dyn Store, lines: &[Vec<u8>]) -> Card {
    let mut heads = Heads::default();
    let mut card = CardFold::new(Card::new(header, store.name()));
    for line in lines {
        let entry = parse_entry(line).expect("the lines of the tests are valid");
        let seq = heads.append(&entry, 0, line.len() as u32);
        card.feed(&entry, seq, &heads);
    }
    card.card().clone()
}

/// Removes the offsets, which depend on the store.
fn without_offsets(heads: impl IntoIterator<Item = Head>) -> Vec<Head> {
    heads.into_iter().map(|head| Head { offset: 0, ..head }).collect()
}

async fn all_heads(store: &dyn Store, id: &str, page: usize) -> Vec<Head> {
    let version = store.open(id).await.expect("opens").version;
    let mut heads: Vec<Head> = Vec::new();
    while heads.len() < version.entries {
        let next = store.heads(id, version.generation, heads.len(), page).await.expect("a page of heads");
        assert!(!next.is_empty() && next.len() <= page, "{} heads on a page of {page}", next.len());
        heads.extend(next);
    }
    if let Some(shared) = store.shared_heads(id, version.generation).await.expect("heads") {
        let shared: Vec<Head> = shared.iter().map(|(_, head)| *head).collect();
        assert_eq!(shared, heads, "all at once and by pages");
    }
    heads
}

async fn all_lines(store: &dyn Store, id: &str) -> Vec<Vec<u8>> {
    let version = store.open(id).await.expect("opens").version;
    let seqs: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
    let mut lines = Vec::new();
    let read = crate::for_each_line(store, id, version.generation, &seqs, |_, line| {
        lines.push(line.to_vec());
        Ok::<_, StoreError>(())
    });
    read.await.expect("lines");
    lines
}

async fn created(store: &dyn Store, id: &str, lines: &[Vec<u8>]) -> OpenedLog {
    store.create(&header(id), lines).await.expect("a new session")
}

async fn one_line(
    store: &dyn Store,
    id: &str,
    version: LogVersion,
    at: usize,
) -> Result<Vec<u8>, StoreError> {
    let mut batch = LineBatch::default();
    store.lines(id, version.generation, &[Seq::new(at)], &mut batch).await?;
    Ok(batch.get(0).expect("at least one line").to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    #[derive(Default)]
    struct InMemory(Arc<MemoryStore>);

    #[async_trait]
    impl Fixture for InMemory {
        async fn store(&self) -> Arc<dyn Store> {
            self.0.clone()
        }
    }

    contract_tests!(InMemory::default());
}
