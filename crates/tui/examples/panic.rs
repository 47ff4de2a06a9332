//! Takes the terminal and dies: to see that the terminal is given back. `panic beside` lets another thread die: to see that
//! it is kept.

fn main() -> std::io::Result<()> {
    let terminal = osier_tui::Terminal::enter()?;
    if std::env::args().any(|arg| arg == "beside") {
        terminal.tell_panics(|words| print!("told: {words}\r\n"));
        let beside = std::thread::spawn(|| panic!("beside it"));
        assert!(beside.join().is_err());
        // It waits for a key, and shows that the terminal does not: raw mode has no lines to end.
        let mut key = [0];
        std::io::Read::read_exact(&mut std::io::stdin(), &mut key)?;
        print!("got {}\r\n", key[0]);
        return Ok(());
    }
    panic!("on purpose");
}
