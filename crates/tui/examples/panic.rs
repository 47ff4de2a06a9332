//! Takes the terminal and dies: to see that the terminal is given back.

fn main() -> std::io::Result<()> {
    let _terminal = osier_tui::Terminal::enter()?;
    panic!("on purpose");
}
