//! Finished pieces that have not scrolled off.

use std::collections::VecDeque;

use osier_protocol::RenderSubject;
use rustc_hash::FxHashSet;

use crate::piece::Piece;
use crate::text::Line;
use crate::theme::ColorRole;
use crate::transcript::RenderOptions;

/// How many rows above the history are remembered: more than a screen has.
const MAX_EARLIER_ROWS: usize = 500;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ScreenHistory {
    printed: VecDeque<PrintedPiece>,
    /// The last pieces above those. They are in the scrollback, but a larger terminal may show them again.
    earlier: VecDeque<PrintedPiece>,
    /// The keys of all pieces of the conversation that were ever printed.
    printed_keys: FxHashSet<u64>,
}

#[derive(Debug)]
struct PrintedPiece {
    piece: Piece,
    lines: Vec<Line>,
    /// The number of first lines that have scrolled off.
    scrolled_off: usize,
}

impl PrintedPiece {
    fn new(piece: Piece, options: RenderOptions<'_>) -> PrintedPiece {
        let lines = piece.draw(options);
        PrintedPiece { piece, lines, scrolled_off: 0 }
    }

    fn rows(&self) -> usize {
        self.lines.len() - self.scrolled_off
    }
}

impl ScreenHistory {
    /// The number of rows of all pieces, without those that have scrolled off.
    pub(super) fn rows(&self) -> usize {
        self.printed.iter().map(PrintedPiece::rows).sum()
    }

    /// The rows from `from` on.
    pub(super) fn lines(&self, from: usize) -> impl Iterator<Item = &Line> {
        self.printed.iter().flat_map(|printed| &printed.lines[printed.scrolled_off..]).skip(from)
    }

    pub(super) fn extend(&mut self, pieces: Vec<Piece>, options: RenderOptions<'_>) {
        self.printed_keys.extend(pieces.iter().filter_map(Piece::key));
        let printed = pieces.into_iter().map(|piece| PrintedPiece::new(piece, options));
        // What an extension draws may get its lines later.
        let is_kept = |printed: &PrintedPiece| !printed.lines.is_empty() || printed.piece.subject().is_some();
        self.printed.extend(printed.filter(is_kept));
    }

    /// What extensions may draw of the pieces that can still change.
    pub(super) fn subjects(&self) -> impl Iterator<Item = RenderSubject> {
        let whole = self.printed.iter().filter(|printed| printed.scrolled_off == 0);
        whole.filter_map(|printed| printed.piece.subject())
    }

    pub(super) fn clear(&mut self) {
        self.printed.clear();
        self.earlier.clear();
    }

    /// Draws the pieces again with other options; returns whether they look different. A piece that has partly scrolled off
    /// stays as it is, except for colors: its rows are the same.
    pub(super) fn redraw(&mut self, options: RenderOptions<'_>) -> bool {
        let mut is_different = false;
        for printed in &mut self.printed {
            let lines = printed.piece.draw(options);
            let is_same_text = || {
                let texts = |lines: &[Line]| lines.iter().map(Line::plain).collect::<Vec<_>>();
                texts(&lines) == texts(&printed.lines)
            };
            if lines != printed.lines && (printed.scrolled_off == 0 || is_same_text()) {
                printed.lines = lines;
                is_different = true;
            }
        }
        is_different
    }

    /// Removes the first rows, which have scrolled off.
    pub(super) fn scroll_off(&mut self, mut rows: usize) {
        while let Some(first) = self.printed.front_mut().filter(|_| rows > 0) {
            let gone = first.rows().min(rows);
            first.scrolled_off += gone;
            rows -= gone;
            if first.rows() == 0 {
                self.move_earlier(1);
            }
        }
    }

    /// Moves the first pieces to the earlier ones, and forgets the earliest.
    fn move_earlier(&mut self, pieces: usize) {
        self.earlier.extend(self.printed.drain(..pieces));
        let mut rows: usize = self.earlier.iter().map(|printed| printed.lines.len()).sum();
        while let Some(first) = self.earlier.front().filter(|_| rows > MAX_EARLIER_ROWS) {
            rows -= first.lines.len();
            self.earlier.pop_front();
        }
    }

    /// Takes back as many earlier rows as a screen of this height may show.
    pub(super) fn restore_earlier(&mut self, screen_rows: usize, options: RenderOptions<'_>) {
        if let Some(first) = self.printed.front_mut() {
            *first = PrintedPiece::new(first.piece.clone(), options);
        }
        while self.rows() < screen_rows
            && let Some(last) = self.earlier.pop_back()
        {
            self.printed.push_front(PrintedPiece::new(last.piece, options));
        }
        self.scroll_off(self.rows().saturating_sub(screen_rows));
    }

