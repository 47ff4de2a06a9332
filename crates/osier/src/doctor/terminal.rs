//! Checks the terminal (size, colors, UTF-8) and the programs that tools use.

use super::DoctorCheck;
use crate::home;

const AREA: &str = "terminal";
const MIN_COLUMNS: usize = 40;

pub(super) fn checks() -> Vec<DoctorCheck> {
    let mut checks = match home::terminal_info() {
        None => vec![DoctorCheck::ok(AREA, "none: output goes to a file or a program")],
        Some(terminal) => check_terminal(&terminal),
    };
    checks.extend([
        check_program("bash", "install bash; until then commands run in sh"),
        check_program(
            "git",
            "install git; projects are still found without it, but most git features do not work",
        ),
    ]);
    checks
}

fn check_terminal(terminal: &home::TerminalInfo) -> Vec<DoctorCheck> {
    let size = terminal
        .size
        .map_or_else(|| "size unknown".to_owned(), |(columns, rows)| format!("{columns} × {rows}"));
    let term = if terminal.term.is_empty() { "not set" } else { &terminal.term };
    let said = format!("{size}, TERM {term}, {}", terminal.colors);
    let mut checks = vec![match terminal.size {
        Some((columns, _)) if columns < MIN_COLUMNS => {
            DoctorCheck::warn(AREA, said, format!("make it wider: lines are cut below {MIN_COLUMNS} columns"))
        }
        _ => DoctorCheck::ok(AREA, said),
    }];
    if !terminal.utf8 {
        let advice = "set LANG=C.UTF-8, or the UTF-8 locale of your language";
        checks.push(DoctorCheck::warn(AREA, "the locale is not UTF-8", advice));
    }
    checks
}

fn check_program(name: &'static str, advice: &str) -> DoctorCheck {
    const AREA: &str = "program";
    match home::find_program(name) {
        Some(path) => DoctorCheck::ok(AREA, format!("{name} is {}", path.display())),
        None => DoctorCheck::warn(AREA, format!("{name} is not installed"), advice),
    }
}
