//! Lines from the terminal, read by a thread of its own, so that one can type while the model works. Lines that come in
//! one go, as pasted ones do, are one text. The terminal itself does the editing of a line.

use std::io::BufRead;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What was typed; nothing more comes after the end of the channel.
pub(super) type Typed = UnboundedReceiver<String>;

pub(super) fn read() -> Typed {
    let (to, typed) = unbounded_channel();
    std::thread::spawn(move || while line(&to).is_some() {});
    typed
}

/// Reads one text; `None` at the end.
fn line(to: &UnboundedSender<String>) -> Option<()> {
    let mut text = String::new();
    let mut stdin = std::io::stdin().lock();
    loop {
        if stdin.read_line(&mut text).ok()? == 0 {
            return None;
        }
        if !more_is_there() {
            break;
        }
    }
    to.send(text.trim_end_matches(['\n', '\r']).to_owned()).ok()
}

/// A terminal gives a line at a time, so nothing is left in between.
fn more_is_there() -> bool {
    let stdin = std::io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut waiting, Some(&now)).is_ok_and(|ready| ready > 0)
        && waiting[0].revents().contains(PollFlags::IN)
        && !waiting[0].revents().contains(PollFlags::HUP)
}
