//! Enters the terminal and panics, to test that the terminal is restored. `panic background` panics in a task and in another
//! thread instead, to test that the terminal stays in raw mode.

use std::io::{self, Read};

fn main() -> io::Result<()> {
    let terminal = osier_tui::TerminalGuard::enter()?;
    if std::env::args().any(|arg| arg == "background") {
        terminal.set_panic_handler(|message| print!("reported: {message}\r\n"));
        assert!(std::thread::spawn(|| panic!("in a thread")).join().is_err());
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        assert!(runtime.block_on(async { tokio::spawn(async { panic!("in a task") }).await }).is_err());
        // The key arrives without a newline only if the terminal is still in raw mode.
        let mut key = [0];
        io::stdin().read_exact(&mut key)?;
        print!("got {}\r\n", key[0]);
        return Ok(());
    }
    panic!("on purpose");
}
