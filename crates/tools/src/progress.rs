//! Live output of a running command. Nothing here is stored. A slow listener loses text and learns how much; it does not slow
//! down the command or use more memory.

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// A piece of output, without split characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveOutput {
    /// How many bytes were dropped before this piece.
    pub skipped: usize,
    pub text: String,
}

/// The sender of live output. The default drops everything.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<mpsc::Sender<LiveOutput>>);

impl Progress {
    /// Creates a sender and its listener. The listener can be `pieces` behind before text is dropped.
    pub fn channel(pieces: usize) -> (Progress, mpsc::Receiver<LiveOutput>) {
        let (sender, receiver) = mpsc::channel(pieces);
        (Progress(Some(sender)), receiver)
    }

    /// Sends a complete piece. It is dropped if the listener is too slow.
    pub fn send(&self, text: String) {
        if let Some(sender) = &self.0 {
            let _ = sender.try_send(LiveOutput { skipped: 0, text });
        }
    }

    pub(crate) fn stream(&self) -> ProgressStream {
        ProgressStream {
            sender: self.0.clone(),
            partial_char: Vec::new(),
            pending: String::new(),
            skipped: 0,
        }
    }
}

/// The most bytes buffered for a slow listener.
const MAX_PENDING: usize = 16 * 1024;

/// The output stream of one command to the listener.
#[derive(Debug)]
pub(crate) struct ProgressStream {
    sender: Option<mpsc::Sender<LiveOutput>>,
    /// The first bytes of an incomplete character.
    partial_char: Vec<u8>,
    pending: String,
    skipped: usize,
}

impl ProgressStream {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.sender.is_none() {
            return;
        }
        let text = decode_complete(&mut self.partial_char, bytes);
        self.pending.push_str(&text);
        self.send();
    }

    fn send(&mut self) {
        let Some(to) = &self.sender else { return };
        if self.pending.is_empty() {
            return;
        }
        let live = LiveOutput {
            skipped: std::mem::take(&mut self.skipped),
            text: std::mem::take(&mut self.pending),
        };
        match to.try_send(live) {
            Ok(()) => {}
            Err(TrySendError::Closed(_)) => self.sender = None,
            Err(TrySendError::Full(live)) => {
                (self.skipped, self.pending) = (live.skipped, live.text);
                self.trim_pending();
            }
        }
    }

    /// Drops the oldest part of the buffered text.
    fn trim_pending(&mut self) {
        if self.pending.len() > MAX_PENDING {
            let cut = self.pending.ceil_char_boundary(self.pending.len() - MAX_PENDING);
            self.pending.drain(..cut);
            self.skipped += cut;
        }
    }
}

/// Decodes `broken` followed by `bytes`. An incomplete last character stays in `broken`.
fn decode_complete(broken: &mut Vec<u8>, bytes: &[u8]) -> String {
    broken.extend_from_slice(bytes);
    let all = std::mem::take(broken);
    let mut text = String::with_capacity(all.len());
    let mut chunks = all.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        match std::str::from_utf8(chunk.invalid()) {
            Err(error) if error.error_len().is_none() && chunks.peek().is_none() => {
                broken.extend_from_slice(chunk.invalid());
            }
            Err(_) => text.push(char::REPLACEMENT_CHARACTER),
            Ok(_) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_split_between_chunks_is_sent_whole() {
        let mut broken = Vec::new();
        let parts: Vec<String> =
            "aé€😀".as_bytes().chunks(1).map(|b| decode_complete(&mut broken, b)).collect();
        assert_eq!(parts.concat(), "aé€😀");
        assert!(broken.is_empty());
        assert_eq!(decode_complete(&mut broken, b"\xff\xfeok\xe2"), "\u{fffd}\u{fffd}ok");
        assert_eq!(decode_complete(&mut broken, b"x"), "\u{fffd}x");
    }

    #[test]
    fn slow_listener_loses_the_oldest_text_and_learns_how_much() {
        let (progress, mut listener) = Progress::channel(1);
        let mut stream = progress.stream();
        stream.push(b"first");
        stream.push(&[b'x'; MAX_PENDING]);
        stream.push(&[b'y'; 100]);
        assert_eq!(listener.try_recv().unwrap(), LiveOutput { skipped: 0, text: "first".into() });
        stream.push(b"!");
        let next = listener.try_recv().unwrap();
        assert_eq!((next.skipped, next.text.len()), (100, MAX_PENDING + 1));
        assert!(next.text.ends_with("yy!"));
    }

    #[test]
    fn dropped_listener_stops_the_stream() {
        let (progress, listener) = Progress::channel(1);
        drop(listener);
        let mut stream = progress.stream();
        stream.push(b"text");
        assert!(stream.sender.is_none());
    }
}