    /// Adapts to a new size of the terminal: keeps the last pieces that certainly fit into `room` rows, and returns how many
    /// rows to clear. `height` is the number of rows that a line of some width takes now. Covered pieces are always kept.
    pub(super) fn keep_visible(
        &mut self,
        visible: usize,
        available_rows: usize,
        height: &impl Fn(usize) -> usize,
    ) -> usize {
        let covered = self.rows().saturating_sub(visible);
        if covered > 0 {
            self.split_first();
            let rows: usize = self.lines(covered).map(|line| height(line.width())).sum();
            return rows.min(available_rows);
        }
        let (mut kept, mut rows) = (0, 0);
        for printed in self.printed.iter().rev() {
            let taken: usize = printed.lines.iter().map(|line| height(line.width())).sum();
            if rows + taken > available_rows || printed.scrolled_off > 0 {
                break;
            }
            rows += taken;
            kept += 1;
        }
        self.move_earlier(self.printed.len() - kept);
        rows
    }

    /// If the first piece has partly scrolled off, makes the rest of it a separate piece.
    fn split_first(&mut self) {
        if let Some(first) = self.printed.front_mut().filter(|first| first.scrolled_off > 0) {
            let lines = first.lines.split_off(first.scrolled_off);
            *first = PrintedPiece { piece: Piece::notice(lines.clone()), lines, scrolled_off: 0 };
        }
    }

    /// Replaces the pieces. Those that both have in common stay. Of the others, keeps the ones that were never printed, and as
    /// many before them as fit.
    pub(super) fn replace(&mut self, pieces: Vec<Piece>, available_rows: usize, options: RenderOptions<'_>) {
        let unseen = self.first_unprinted(&pieces);
        let Some((here, at)) = self.find_overlap(&pieces).filter(|(_, at)| *at <= unseen) else {
            self.printed.clear();
            return self.show_end(pieces, available_rows, options);
        };
        self.printed.drain(..here);
        self.printed.truncate(1);
        self.extend(pieces.into_iter().skip(at + 1).collect(), options);
    }

    /// Adds the pieces that were never printed, and as many before them as fit.
    fn show_end(&mut self, pieces: Vec<Piece>, available_rows: usize, options: RenderOptions<'_>) {
        let cut = Piece::notice(vec![Line::styled(ColorRole::Dim, "… earlier entries are in /tree")]);
        let available_rows = available_rows.saturating_sub(cut.draw(options).len());
        let start = self.first_unprinted(&pieces).min(first_fitting(&pieces, available_rows, options));
        // The first piece is itself a notice about earlier entries.
        let start = if start == 1 { 0 } else { start };
        if start > 0 {
            self.extend(vec![cut], options);
        }
        self.extend(pieces.into_iter().skip(start).collect(), options);
    }

    /// The index of the first piece that was never printed.
    fn first_unprinted(&self, pieces: &[Piece]) -> usize {
        let is_unseen = |piece: &Piece| piece.key().is_some_and(|key| !self.printed_keys.contains(&key));
        pieces.iter().position(is_unseen).unwrap_or(pieces.len())
    }

    /// The index of the first piece of the conversation here, and its index among the other pieces: the one with the longest
    /// run of equal pieces.
    fn find_overlap(&self, pieces: &[Piece]) -> Option<(usize, usize)> {
        let first = self.printed.iter().position(|printed| printed.piece.key().is_some())?;
        let here = || self.printed.iter().skip(first).filter_map(|printed| printed.piece.key());
        let run = |at: usize| {
            let there = pieces[at..].iter().map(Piece::key);
            here().zip(there).take_while(|(one, other)| Some(*one) == *other).count()
        };
        let (length, at) = (0..pieces.len()).map(|at| (run(at), at)).max()?;
        (length > 0).then_some((first, at))
    }
}

/// The index of the first of the last pieces that fit into `room` rows. Always includes the last piece.
fn first_fitting(pieces: &[Piece], available_rows: usize, options: RenderOptions<'_>) -> usize {
    let mut rows = 0;
    let mut start = pieces.len();
    for piece in pieces.iter().rev() {
        rows += piece.draw(options).len();
        if rows > available_rows && start < pieces.len() {
            break;
        }
        start -= 1;
    }
    start
}
