//! Finished pieces that have not scrolled off.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::piece::Piece;
use crate::text::Line;
use crate::theme::Role;
use crate::transcript::Look;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct History {
    printed: VecDeque<Printed>,
    /// The keys of all pieces of the conversation that were ever printed.
    seen: FxHashSet<u64>,
}

#[derive(Debug)]
struct Printed {
    piece: Piece,
    lines: Vec<Line>,
    /// The number of first lines that have scrolled off.
    gone: usize,
}

impl Printed {
    fn new(piece: Piece, look: Look<'_>) -> Printed {
        let lines = piece.draw(look);
        Printed { piece, lines, gone: 0 }
    }

    fn rows(&self) -> usize {
        self.lines.len() - self.gone
    }
}

impl History {
    /// The number of rows of all pieces, without those that have scrolled off.
    pub(super) fn rows(&self) -> usize {
        self.printed.iter().map(Printed::rows).sum()
    }

    /// The rows from `from` on.
    pub(super) fn lines(&self, from: usize) -> impl Iterator<Item = &Line> {
        self.printed.iter().flat_map(|printed| &printed.lines[printed.gone..]).skip(from)
    }

    pub(super) fn extend(&mut self, pieces: Vec<Piece>, look: Look<'_>) {
        self.seen.extend(pieces.iter().filter_map(Piece::key));
        let printed = pieces.into_iter().map(|piece| Printed::new(piece, look));
        self.printed.extend(printed.filter(|printed| !printed.lines.is_empty()));
    }

    pub(super) fn clear(&mut self) {
        self.printed.clear();
    }

    /// Draws the pieces again with other options. A piece that has partly scrolled off stays as it is.
    pub(super) fn draw_again(&mut self, look: Look<'_>) {
        for printed in &mut self.printed {
            if printed.gone == 0 {
                printed.lines = printed.piece.draw(look);
            }
        }
    }

    /// Removes the first rows, which have scrolled off.
    pub(super) fn scroll_off(&mut self, mut rows: usize) {
        while let Some(first) = self.printed.front_mut().filter(|_| rows > 0) {
            let gone = first.rows().min(rows);
            first.gone += gone;
            rows -= gone;
            if first.rows() == 0 {
                self.printed.pop_front();
            }
        }
    }

    /// Adapts to a new size of the terminal: keeps the last pieces that certainly fit into `room` rows, and returns how many
    /// rows to clear. `height` is the number of rows that a line of some width takes now. Covered pieces are always kept.
    pub(super) fn keep_certain(
        &mut self,
        visible: usize,
        room: usize,
        height: &impl Fn(usize) -> usize,
    ) -> usize {
        let covered = self.rows().saturating_sub(visible);
        if covered > 0 {
            self.cut_first();
            let rows: usize = self.lines(covered).map(|line| height(line.width())).sum();
            return rows.min(room);
        }
        let (mut kept, mut rows) = (0, 0);
        for printed in self.printed.iter().rev() {
            let taken: usize = printed.lines.iter().map(|line| height(line.width())).sum();
            if rows + taken > room || printed.gone > 0 {
                break;
            }
            rows += taken;
            kept += 1;
        }
        self.printed.drain(..self.printed.len() - kept);
        rows
    }

    /// If the first piece has partly scrolled off, makes the rest of it a separate piece.
    fn cut_first(&mut self) {
        if let Some(first) = self.printed.front_mut().filter(|first| first.gone > 0) {
            let lines = first.lines.split_off(first.gone);
            *first = Printed { piece: Piece::notice(lines.clone()), lines, gone: 0 };
        }
    }

    /// Replaces the pieces. Those that both have in common stay. Of the others, keeps the ones that were never printed, and as
    /// many before them as fit.
    pub(super) fn replace(&mut self, pieces: Vec<Piece>, room: usize, look: Look<'_>) {
        let unseen = self.unseen(&pieces);
        let Some((here, at)) = self.shared(&pieces).filter(|(_, at)| *at <= unseen) else {
            self.printed.clear();
            return self.show(pieces, room, look);
        };
        self.printed.drain(..here);
        self.printed.truncate(1);
        self.extend(pieces.into_iter().skip(at + 1).collect(), look);
    }

    /// Adds the pieces that were never printed, and as many before them as fit.
    fn show(&mut self, pieces: Vec<Piece>, room: usize, look: Look<'_>) {
        let cut = Piece::notice(vec![Line::of(Role::Dim, "… earlier entries are in /tree")]);
        let room = room.saturating_sub(cut.draw(look).len());
        let start = self.unseen(&pieces).min(fitting(&pieces, room, look));
        // The first piece is itself a notice about earlier entries.
        let start = if start == 1 { 0 } else { start };
        if start > 0 {
            self.extend(vec![cut], look);
        }
        self.extend(pieces.into_iter().skip(start).collect(), look);
    }

    /// The index of the first piece that was never printed.
    fn unseen(&self, pieces: &[Piece]) -> usize {
        let is_unseen = |piece: &Piece| piece.key().is_some_and(|key| !self.seen.contains(&key));
        pieces.iter().position(is_unseen).unwrap_or(pieces.len())
    }

    /// The index of the first piece of the conversation here, and its index among the other pieces: the one with the longest
    /// run of equal pieces.
    fn shared(&self, pieces: &[Piece]) -> Option<(usize, usize)> {
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
fn fitting(pieces: &[Piece], room: usize, look: Look<'_>) -> usize {
    let mut rows = 0;
    let mut start = pieces.len();
    for piece in pieces.iter().rev() {
        rows += piece.draw(look).len();
        if rows > room && start < pieces.len() {
            break;
        }
        start -= 1;
    }
    start
}
