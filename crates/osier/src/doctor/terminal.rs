//! Checks the terminal (size, colors, UTF-8) and the programs that tools use.

use super::Check;
use crate::home;

const AREA: &str = "terminal";
const NARROW: usize = 40;

pub(super) fn checks() -> Vec<Check> {
    let mut checks = match home::terminal_info() {
        None => vec![Check::ok(AREA, "none: output goes to a file or a program")],
        Some(terminal) => of(&terminal),
    };
    checks.extend([
        program("bash", "install bash; until then commands run in sh"),
        program("git", "install git; projects are still found without it, but most git features do not work"),
    ]);
    checks
}

fn of(terminal: &home::TerminalInfo) -> Vec<Check> {
    let size = terminal
        .size
        .map_or_else(|| "size unknown".to_owned(), |(columns, rows)| format!("{columns} × {rows}"));
    let term = if terminal.term.is_empty() { "not set" } else { &terminal.term };
    let said = format!("{size}, TERM {term}, {}", terminal.colors);
    let mut checks = vec![match terminal.size {
        Some((columns, _)) if columns < NARROW => {
            Check::warn(AREA, said, format!("make it wider: lines are cut below {NARROW} columns"))
        }
        _ => Check::ok(AREA, said),
    }];
    if !terminal.utf8 {
        let advice = "set LANG=C.UTF-8, or the UTF-8 locale of your language";
        checks.push(Check::warn(AREA, "the locale is not UTF-8", advice));
    }
    checks
}

fn program(name: &'static str, advice: &str) -> Check {
    const AREA: &str = "program";
    match home::find_program(name) {
        Some(path) => Check::ok(AREA, format!("{name} is {}", path.display())),
        None => Check::warn(AREA, format!("{name} is not installed"), advice),
    }
}
