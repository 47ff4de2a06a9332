//! One-time links that were used. Each is remembered until it would expire.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::grant::Grant;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct UsedLinks {
    /// Links from before the start are invalid: this process does not know which of them were used.
    started: u64,
    /// The end of each link by its id.
    used: Mutex<HashMap<String, u64>>,
}

impl UsedLinks {
    pub(crate) fn new(started: u64) -> UsedLinks {
        UsedLinks { started, used: Mutex::default() }
    }

    /// Uses a link. False if it was used before.
    pub(crate) fn consume(&self, link: &Grant, now: u64) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, expires| now < *expires);
        link.created >= self.started && used.insert(link.id.clone(), link.expires).is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::access::{GrantKind, GrantedAccess};

    fn link(created: u64) -> Grant {
        Grant::new(GrantKind::Link, GrantedAccess::Full, created, Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn a_link_works_once() {
        let (links, link) = (UsedLinks::new(1000), link(1000));
        assert!(links.consume(&link, 1001));
        assert!(!links.consume(&link, 1002));
    }

    #[test]
    fn a_link_from_before_the_start_does_not_work() {
        assert!(!UsedLinks::new(1000).consume(&link(999), 1001));
    }

    #[test]
    fn used_links_are_forgotten_when_they_expire() {
        let links = UsedLinks::new(0);
        (0..10).for_each(|at| assert!(links.consume(&link(at), at)));
        assert!(links.consume(&link(5000), 5000));
        assert_eq!(links.used.lock().unwrap().len(), 1);
    }
}
