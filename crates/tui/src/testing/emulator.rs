//! A terminal emulator with scrollback that rewraps lines when its width changes.

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::Processor;

/// See the module.
pub(crate) struct Emulator {
    term: Term<VoidListener>,
    parser: Processor,
}

struct GridSize(usize, usize);

impl Dimensions for GridSize {
    fn total_lines(&self) -> usize {
        self.1
    }

    fn screen_lines(&self) -> usize {
        self.1
    }

    fn columns(&self) -> usize {
        self.0
    }
}

impl Emulator {
    pub(crate) fn new(columns: usize, rows: usize) -> Emulator {
        let term = Term::new(Config::default(), &GridSize(columns, rows), VoidListener);
        Emulator { term, parser: Processor::new() }
    }

    pub(crate) fn process(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        self.term.resize(GridSize(columns, rows));
    }

    /// The screen row of the cursor.
    pub(crate) fn cursor_row(&self) -> usize {
        self.term.grid().cursor.point.line.0.max(0) as usize
    }

    /// The scrollback and the screen, with wrapped lines joined.
    pub(crate) fn text(&self) -> String {
        self.lines(-(self.term.grid().history_size() as i32))
    }

    /// The screen.
    pub(crate) fn screen(&self) -> String {
        self.lines(0)
    }

    fn lines(&self, from: i32) -> String {
        let grid = self.term.grid();
        let mut text = String::new();
        for row in from..grid.screen_lines() as i32 {
            let row = &grid[Line(row)];
            let mut line = String::new();
            for column in 0..grid.columns() {
                let cell = &row[Column(column)];
                if !cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
                    line.push(cell.c);
                    line.extend(cell.zerowidth().into_iter().flatten());
                }
            }
            if row[Column(grid.columns() - 1)].flags.contains(Flags::WRAPLINE) {
                text.push_str(&line);
            } else {
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        text.trim_end().to_owned() + "\n"
    }
}
