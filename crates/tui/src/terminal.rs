//! Switches the terminal to raw mode for the interface, and always restores it.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Turns on bracketed paste, reports of the focus, and the keyboard protocol that reports modifiers, where the terminal supports
/// them. Saves the title of the window.
const ENTER_SEQUENCE: &[u8] = b"\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[22;2t";
const LEAVE_SEQUENCE: &[u8] = b"\x1b[23;2t\x1b[<1u\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m";

/// The modes to restore, while the terminal is in raw mode.
static SAVED_MODES: Mutex<Option<Termios>> = Mutex::new(None);
/// The thread that draws, and the handler for panics elsewhere.
static PANIC_HANDLER: Mutex<Option<(ThreadId, PanicHandler)>> = Mutex::new(None);
/// The last panic that was passed to the handler, in case the drawing thread fails because of it.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());
static HOOK: Once = Once::new();

type PanicHandler = Box<dyn Fn(String) + Send>;

/// Keeps the terminal in raw mode; restores it when dropped.
#[derive(Debug)]
pub struct TerminalGuard(());

impl TerminalGuard {
    pub fn enter() -> io::Result<TerminalGuard> {
        HOOK.call_once(|| {
            let default_hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if handle_background_panic(&panic.to_string()) {
                    return;
                }
                if restore() {
                    let _ = io::stdout().write_all(b"\r\n");
                }
                default_hook(panic);
            }));
        });
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        lock(&SAVED_MODES).get_or_insert(before);
        let terminal = TerminalGuard(());
        let mut out = io::stdout();
        out.write_all(ENTER_SEQUENCE)?;
        out.flush()?;
        Ok(terminal)
    }

    /// From now on, a panic in a task or in another thread does not restore the terminal; its message goes to `handler` instead,
    /// because only that task failed and the program continues.
    pub fn set_panic_handler(&self, report: impl Fn(String) + Send + 'static) {
        *lock(&PANIC_HANDLER) = Some((thread::current().id(), Box::new(report)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes a panic to the handler if the current thread or task does not draw. Returns whether it did.
fn handle_background_panic(words: &str) -> bool {
    // Drawing does not happen in a task, although tasks may run on the same thread.
    let is_beside = |drawing: ThreadId| drawing != thread::current().id() || tokio::task::try_id().is_some();
    match &*lock(&PANIC_HANDLER) {
        Some((drawing, report)) if is_beside(*drawing) && lock(&SAVED_MODES).is_some() => {
            report(words.replace('\n', " "));
            *lock(&LAST_PANIC) = words.to_owned();
            true
        }
        _ => false,
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // A panic that is propagated from another thread calls no hook, so its message would be lost.
        if restore() && thread::panicking() {
            eprintln!("{}", lock(&LAST_PANIC));
        }
    }
}

/// The columns and rows of the terminal.
pub(crate) fn terminal_size() -> io::Result<(u16, u16)> {
    let size = tcgetwinsize(io::stdout())?;
    // Some terminals report no size.
    Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
}

/// Whether the terminal rewraps lines when its width changes. Only a few known ones truncate them instead.
pub(crate) fn terminal_reflows() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let term = std::env::var("TERM").unwrap_or_default();
    let is_inside = is_set("TMUX");
    is_inside || !(is_set("XTERM_VERSION") || term == "linux" || term.starts_with("screen"))
}

/// Restores the terminal. Returns false if it was already restored.
fn restore() -> bool {
    let before = lock(&SAVED_MODES).take();
    let Some(before) = before else { return false };
    let mut out = io::stdout();
    let _ = out.write_all(LEAVE_SEQUENCE);
    let _ = out.flush();
    // Drain the output first: a pending Ctrl+C would discard it once signals are on again.
    let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &before);
    true
}
