//! Tells a person that something takes its time. Says nothing within the first second, nor to a file or a pipe.

use std::io::Write;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::home;
use crate::layout::{fit, plain};
use crate::out;

const PATIENCE: Duration = Duration::from_secs(1);

/// The work goes on until this is dropped; then the line is gone.
#[derive(Debug)]
pub(crate) struct Waiting {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Begins to wait for what the text names.
pub(crate) fn waiting(what: &str) -> Waiting {
    match home::wants_progress() && !out::is_drawn_on() {
        true => Waiting::on(what, PATIENCE, std::io::stderr()),
        false => Waiting { done: None, thread: None },
    }
}

impl Waiting {
    fn on(what: &str, patience: Duration, out: impl Write + Send + 'static) -> Waiting {
        let what = fit(&plain(what), 60);
        let (done, end) = mpsc::channel();
        let thread = std::thread::spawn(move || tell(&what, patience, &end, out));
        Waiting { done: Some(done), thread: Some(thread) }
    }
}

/// Writes the line anew each second, and clears it in the end.
fn tell(what: &str, patience: Duration, end: &Receiver<()>, mut out: impl Write) {
    let mut waited = 0;
    while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(patience) {
        waited += 1;
        let _ = write!(out, "\r{what} … {waited} s").and_then(|()| out.flush());
    }
    if waited > 0 {
        let _ = write!(out, "\r\u{1b}[K").and_then(|()| out.flush());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.done.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells the test of everything that is written.
    struct Told(Sender<String>);

    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_takes_long_is_told_and_cleared_away() {
        let (told, telling) = mpsc::channel();
        let waiting = Waiting::on("reading a\nb", Duration::ZERO, Told(told));
        assert_eq!(telling.recv().unwrap(), "\r");
        assert_eq!(telling.recv().unwrap(), "reading a\u{fffd}b");
        drop(waiting);
        assert_eq!(telling.iter().last().unwrap(), "\r\u{1b}[K");
    }

    #[test]
    fn what_is_quick_is_not_told() {
        let (told, telling) = mpsc::channel();
        drop(Waiting::on("reading", Duration::from_secs(3600), Told(told)));
        assert_eq!(telling.iter().next(), None);
    }
}
