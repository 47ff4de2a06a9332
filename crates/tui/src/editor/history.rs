//! The prompt history, for the up and down keys and for search. The unsent text counts as its newest item.

/// The maximum number of prompts.
const MOST: usize = 2000;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct History {
    said: Vec<String>,
    /// The current position while you browse, and the unsent text.
    at: Option<(usize, String)>,
}

impl History {
    /// Prompts of other sessions come before those of this session.
    pub fn new(elsewhere: Vec<String>, here: Vec<String>) -> History {
        let mut said: Vec<String> = elsewhere.into_iter().filter(|text| !here.contains(text)).collect();
        said.extend(here);
        let from = said.len().saturating_sub(MOST);
        History { said: said.split_off(from), at: None }
    }

    pub fn texts(&self) -> impl DoubleEndedIterator<Item = &String> {
        self.said.iter()
    }

    pub(super) fn push(&mut self, text: &str) {
        self.at = None;
        if !text.trim().is_empty() && self.said.last().is_none_or(|last| last != text) {
            self.said.push(text.to_owned());
            if self.said.len() > MOST {
                self.said.remove(0);
            }
        }
    }

    pub(super) fn older(&mut self, now: &str) -> Option<String> {
        let (at, kept) = match self.at.take() {
            // An edited prompt is a new unsent text.
            Some((at, kept)) if self.said.get(at).is_some_and(|said| said == now) => (at, kept),
            _ => (self.said.len(), now.to_owned()),
        };
        let older = at.checked_sub(1);
        self.at = Some((older.unwrap_or(0), kept)).filter(|_| !self.said.is_empty());
        older.map(|at| self.said[at].clone())
    }

    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, kept) = self.at.take()?;
        match self.said.get(at + 1) {
            Some(newer) => {
                let newer = newer.clone();
                self.at = Some((at + 1, kept));
                Some(newer)
            }
            None => Some(kept),
        }
    }
}
