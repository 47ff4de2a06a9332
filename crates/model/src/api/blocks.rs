//! Numbers the blocks of a reply for protocols that send no block numbers, and closes a text or thinking block when
//! another block starts.

use crate::port::Delta;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

/// Tracks the open text or thinking block and the next block number.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    next: usize,
    open: Option<(Kind, usize)>,
    signature: Option<String>,
}

impl Blocks {
    pub(crate) fn text(&mut self, text: &str, out: &mut Vec<Delta>) {
        let block = self.enter(Kind::Text, out);
        if !text.is_empty() {
            out.push(Delta::Text { block, text: text.to_owned() });
        }
    }

    pub(crate) fn thinking(&mut self, text: &str, out: &mut Vec<Delta>) {
        let block = self.enter(Kind::Thinking, out);
        if !text.is_empty() {
            out.push(Delta::Thinking { block, text: text.to_owned() });
        }
    }

    /// Sets the signature of the open block. Does nothing if none is open.
    pub(crate) fn sign(&mut self, signature: &str) {
        if self.open.is_some() {
            self.signature = Some(signature.to_owned());
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Closes the open text or thinking block and starts a call. Other calls stay open.
    pub(crate) fn call(&mut self, id: String, name: &str, out: &mut Vec<Delta>) -> usize {
        self.close(out);
        let block = self.take();
        out.push(Delta::ToolCallStart { block, id, name: name.to_owned() });
        block
    }

    pub(crate) fn close(&mut self, out: &mut Vec<Delta>) {
        let signature = self.signature.take();
        out.extend(self.open.take().map(|(kind, block)| match kind {
            Kind::Text => Delta::TextEnd { block, signature },
            Kind::Thinking => Delta::ThinkingEnd { block, signature, redacted: false },
        }));
    }

    fn enter(&mut self, kind: Kind, out: &mut Vec<Delta>) -> usize {
        match self.open {
            Some((open, block)) if open == kind => block,
            _ => {
                self.close(out);
                let block = self.take();
                self.open = Some((kind, block));
                out.push(match kind {
                    Kind::Text => Delta::TextStart { block },
                    Kind::Thinking => Delta::ThinkingStart { block },
                });
                block
            }
        }
    }

    fn take(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}
