//! Takes the terminal and dies: to see that the terminal is given back. `panic beside` lets a task and another thread die: to
//! see that it is kept.

use std::io::{self, Read};

fn main() -> io::Result<()> {
    let terminal = osier_tui::TerminalGuard::enter()?;
    if std::env::args().any(|arg| arg == "beside") {
        terminal.set_panic_handler(|words| print!("told: {words}\r\n"));
        assert!(std::thread::spawn(|| panic!("in a thread")).join().is_err());
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        assert!(runtime.block_on(async { tokio::spawn(async { panic!("in a task") }).await }).is_err());
        // A key comes at once only if the terminal still is raw: otherwise it would wait for the end of its line.
        let mut key = [0];
        io::stdin().read_exact(&mut key)?;
        print!("got {}\r\n", key[0]);
        return Ok(());
    }
    panic!("on purpose");
}
