//! The transcript of a path, item by item.

use osier_store::StoreError;
use osier_tree::Place;
use osier_tree::entry::parse_entry;
use osier_tree::projection::transcript::{TranscriptItem, TranscriptReader};

use crate::handle::Session;

impl Session {
    /// Calls `each` with the items of the transcript of a path, in order.
    pub async fn each_item<E: From<StoreError>>(
        &self,
        at: Place,
        mut each: impl FnMut(TranscriptItem) -> Result<(), E>,
    ) -> Result<(), E> {
        let state = self.state();
        let mut reader = TranscriptReader::new(&state.tree, at);
        let match_call = |seq, line: &[u8]| {
            if let Ok(entry) = parse_entry(line) {
                reader.match_call(seq, &entry);
            }
            Ok::<_, StoreError>(())
        };
        let calls = TranscriptReader::new(&state.tree, at).call_entries();
        self.for_each_line(state.version, &calls, match_call).await?;
        let entries = reader.entries();
        let item = |seq, line: &[u8]| match parse_entry(line).ok().and_then(|entry| reader.item(seq, &entry))
        {
            Some(item) => each(item),
            None => Ok(()),
        };
        self.for_each_current_line(&state, &entries, item).await
    }
}
