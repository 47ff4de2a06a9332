//! The environment of a session: clock, id source, gate and durability.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use osier_tree::time::Millis;

use crate::gate::Gate;

/// Returns the current time.
pub trait WallClock: Send + Sync + Debug {
    fn now(&self) -> Millis;
}

/// Generates ids. The writer checks that an id is unused, so an occasional duplicate is fine.
pub trait IdSource: Send + Sync + Debug {
    fn entry(&self) -> String;
    fn session(&self) -> String;
}

/// When acknowledged entries are synced to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Whenever the operating system does it.
    Os,
    /// At the end of a turn and before a prompt is sent.
    #[default]
    Turn,
    /// After every entry.
    Always,
}

/// The environment of a session.
#[derive(Debug, Clone)]
pub struct SessionEnv {
    pub clock: Arc<dyn WallClock>,
    pub ids: Arc<dyn IdSource>,
    /// Called before every change. Without a gate, every change passes.
    pub gate: Option<Arc<dyn Gate>>,
    pub durability: Durability,
    /// The name of this host, shown to other processes while a turn runs here.
    pub host: Arc<str>,
    /// Whether to read the entries of other processes as they appear. Otherwise they are read at the next append or
    /// `refresh`.
    pub watch: bool,
}

impl Default for SessionEnv {
    fn default() -> SessionEnv {
        SessionEnv {
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            gate: None,
            durability: Durability::default(),
            host: Arc::from(""),
            watch: true,
        }
    }
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl WallClock for SystemClock {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    }
}

/// Eight random hex digits for an entry, a random UUID (version 4) for a session.
#[derive(Debug, Clone, Copy)]
pub struct RandomIds;

impl IdSource for RandomIds {
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

/// A random number that no other process uses. It has 63 bits, because some databases have no unsigned integers.
pub(crate) fn random_number() -> u64 {
    u64::from_ne_bytes(random()) >> 1
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_have_the_formats_of_pi_and_uuid() {
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
