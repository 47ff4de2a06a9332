//! The prompt history, for the up and down keys and for search. The unsent text counts as its newest item.

/// The maximum number of prompts.
const MAX_PROMPTS: usize = 2000;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct PromptHistory {
    prompts: Vec<String>,
    /// The current position while you browse, and the unsent text.
    browsing: Option<(usize, String)>,
}

impl PromptHistory {
    /// Prompts of other sessions come before those of this session.
    pub fn new(elsewhere: Vec<String>, here: Vec<String>) -> PromptHistory {
        let mut prompts: Vec<String> = elsewhere.into_iter().filter(|text| !here.contains(text)).collect();
        prompts.extend(here);
        let from = prompts.len().saturating_sub(MAX_PROMPTS);
        PromptHistory { prompts: prompts.split_off(from), browsing: None }
    }

    pub fn texts(&self) -> impl DoubleEndedIterator<Item = &String> {
        self.prompts.iter()
    }

    pub(super) fn push(&mut self, text: &str) {
        self.browsing = None;
        if !text.trim().is_empty() && self.prompts.last().is_none_or(|last| last != text) {
            self.prompts.push(text.to_owned());
            if self.prompts.len() > MAX_PROMPTS {
                self.prompts.remove(0);
            }
        }
    }

    pub(super) fn older(&mut self, now: &str) -> Option<String> {
        let (at, kept) = match self.browsing.take() {
            // An edited prompt is a new unsent text.
            Some((at, kept)) if self.prompts.get(at).is_some_and(|prompts| prompts == now) => (at, kept),
            _ => (self.prompts.len(), now.to_owned()),
        };
        let older = at.checked_sub(1);
        self.browsing = Some((older.unwrap_or(0), kept)).filter(|_| !self.prompts.is_empty());
        older.map(|at| self.prompts[at].clone())
    }

    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, kept) = self.browsing.take()?;
        match self.prompts.get(at + 1) {
            Some(newer) => {
                let newer = newer.clone();
                self.browsing = Some((at + 1, kept));
                Some(newer)
            }
            None => Some(kept),
        }
    }
}
