//! A persistent map whose copies share data: a copy costs a few pointers, and N insertions with a copy after each cost about
//! N log N, not N².
//!
//! It is a stack of layers, each at least twice as large as the next. The newest layer that has a key wins.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

/// A persistent map; see the module documentation. The value `None` hides a key of the layers below.
#[derive(Debug, Clone)]
pub(crate) struct LayeredMap<K, V> {
    layers: Vec<Arc<FxHashMap<K, Option<V>>>>,
}

impl<K, V> Default for LayeredMap<K, V> {
    fn default() -> LayeredMap<K, V> {
        LayeredMap { layers: Vec::new() }
    }
}

impl<K: Hash + Eq + Clone, V: Clone> LayeredMap<K, V> {
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.layers.iter().rev().find_map(|layer| layer.get(key))?.as_ref()
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.put(key, Some(value));
    }

    pub(crate) fn remove(&mut self, key: K) {
        self.put(key, None);
    }

    /// All keys and values, in arbitrary order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let mut seen = FxHashSet::default();
        let single = self.layers.len() < 2;
        let all = self.layers.iter().rev().flat_map(|layer| layer.iter());
        let newest = all.filter(move |(key, _)| single || seen.insert(*key));
        newest.filter_map(|(key, value)| Some((key, value.as_ref()?)))
    }

    fn put(&mut self, key: K, value: Option<V>) {
        // A layer that is not shared with a copy is changed in place.
        match self.layers.last_mut().and_then(Arc::get_mut) {
            Some(layer) => drop(layer.insert(key, value)),
            None => self.layers.push(Arc::new(FxHashMap::from_iter([(key, value)]))),
        }
        while let [.., below, last] = self.layers.as_slice()
            && below.len() < 2 * last.len()
        {
            self.merge_last();
        }
    }

    /// Merges the last two layers.
    fn merge_last(&mut self) {
        let (Some(last), Some(mut below)) = (self.layers.pop(), self.layers.pop()) else { return };
        #[cfg(test)]
        tests::count_copies(last.len() + if Arc::strong_count(&below) > 1 { below.len() } else { 0 });
        let merged = Arc::make_mut(&mut below);
        merged.extend(last.iter().map(|(key, value)| (key.clone(), value.clone())));
        if self.layers.is_empty() {
            merged.retain(|_, value| value.is_some());
        }
        self.layers.push(below);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;

    use super::*;

    thread_local! {
        static COPIES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count_copies(items: usize) {
        COPIES.set(COPIES.get() + items);
    }

    /// The number of items copied while `count` items are inserted, each followed by a copy that stays alive.
    fn copies(count: usize) -> usize {
        COPIES.set(0);
        let mut map = LayeredMap::default();
        let mut kept = Vec::new();
        for key in 0..count {
            map.insert(key, key);
            kept.push(map.clone());
        }
        assert_eq!(map.iter().count(), count);
        COPIES.get()
    }

    #[test]
    fn insertions_with_a_copy_after_each_are_not_quadratic() {
        for count in [1_000_usize, 4_000, 16_000] {
            let most = count * count.ilog2() as usize;
            assert!(copies(count) <= most, "{} items copied for {count}, {most} at most", copies(count));
        }
    }

    #[test]
    fn behaves_like_a_map_and_copies_do_not_change() {
        let mut random = 7_u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> 16
        };
        let (mut map, mut plain) = (LayeredMap::default(), BTreeMap::new());
        let mut copies = Vec::new();
        for step in 0..3_000 {
            let key = next() % 200;
            if next().is_multiple_of(3) {
                map.remove(key);
                plain.remove(&key);
            } else {
                map.insert(key, step);
                plain.insert(key, step);
            }
            if next().is_multiple_of(4) {
                copies.push((map.clone(), plain.clone()));
            }
        }
        copies.push((map, plain));
        for (map, plain) in copies.iter().step_by(50).chain(copies.last()) {
            let all: BTreeMap<_, _> = map.iter().map(|(key, value)| (*key, *value)).collect();
            assert_eq!(all, *plain);
            assert!((0..200).all(|key| map.get(&key) == plain.get(&key)));
        }
    }
}
