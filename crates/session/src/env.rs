//! What a session needs from the world besides its store: the time, new ids, a gate, and how careful to be.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use osier_tree::time::Millis;

use crate::gate::Gate;

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    fn now(&self) -> Millis;
}

/// Makes ids. The writer checks that an id is free, so a source may repeat itself now and then.
pub trait Ids: Send + Sync + Debug {
    fn entry(&self) -> String;
    fn session(&self) -> String;
}

/// When acknowledged entries are made to survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When the operating system finds time.
    Os,
    /// At the end of a turn and before a prompt is sent.
    #[default]
    Turn,
    /// After every entry.
    Always,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Env {
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    /// Asked before every change; without one everything passes.
    pub gate: Option<Arc<dyn Gate>>,
    pub durability: Durability,
    /// The name of this machine, which others are told when a turn runs here.
    pub host: Arc<str>,
    /// Whether to read on when other processes append. Otherwise their entries are seen at the next append or `refresh`.
    pub watch: bool,
}

impl Default for Env {
    fn default() -> Env {
        Env {
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            gate: None,
            durability: Durability::default(),
            host: Arc::from(""),
            watch: true,
        }
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    }
}

/// Eight random hex digits for an entry, a random UUID (version 4) for a session.
#[derive(Debug, Clone, Copy)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn entry(&self) -> String {
        format!("{:08x}", u32::from_ne_bytes(random()))
    }

    fn session(&self) -> String {
        let bits = u128::from_ne_bytes(random());
        let version_4 = bits & !(0xf << 76) | 4 << 76;
        let variant_1 = version_4 & !(3 << 62) | 2 << 62;
        let digits = format!("{variant_1:032x}");
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        parts.join("-")
    }
}

/// A number that no other process uses. One bit less than there is, because not every database knows unsigned numbers.
pub(crate) fn random_number() -> u64 {
    u64::from_ne_bytes(random()) >> 1
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("every system Osier runs on gives random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_have_the_forms_that_pi_and_uuid_readers_expect() {
        let entry = RandomIds.entry();
        assert!(entry.len() == 8 && entry.bytes().all(|b| b.is_ascii_hexdigit()), "{entry}");
        let session = RandomIds.session();
        let lengths: Vec<usize> = session.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{session}");
        assert_eq!(&session[14..15], "4");
        assert!(matches!(&session[19..20], "8" | "9" | "a" | "b"), "{session}");
        assert_ne!(session, RandomIds.session());
    }
}
