//! Code on which patterns backtrack. In a process of its own, because it uses up the budget of the process.

use osier_highlight::{Highlighter, MAX_LINE_BYTES, TokenClass};

fn colored(highlighter: &mut Highlighter, line: &str) -> usize {
    let mut tokens = 0;
    highlighter.line(line, |class, _| tokens += usize::from(class != TokenClass::Plain));
    tokens
}

/// Without the budget, a megabyte of this takes ten minutes.
#[test]
fn hostile_code_ends_highlighting_and_costs_no_more() {
    let line = "a(".repeat(MAX_LINE_BYTES / 2);
    let lines = (0..20_000).take_while(|_| {
        let mut highlighter = Highlighter::new("systemverilog");
        colored(&mut highlighter, "module a;") > 0 && colored(&mut highlighter, &line) < usize::MAX
    });
    let count = lines.count();
    assert!(count < 2_000, "{count} lines were highlighted");
    assert_eq!(colored(&mut Highlighter::new("rust"), "let x = 1;"), 0, "the budget is that of the process");
}
