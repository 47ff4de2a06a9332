//! Is there a terminal, is it large enough, and can it show what is written? And are the programs there that tools use?

use super::Check;
use crate::home;

const AREA: &str = "terminal";
const NARROW: usize = 40;

pub(super) fn checks() -> Vec<Check> {
    let mut checks = match home::terminal_info() {
        None => vec![Check::ok(AREA, "none: the output goes to a file or a program")],
        Some(terminal) => of(&terminal),
    };
    checks.extend([
        program("bash", "install bash; until then commands are run by sh"),
        program("git", "install git; projects are told apart without it, but little else works"),
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
            Check::warn(AREA, said, format!("make it wider: below {NARROW} columns lines are cut"))
        }
        _ => Check::ok(AREA, said),
    }];
    if !terminal.utf8 {
        let advice = "set LANG=C.UTF-8, or the UTF-8 form of your language";
        checks.push(Check::warn(AREA, "the language settings do not say UTF-8", advice));
    }
    checks
}

fn program(name: &'static str, advice: &str) -> Check {
    const AREA: &str = "program";
    match home::find_program(name) {
        Some(path) => Check::ok(AREA, format!("{name} is {}", path.display())),
        None => Check::warn(AREA, format!("there is no {name}"), advice),
    }
}
