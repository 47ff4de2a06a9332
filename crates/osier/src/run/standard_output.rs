//! Standard output for frames. A short frame is written at once if the pipe has room for it; Tokio's writer, which passes every
//! write to another thread, takes the rest.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncWrite, Stdout};

/// A pipe that can be written takes this much without blocking (`PIPE_BUF`).
const ROOM: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

pub(super) fn standard_output() -> impl AsyncWrite + Send + Unpin {
    StandardOutput { blocking: tokio::io::stdout(), is_blocking_used: false }
}

#[derive(Debug)]
struct StandardOutput {
    blocking: Stdout,
    /// Something may be on its way through `blocking`, and must come first.
    is_blocking_used: bool,
}

impl AsyncWrite for StandardOutput {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.is_blocking_used && bytes.len() <= ROOM && has_room() {
            return Poll::Ready(Ok(rustix::io::write(io::stdout(), bytes)?));
        }
        self.is_blocking_used = true;
        Pin::new(&mut self.blocking).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_blocking_used {
            ready!(Pin::new(&mut self.blocking).poll_flush(context))?;
            self.is_blocking_used = false;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.blocking).poll_shutdown(context)
    }
}

fn has_room() -> bool {
    let out = io::stdout();
    let mut fds = [PollFd::new(&out, PollFlags::OUT)];
    let ready = poll(&mut fds, Some(&Timespec::default()));
    ready.is_ok_and(|count| count == 1) && fds[0].revents().contains(PollFlags::OUT)
}
