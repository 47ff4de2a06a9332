//! Tries of an explore that nobody has moved to: they run, or their process died. The last entry of the log may be theirs, but
//! everybody stands where they started, or where the conversation went on meanwhile.

use rustc_hash::FxHashMap;

use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::kind::{EntryKind, MessageRole};

/// The most entries from the end of a try to its start. Longer paths are not searched: every append looks for the place.
const MAX_PATH: usize = 4096;

impl SessionTree {
    /// Where a session opens: at the leaf, but not in a try that nobody has moved to.
    pub fn opening_place(&self) -> Place {
        let mut is_entered = FxHashMap::default();
        let mut is_in_try = |place: Place| {
            self.try_of(place).is_some_and(|marker| {
                !*is_entered.entry(marker).or_insert_with(|| self.is_try_entered(marker))
            })
        };
        let leaf = self.leaf();
        if !is_in_try(leaf) {
            return leaf;
        }
        let places = self.heads().iter().rev().map(|(seq, _)| self.heads().leaf_after(seq));
        places
            .into_iter()
            .find(|place| !is_in_try(*place) && !place.is_some_and(|seq| self.is_hidden(seq)))
            .flatten()
    }

    /// The try that a place belongs to, unless a person continued there. Reads at most the last turn of the path.
    fn try_of(&self, place: Place) -> Option<Seq> {
        let mut prompts = 0;
        for seq in self.heads().ancestors(place).take(MAX_PATH) {
            let head = self.head(seq);
            match (head.kind, head.role) {
                (EntryKind::ExploreTry, _) => return Some(seq),
                (_, MessageRole::User) if prompts == 0 => prompts += 1,
                // A try has one prompt, and runs no commands of the user.
                (_, MessageRole::User | MessageRole::BashExecution) => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether somebody moved into the branch of a try.
    fn is_try_entered(&self, marker: Seq) -> bool {
        let is_move = |kind| matches!(kind, EntryKind::Leaf | EntryKind::BranchSummary);
        let mut later = self.heads().iter_from(marker.index() + 1);
        later.any(|(_, head)| is_move(head.kind) && self.heads().is_ancestor(marker, head.parent))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::entry::parse_entry;

    /// A tree of entries `KIND ID PARENT`, where `-` is no parent.
    fn tree(script: &[&str]) -> SessionTree {
        let mut tree = SessionTree::default();
        for line in script {
            let words: Vec<&str> = line.split(' ').collect();
            let parent = Some(words[2]).filter(|parent| *parent != "-");
            let mut entry: Value = match words[0] {
                "try" => json!({ "type": "custom", "customType": "osier.explore_try", "data": {} }),
                "move" => json!({ "type": "custom", "customType": "osier.leaf" }),
                "summary" => json!({ "type": "branch_summary", "summary": "s", "fromId": "x" }),
                role => json!({ "type": "message", "message": { "role": role, "content": "x" } }),
            };
            (entry["id"], entry["parentId"]) = (json!(words[1]), json!(parent));
            let line = entry.to_string().into_bytes();
            tree.append(&parse_entry(&line).expect("an entry"), 0, 1);
        }
        tree
    }

    fn opens_at(script: &[&str]) -> String {
        let tree = tree(script);
        tree.opening_place().map_or_else(|| "-".to_owned(), |seq| tree.id(seq).to_string())
    }

    const TALK: [&str; 2] = ["user a -", "assistant b a"];
    const TRIES: [&str; 6] = ["try t b", "try u b", "user c t", "user d u", "assistant e c", "assistant f d"];

    #[test]
    fn a_session_opens_where_its_unentered_tries_started() {
        for count in 1..=TRIES.len() {
            assert_eq!(opens_at(&[&TALK[..], &TRIES[..count]].concat()), "b", "{count}");
        }
        assert_eq!(opens_at(&["try t -", "user c t"]), "-");
    }

    #[test]
    fn a_conversation_that_went_on_meanwhile_is_found() {
        let script = [&TALK[..], &TRIES[..4], &["user g b", "assistant h g"], &TRIES[4..]].concat();
        assert_eq!(opens_at(&script), "h");
        // A move is an entry too.
        assert_eq!(opens_at(&[&TALK[..], &TRIES[..4], &["move m a"], &TRIES[4..]].concat()), "a");
    }

    #[test]
    fn a_try_that_somebody_entered_is_a_branch_like_others() {
        for entered in [&["move m f"][..], &["summary s f"], &["move m f", "assistant g f"], &["user g f"]] {
            let script = [&TALK[..], &TRIES, entered].concat();
            let tree = tree(&script);
            assert_eq!(tree.opening_place(), tree.leaf(), "{entered:?}");
        }
        // Tries that start in a kept try.
        let again = ["move m f", "try v f", "user w v", "assistant x w"];
        assert_eq!(opens_at(&[&TALK[..], &TRIES, &again].concat()), "f");
    }
}
