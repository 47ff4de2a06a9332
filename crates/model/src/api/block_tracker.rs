//! Numbers the blocks of a reply for protocols that send no block numbers, and closes a text or thinking block when
//! another block starts.

use crate::model::Delta;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Thinking,
}

/// Tracks the open text or thinking block and the next block number.
#[derive(Debug, Default)]
pub(crate) struct BlockTracker {
    next: usize,
    open: Option<(TextKind, usize)>,
    signature: Option<String>,
}

impl BlockTracker {
    pub(crate) fn push_text(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        let block = self.open_block(TextKind::Text, deltas);
        if !text.is_empty() {
            deltas.push(Delta::Text { block, text: text.to_owned() });
        }
    }

    pub(crate) fn push_thinking(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        let block = self.open_block(TextKind::Thinking, deltas);
        if !text.is_empty() {
            deltas.push(Delta::Thinking { block, text: text.to_owned() });
        }
    }

    /// Sets the signature of the open block. Does nothing if none is open.
    pub(crate) fn set_signature(&mut self, signature: &str) {
        if self.open.is_some() {
            self.signature = Some(signature.to_owned());
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Closes the open text or thinking block and starts a call. Other calls stay open.
    pub(crate) fn start_call(&mut self, id: String, name: &str, deltas: &mut Vec<Delta>) -> usize {
        self.close(deltas);
        let block = self.next_index();
        deltas.push(Delta::ToolCallStart { block, id, name: name.to_owned() });
        block
    }

    pub(crate) fn close(&mut self, deltas: &mut Vec<Delta>) {
        let signature = self.signature.take();
        deltas.extend(self.open.take().map(|(kind, block)| match kind {
            TextKind::Text => Delta::TextEnd { block, signature },
            TextKind::Thinking => Delta::ThinkingEnd { block, signature, redacted: false },
        }));
    }

    fn open_block(&mut self, kind: TextKind, deltas: &mut Vec<Delta>) -> usize {
        match self.open {
            Some((open, block)) if open == kind => block,
            _ => {
                self.close(deltas);
                let block = self.next_index();
                self.open = Some((kind, block));
                deltas.push(match kind {
                    TextKind::Text => Delta::TextStart { block },
                    TextKind::Thinking => Delta::ThinkingStart { block },
                });
                block
            }
        }
    }

    fn next_index(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}
