//! The contract: what every store must keep, one function per rule. Each begins with an empty store.
//!
//! `contract_tests!(fixture)` makes a test of each rule; `fixture` is evaluated anew for every one. Stores in other crates
//! take it with the feature `contract`.

mod damage;
mod leases;
mod listing;
mod reading;
mod writing;

use std::sync::Arc;

use async_trait::async_trait;
use osier_tree::entry::read_entry;
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::{Head, Header, Heads, Seq};

use crate::{Batch, Opened, Store, StoreError, Version};

pub use damage::*;
pub use leases::*;
pub use listing::*;
pub use reading::*;
pub use writing::*;

/// A place for the data of one test.
#[async_trait]
pub trait Fixture: Send + Sync {
    async fn store(&self) -> Arc<dyn Store>;

    /// The same data as another process would see them.
    async fn reopened(&self) -> Arc<dyn Store> {
        self.store().await
    }

    /// Whether the store can know who has a session open. One that cannot deletes what it is told to.
    fn knows_who_is_there(&self) -> bool {
        true
    }
}

/// Makes one test of each rule of the contract.
#[macro_export]
macro_rules! contract_tests {
    ($fixture:expr) => {
        $crate::contract_tests! { $fixture;
            a_session_is_made_once_and_opens_as_it_was_made
            ids_that_cannot_name_a_session_are_refused
            what_is_not_there_is_not_found
            heads_by_pages_are_the_fold_of_the_lines
            lines_come_in_the_order_asked_for
            lines_come_in_batches_that_hold_at_least_one
            lines_come_back_byte_for_byte
            a_line_may_be_huge
            an_entry_that_is_not_there_is_an_error
            a_session_made_of_lines_that_come_bit_by_bit_is_there_whole_or_not_at_all
            an_append_is_seen_by_every_instance
            an_append_to_another_state_tells_the_state
            an_append_is_all_or_nothing
            many_writers_lose_nothing
            a_watch_tells_of_other_instances
            what_is_synced_is_still_there
            a_rewrite_begins_a_new_generation
            a_rewrite_of_another_state_changes_nothing
            deleting_counts_and_can_be_repeated
            a_session_that_somebody_has_open_is_not_deleted_and_is_once_he_is_gone
            a_lease_is_seen_by_every_instance_until_it_is_given_back
            a_lease_in_the_way_names_its_holder
            a_lease_can_be_changed_by_its_holder
            of_many_who_want_one_place_one_gets_it
            a_session_with_a_lease_is_neither_deleted_nor_replaced
            a_session_that_somebody_has_open_is_replaced_only_if_that_is_wanted
            the_session_used_last_is_listed_first
            a_list_can_be_of_one_directory
            a_list_comes_by_pages
            cards_are_the_fold_of_all_lines
            sessions_are_found_by_the_beginning_of_their_ids
            a_short_id_is_as_long_as_it_must_be
            repeated_ids_give_the_heads_of_the_fold
            parents_that_come_later_or_never_give_the_heads_of_the_fold
            circles_give_the_heads_of_the_fold
            damage_that_comes_line_by_line_gives_the_heads_of_the_fold
        }
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

/// A user's message; its time is the day's second that `at` counts.
fn message(id: &str, parent: Option<&str>, at: usize, text: &str) -> Vec<u8> {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    let time = osier_tree::time::format(DAY_ONE + at as i64 * 1000);
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"{time}","message":{{"role":"user","content":"{text}"}}}}"#
    )
    .into_bytes()
}

/// Messages one below the other.
fn chain(count: usize) -> Vec<Vec<u8>> {
    let id = |at: usize| format!("{at:08x}");
    let parent = |at: usize| at.checked_sub(1).map(id);
    (0..count).map(|at| message(&id(at), parent(at).as_deref(), at, &format!("message {at}"))).collect()
}

fn fold(lines: &[Vec<u8>]) -> Heads {
    let mut heads = Heads::default();
    for line in lines {
        heads.append(&read_entry(line).expect("the suite's own lines"), 0, line.len() as u32);
    }
    heads.settle();
    heads
}

fn card(header: &Header, store: &dyn Store, lines: &[Vec<u8>]) -> Card {
    let mut heads = Heads::default();
    let mut card = CardFold::new(Card::new(header, store.name()));
    for line in lines {
        let entry = read_entry(line).expect("the suite's own lines");
        let seq = heads.append(&entry, 0, line.len() as u32);
        card.feed(&entry, seq, &heads);
    }
    card.card().clone()
}

/// Only the store gives offsets a meaning.
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
    let wanted: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
    let mut lines = Vec::new();
    let read = crate::each_line(store, id, version.generation, &wanted, |_, line| {
        lines.push(line.to_vec());
        Ok::<_, StoreError>(())
    });
    read.await.expect("lines");
    lines
}

async fn created(store: &dyn Store, id: &str, lines: &[Vec<u8>]) -> Opened {
    store.create(&header(id), lines).await.expect("a new session")
}

async fn one_line(store: &dyn Store, id: &str, version: Version, at: usize) -> Result<Vec<u8>, StoreError> {
    let mut batch = Batch::default();
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
