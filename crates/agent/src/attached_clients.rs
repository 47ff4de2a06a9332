//! The clients that receive the events of an agent, and for how long there has been none.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::live_events::ClientId;

/// A client that is gone for less than this may have lost its connection, or still be on its way.
const ABSENCE: Duration = Duration::from_secs(10);

/// See the module documentation. Clones share the clients.
#[derive(Debug, Clone)]
pub(crate) struct AttachedClients(watch::Sender<ClientList>);

#[derive(Debug)]
struct ClientList {
    /// As often as they attached.
    ids: Vec<ClientId>,
    /// When the last one left. At first, when the agent started.
    left: Instant,
}

impl AttachedClients {
    pub(crate) fn new() -> AttachedClients {
        AttachedClients(watch::Sender::new(ClientList { ids: Vec::new(), left: Instant::now() }))
    }

    pub(crate) fn add(&self, id: ClientId) -> AttachedClient {
        self.0.send_modify(|clients| clients.ids.push(id));
        AttachedClient { id, clients: self.clone() }
    }

    pub(crate) fn contains(&self, id: ClientId) -> bool {
        self.0.borrow().ids.contains(&id)
    }

    fn remove(&self, id: ClientId) {
        self.0.send_modify(|clients| {
            if let Some(at) = clients.ids.iter().position(|client| *client == id) {
                clients.ids.swap_remove(at);
                clients.left = Instant::now();
            }
        });
    }

    /// Waits until no client has been attached for a while, so that nobody is there to answer.
    pub(crate) async fn wait_until_absent(&self) {
        let mut clients = self.0.subscribe();
        loop {
            // The sender is in `self`, so it never ends.
            let left = clients.wait_for(|clients| clients.ids.is_empty()).await.map(|clients| clients.left);
            let Ok(left) = left else { return };
            let back = clients.wait_for(|clients| !clients.ids.is_empty());
            let is_late = timeout_at(left + ABSENCE, back).await.is_err();
            // A client may have come and left again in between.
            if is_late && self.0.borrow().left == left {
                return;
            }
        }
    }
}

/// A client that receives events, until this is dropped.
#[derive(Debug)]
pub(crate) struct AttachedClient {
    pub(crate) id: ClientId,
    clients: AttachedClients,
}

impl Drop for AttachedClient {
    fn drop(&mut self) {
        self.clients.remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn clients_are_absent_a_while_after_the_last_one_left() {
        let (clients, start) = (AttachedClients::new(), Instant::now());
        let other = clients.clone();
        let coming_and_going = tokio::spawn(async move {
            sleep(ABSENCE - SECOND).await;
            let (first, second) = (other.add(ClientId::new()), other.add(ClientId::new()));
            drop(first);
            sleep(100 * SECOND).await;
            drop(second);
            // It lost its connection.
            sleep(ABSENCE - SECOND).await;
            drop(other.add(ClientId::new()));
        });
        clients.wait_until_absent().await;
        assert_eq!(start.elapsed(), 2 * (ABSENCE - SECOND) + 100 * SECOND + ABSENCE);
        coming_and_going.await.unwrap();
        let now = Instant::now();
        clients.wait_until_absent().await;
        assert_eq!(now.elapsed(), Duration::ZERO, "nobody has been there for long");
    }
}
