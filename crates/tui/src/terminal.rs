//! The terminal itself: switched to what the interface needs, and switched back whatever happens.

use std::io::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// Pastes are told as such; keys with modifiers are told apart where the terminal can.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[>1u";
const LEAVE: &[u8] = b"\x1b[<1u\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m";

static ENTERED: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// While this lives, the terminal is ours.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    pub fn enter() -> io::Result<Terminal> {
        HOOK.call_once(|| {
            let told = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if ENTERED.load(Ordering::SeqCst) {
                    restore();
                    let _ = io::stdout().write_all(b"\r\n");
                }
                told(panic);
            }));
        });
        enable_raw_mode()?;
        ENTERED.store(true, Ordering::SeqCst);
        let terminal = Terminal(());
        let mut out = io::stdout();
        out.write_all(ENTER)?;
        out.flush()?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Does nothing the second time.
fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = out.write_all(LEAVE);
        let _ = out.flush();
        let _ = disable_raw_mode();
    }
}
