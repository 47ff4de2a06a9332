//! The fields of an entry that a caller provides as JSON: id, parent and timestamp. Builds the stored line once the
//! missing ones are known.

use osier_tree::projection::context::with_field;
use osier_tree::scan::RawJson;
use osier_tree::time::Millis;
use osier_tree::{EntryDraft, EntryId, Place, PlanError, SessionTree};

/// The fields of a line that the caller provides in addition to the draft.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProvidedFields {
    /// The id to use. That of a live draft is a preference, that of an external entry is required.
    pub(crate) id: Option<EntryId>,
    pub(crate) id_required: bool,
    pub(crate) parent: Option<Option<String>>,
    /// The timestamp as JSON.
    timestamp: Option<Vec<u8>>,
    /// The complete line, if no field is missing.
    verbatim: Option<Vec<u8>>,
}

impl ProvidedFields {
    /// Reads the provided fields of an external entry.
    pub(crate) fn parse(object: &[u8]) -> Result<ProvidedFields, PlanError> {
        let not_an_entry = |reason| PlanError::NotAnEntry { reason };
        let object = RawJson::parse(object).map_err(|_| not_an_entry("it is not JSON"))?;
        let id = match object.get("id") {
            None => None,
            Some(id) => {
                Some(id.text().filter(|id| !id.is_empty()).ok_or(not_an_entry("its `id` is not a string"))?)
            }
        };
        let parent = match object.get("parentId") {
            None => None,
            Some(parent) if parent.is_null() => Some(None),
            Some(parent) => Some(Some(
                parent
                    .text()
                    .ok_or(not_an_entry("its `parentId` is neither a string nor null"))?
                    .into_owned(),
            )),
        };
        let timestamp = object.get("timestamp").map(|time| time.bytes().to_vec());
        let whole = id.is_some() && parent.is_some() && timestamp.is_some() && !has_tool_role(object);
        Ok(ProvidedFields {
            id_required: id.is_some(),
            id: id.map(|id| EntryId::from(&*id)),
            parent,
            timestamp,
            verbatim: whole.then(|| object.bytes().to_vec()),
        })
    }

    /// Sets a preferred id.
    pub(crate) fn prefer_id(&mut self, id: &str) {
        self.id = Some(id.into());
        self.id_required = false;
        self.verbatim = None;
    }

    /// Sets a required id.
    pub(crate) fn require_id(&mut self, id: &str) {
        self.prefer_id(id);
        self.id_required = true;
    }

    /// The position of the provided parent. `Ok(None)` if there is none.
    pub(crate) fn parent_place(&self, tree: &SessionTree) -> Result<Option<Place>, PlanError> {
        match &self.parent {
            None => Ok(None),
            Some(None) => Ok(Some(None)),
            // An existing entry was already accepted.
            Some(Some(parent)) if self.id.as_ref().is_some_and(|id| tree.find(id).is_some()) => {
                tree.require(parent).map(|seq| Some(Some(seq)))
            }
            Some(Some(parent)) => tree.require_visible(parent).map(|seq| Some(Some(seq))),
        }
    }

    /// The line, without its newline.
    pub(crate) fn line(
        &self,
        draft: &EntryDraft,
        altered: bool,
        id: &str,
        parent: Option<&str>,
        time: Millis,
    ) -> Vec<u8> {
        let mut line = match (&self.verbatim, &self.timestamp) {
            (Some(line), _) if !altered => line.clone(),
            (_, None) => draft.to_line(id, parent, time),
            (_, Some(timestamp)) => {
                let line = draft.to_line(id, parent, time);
                RawJson::parse(&line)
                    .map_or_else(|_| line.clone(), |line| with_field(line, "timestamp", timestamp))
            }
        };
        // JSON contains newlines only between tokens, never inside a string.
        for byte in line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
        line
    }
}

/// Whether the message has the role `tool`. It is stored as `toolResult`, so the line changes.
fn has_tool_role(object: RawJson<'_>) -> bool {
    let role = object.get("message").and_then(|message| message.get("role"));
    role.and_then(RawJson::text).as_deref() == Some("tool")
}
