//! A connection to a gateway that can break: a TCP proxy between a browser and `osier serve`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// See the module documentation.
pub(crate) struct Tunnel {
    pub(crate) port: u16,
    shared: Arc<TunnelState>,
}

#[derive(Default)]
struct TunnelState {
    sockets: Mutex<Vec<TcpStream>>,
    /// Nothing is passed on in the connections that are open, and they are not closed either.
    is_silent: AtomicBool,
    /// New connections are closed at once.
    is_closed: AtomicBool,
}

impl Tunnel {
    pub(crate) fn to(target: u16) -> Tunnel {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(TunnelState::default());
        let state = Arc::clone(&shared);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if !state.is_closed.load(Ordering::SeqCst) {
                    state.connect(&socket, target);
                }
            }
        });
        Tunnel { port, shared }
    }

    /// Closes all connections, and refuses new ones until [`Tunnel::open`].
    pub(crate) fn cut(&self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        for socket in self.shared.sockets.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Connections stay open, and nothing arrives: like a laptop that changed the network.
    pub(crate) fn silence(&self) {
        self.shared.is_silent.store(true, Ordering::SeqCst);
    }

    /// Passes on everything again. What was lost in silence stays lost.
    pub(crate) fn open(&self) {
        self.shared.is_silent.store(false, Ordering::SeqCst);
        self.shared.is_closed.store(false, Ordering::SeqCst);
    }
}

impl TunnelState {
    fn connect(self: &Arc<Self>, socket: &TcpStream, target: u16) {
        let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { return };
        for (from, to) in [(socket, &server), (&server, socket)] {
            let (from, to, state) = (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(self));
            state.sockets.lock().unwrap().push(from.try_clone().unwrap());
            std::thread::spawn(move || state.pass(from, to));
        }
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 * 1024];
        let mut is_dead = false;
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            is_dead |= self.is_silent.load(Ordering::SeqCst);
            if !is_dead && to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        if !is_dead {
            let _ = to.shutdown(Shutdown::Both);
        }
    }
}
