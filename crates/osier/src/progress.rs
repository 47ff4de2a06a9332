//! A progress line on the terminal for slow work. Appears after one second, and never in a file or a pipe.

use std::io::Write;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::home;
use crate::layout::{sanitize_line, truncate};
use crate::output_writer;

const SHOW_AFTER: Duration = Duration::from_secs(1);

/// Shows a progress line until it is dropped.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a progress line with this text.
pub(crate) fn show_progress(what: &str) -> ProgressLine {
    match home::wants_progress() && !output_writer::is_interface_active() {
        true => ProgressLine::start(what, SHOW_AFTER, std::io::stderr()),
        false => ProgressLine { done: None, thread: None },
    }
}

impl ProgressLine {
    fn start(what: &str, patience: Duration, out: impl Write + Send + 'static) -> ProgressLine {
        let what = truncate(&sanitize_line(what), 60);
        let (done, end) = mpsc::channel();
        let thread = std::thread::spawn(move || draw_progress(&what, patience, &end, out));
        ProgressLine { done: Some(done), thread: Some(thread) }
    }
}

/// Updates the line each second and clears it at the end.
fn draw_progress(what: &str, patience: Duration, end: &Receiver<()>, mut out: impl Write) {
    let mut waited = 0;
    while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(patience) {
        waited += 1;
        let _ = write!(out, "\r{what} … {waited} s").and_then(|()| out.flush());
    }
    if waited > 0 {
        let _ = write!(out, "\r\u{1b}[K").and_then(|()| out.flush());
    }
}

impl Drop for ProgressLine {
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

    /// Sends everything that is written to the test.
    struct SendingWriter(Sender<String>);

    impl Write for SendingWriter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn slow_work_shows_a_line_and_clears_it() {
        let (sender, written) = mpsc::channel();
        let progress = ProgressLine::start("reading a\nb", Duration::ZERO, SendingWriter(sender));
        assert_eq!(written.recv().unwrap(), "\r");
        assert_eq!(written.recv().unwrap(), "reading a\u{fffd}b");
        drop(progress);
        assert_eq!(written.iter().last().unwrap(), "\r\u{1b}[K");
    }

    #[test]
    fn quick_work_shows_no_line() {
        let (sender, written) = mpsc::channel();
        drop(ProgressLine::start("reading", Duration::from_secs(3600), SendingWriter(sender)));
        assert_eq!(written.iter().next(), None);
    }
}
