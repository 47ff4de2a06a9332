//! The terminal itself: switched to what the interface needs, and switched back whatever happens.

use std::io::{self, Write};
use std::sync::{Mutex, Once, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Pastes are told as such; keys with modifiers are told apart where the terminal can.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[>1u";
const LEAVE: &[u8] = b"\x1b[<1u\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m";

/// How the terminal was, while it is ours.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// While this lives, the terminal is ours.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    pub fn enter() -> io::Result<Terminal> {
        HOOK.call_once(|| {
            let told = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if restore() {
                    let _ = io::stdout().write_all(b"\r\n");
                }
                told(panic);
            }));
        });
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        BEFORE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(before);
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

/// Columns and rows.
pub(crate) fn size() -> io::Result<(u16, u16)> {
    let size = tcgetwinsize(io::stdout())?;
    // A terminal that does not know has a size nevertheless.
    Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
}

/// Gives the terminal back. Does nothing the second time; tells whether it was ours.
fn restore() -> bool {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(before) = before else { return false };
    let mut out = io::stdout();
    let _ = out.write_all(LEAVE);
    let _ = out.flush();
    // Only once all is shown: a ctrl+c that is still to be read would throw it away.
    let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &before);
    true
}
