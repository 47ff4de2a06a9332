//! The terminal itself: switched to what the interface needs, and switched back whatever happens.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Pastes are told as such; keys with modifiers are told apart where the terminal can.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[>1u";
const LEAVE: &[u8] = b"\x1b[<1u\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m";

/// How the terminal was, while it is ours.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
/// The thread that draws, and who is told of panics in the others.
static BESIDE: Mutex<Option<(ThreadId, Tell)>> = Mutex::new(None);
/// Of the last panic that was told so, should what draws break because of it.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());
static HOOK: Once = Once::new();

type Tell = Box<dyn Fn(String) + Send>;

/// While this lives, the terminal is ours.
#[derive(Debug)]
pub struct Terminal(());

impl Terminal {
    pub fn enter() -> io::Result<Terminal> {
        HOOK.call_once(|| {
            let told = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if tell_beside(&panic.to_string()) {
                    return;
                }
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
        locked(&BEFORE).get_or_insert(before);
        let terminal = Terminal(());
        let mut out = io::stdout();
        out.write_all(ENTER)?;
        out.flush()?;
        Ok(terminal)
    }

    /// From now on a panic in a task, or in another thread than this one, leaves the terminal as it is, and `tell` gets its
    /// words: what broke is one task, and the program goes on.
    pub fn tell_panics(&self, tell: impl Fn(String) + Send + 'static) {
        *locked(&BESIDE) = Some((thread::current().id(), Box::new(tell)));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a panic of this thread was told to who draws.
fn tell_beside(words: &str) -> bool {
    // What draws is no task, even where tasks share its thread.
    let is_beside = |drawing: ThreadId| drawing != thread::current().id() || tokio::task::try_id().is_some();
    match &*locked(&BESIDE) {
        Some((drawing, tell)) if is_beside(*drawing) && locked(&BEFORE).is_some() => {
            tell(words.replace('\n', " "));
            *locked(&LAST_WORDS) = words.to_owned();
            true
        }
        _ => false,
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A panic that comes over from another thread calls no hook, and its words would be lost.
        if restore() && thread::panicking() {
            eprintln!("{}", locked(&LAST_WORDS));
        }
    }
}

/// Columns and rows.
pub(crate) fn size() -> io::Result<(u16, u16)> {
    let size = tcgetwinsize(io::stdout())?;
    // A terminal that does not know has a size nevertheless.
    Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
}

/// Whether the terminal breaks lines anew when its width changes. Only a few known ones cut them instead.
pub(crate) fn reflows() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let term = std::env::var("TERM").unwrap_or_default();
    let is_inside = is_set("TMUX");
    is_inside || !(is_set("XTERM_VERSION") || term == "linux" || term.starts_with("screen"))
}

/// Gives the terminal back. Does nothing the second time; tells whether it was ours.
fn restore() -> bool {
    let before = locked(&BEFORE).take();
    let Some(before) = before else { return false };
    let mut out = io::stdout();
    let _ = out.write_all(LEAVE);
    let _ = out.flush();
    // Only once all is shown: a ctrl+c that is still to be read would throw it away.
    let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &before);
    true
}
