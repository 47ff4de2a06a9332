//! Notices when the other side of a connection is gone. Bytes count as a sign of life: one large frame may take long.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::transport::ReceivedBytes;

/// A peer that is silent for this many heartbeats is gone.
const MISSED_HEARTBEATS: u32 = 3;

/// How long the peer has been silent.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    /// `None` if the end of the connection is always noticed.
    interval: Option<Duration>,
    received: ReceivedBytes,
    /// The bytes that had been received at `last_sign`.
    counted: u64,
    last_sign: Instant,
    /// The heartbeats since `last_sign`.
    missed: u32,
}

/// What a silence means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Ask whether the peer is still there.
    Ask,
    /// The peer is gone.
    Gone,
}

impl Heartbeat {
    pub(crate) fn new(interval: Option<Duration>, received: ReceivedBytes) -> Heartbeat {
        let counted = received.get();
        Heartbeat { interval, received, counted, last_sign: Instant::now(), missed: 0 }
    }

    /// The silence ends, or does not count.
    pub(crate) fn reset(&mut self) {
        (self.counted, self.last_sign, self.missed) = (self.received.get(), Instant::now(), 0);
    }

    /// Waits until the peer has been silent for the next interval. Nothing is lost if the future is dropped.
    pub(crate) async fn wait_for_silence(&mut self) -> Silence {
        let Some(interval) = self.interval else { return std::future::pending().await };
        loop {
            sleep_until(self.last_sign + interval * (self.missed + 1)).await;
            if self.received.get() != self.counted {
                self.reset();
                continue;
            }
            self.missed += 1;
            return match self.missed < MISSED_HEARTBEATS {
                true => Silence::Ask,
                false => Silence::Gone,
            };
        }
    }

    /// Waits until the peer is gone, without asking it.
    pub(crate) async fn wait_until_gone(&mut self) {
        while self.wait_for_silence().await != Silence::Gone {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_asked_twice_and_is_then_gone() {
        let (mut heartbeat, start) =
            (Heartbeat::new(Some(INTERVAL), ReceivedBytes::default()), Instant::now());
        let mut silences = Vec::new();
        for _ in 0..3 {
            silences.push((heartbeat.wait_for_silence().await, start.elapsed().as_secs()));
        }
        assert_eq!(silences, [(Silence::Ask, 10), (Silence::Ask, 20), (Silence::Gone, 30)]);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_are_a_sign_of_life() {
        let received = ReceivedBytes::default();
        let mut heartbeat = Heartbeat::new(Some(INTERVAL), received.clone());
        tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                received.add(1);
            }
        });
        let start = Instant::now();
        heartbeat.wait_until_gone().await;
        let elapsed = start.elapsed().as_secs();
        assert!((90 + 30..90 + 50).contains(&elapsed), "{elapsed}");
    }
}
