//! Stores that do not answer.

use osier_engine::UnavailableStore;

use crate::layout::sanitize_line;
use crate::output_writer::notice;

/// Prints one line for each unavailable store.
pub(crate) fn show_unavailable(down: &[UnavailableStore]) {
    for UnavailableStore { error: reason, .. } in down {
        notice(&format!("osier: {}", sanitize_line(&reason.to_string())));
    }
}
