//! Computes the indentation and connectors of the rows.
//!
//! A chain stays flat. Only the children of a branch point are indented by one level and get a connector; their descendants
//! align with their text. With several roots, no root has a connector, and the descendants of each root are indented.
//!
//! In a nested outline every child is indented and has a connector. The rows and what can be folded are the same.

use super::{Connector, OutlineRow, OutlineStyle};

/// Computes `children`, `level`, `connector`, `gutter` and `foldable` from the parents of the rows.
pub(super) fn lay_out(rows: &mut [OutlineRow], style: OutlineStyle) {
    let is_nested = style == OutlineStyle::Nested;
    let last = count_children(rows);
    let several_roots = rows.iter().filter(|row| row.parent().is_none()).take(2).count() == 2;
    for at in 0..rows.len() {
        let mut row = std::mem::take(&mut rows[at].layout);
        row.foldable = rows[at].children > 0;
        if let Some(parent) = rows[at].parent() {
            let above = &rows[parent];
            let below_a_root = above.parent().is_none() && several_roots;
            let branches = above.children > 1;
            row.level = above.level() + u32::from(branches || below_a_root || is_nested);
            row.foldable &= branches;
            row.gutter = match above.layout.connector {
                Connector::None => above.layout.gutter,
                _ => rows[at].above,
            };
            row.connector = match last[parent] as usize == at {
                _ if !branches && !is_nested => Connector::None,
                true => Connector::Corner,
                false => Connector::Tee,
            };
        }
        rows[at].layout = row;
    }
}

/// Counts the shown children of each row, and returns the last child of each.
fn count_children(rows: &mut [OutlineRow]) -> Vec<u32> {
    let mut last = vec![0; rows.len()];
    for at in 0..rows.len() {
        if let Some(parent) = rows[at].parent() {
            rows[parent].children += 1;
            last[parent] = at as u32;
        }
    }
    last
}
