//! References to sessions.

use osier_tree::StoreName;
use osier_tree::projection::card::Card;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session in a certain store. Copies of it may exist in other stores.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionRef {
    pub store: StoreName,
    /// The key of the session in its store: its id, or a path.
    pub key: String,
}

impl SessionRef {
    pub fn from_card(card: &Card) -> SessionRef {
        let key = card.file.as_ref().unwrap_or(&card.id).clone();
        SessionRef { store: card.store.as_str().into(), key }
    }
}
