//! Sessions built from scripts.

use std::collections::HashMap;

use osier_tree::entry::parse_entry;
use osier_tree::time::Millis;
use osier_tree::{DraftParent, EntryDraft, Place, Seq, SessionTree};

use crate::message::split_size;
use crate::step;

/// 2026-01-01T00:00:00.000Z
const START: Millis = 1_767_225_600_000;

/// A session and its log.
///
/// Steps are separated by `;` or line ends. An entry is named by its text. See `ScriptedSession::run`.
#[derive(Debug, Clone, Default)]
pub struct ScriptedSession {
    pub tree: SessionTree,
    /// The lines of the entries, in log order, without line feeds.
    pub lines: Vec<Vec<u8>>,
    names: HashMap<String, String>,
    /// The parent of the next conversation entry, if it is not the leaf.
    next_parent: Option<Place>,
}

impl ScriptedSession {
    /// Runs the steps of a script.
    ///
    /// | step | appends |
    /// |---|---|
    /// | `say TEXT` · `system TEXT` | a user message, a system message |
    /// | `bash COMMAND` · `bash COMMAND exits N` · `aside COMMAND` | a user command; one excluded from the context |
    /// | `reply TEXT` · `reply TEXT calls TOOL ARG, TOOL ARG` · `fail TEXT` · `abort` | an assistant message |
    /// | `result TEXT` · `error TEXT` · `result TEXT details {…}` | the result of the oldest unanswered call on the path |
    /// | `note TYPE TEXT` · `hidden TYPE TEXT` · `custom TYPE` | a custom message, a hidden one, extension state |
    /// | `model PROVIDER/ID` · `thinking LEVEL` · `omit X` · `edit X TEXT` | the named change |
    /// | `label NAME` · `label NAME on X` · `unlabel X` · `name TEXT` · `config KEY=VALUE` | a mark |
    /// | `move X` · `root` · `undo` · `redo` | a move |
    /// | `backtrack N NOTE` · `return N NOTE` | a backtrack without or with an addendum |
    /// | `summarize TEXT` · `summarize TEXT at X` | a branch summary here, or at X for the abandoned branch |
    /// | `compact keep X TEXT` | a compaction |
    /// | `delete X` · `restore X` · `batch TASK, TASK` · `update X STATUS` · `spend TOKENS` | the named entry |
    /// | `entry {…}` | any JSON object; id, parent and time are filled in |
    /// | `TEXT ~N` in any step | a text that starts with TEXT and takes N tokens |
    /// | `below X` | nothing: the next entry goes below X, as if another window had written it |
    /// | `reopen` | nothing: the log is folded again |
    pub fn run(script: &str) -> ScriptedSession {
        let mut session = ScriptedSession::default();
        session.run_steps(script);
        session
    }

    /// A session with these lines, which must all be entries.
    pub fn from_lines<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> ScriptedSession {
        let lines: Vec<Vec<u8>> = lines.into_iter().map(|line| line.as_ref().to_vec()).collect();
        ScriptedSession { tree: fold(&lines), lines, ..ScriptedSession::default() }
    }

    /// Runs more steps.
    pub fn run_steps(&mut self, script: &str) {
        for step in steps(script) {
            step::run_step(self, step);
        }
    }

    /// The id of the last entry with this text.
    pub fn id(&self, name: &str) -> &str {
        self.names.get(name).unwrap_or_else(|| panic!("the script has no entry {name:?}"))
    }

    pub fn seq(&self, name: &str) -> Seq {
        self.tree.find(self.id(name)).expect("every entry of a script is in its tree")
    }

    /// The session file: header and lines.
    pub fn file(&self) -> Vec<u8> {
        let header = br#"{"type":"session","version":3,"id":"5e551011-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/code"}"#;
        let mut file = header.to_vec();
        for line in &self.lines {
            file.push(b'\n');
            file.extend_from_slice(line);
        }
        file.push(b'\n');
        file
    }

    /// Appends an entry as a session does.
    pub fn append(&mut self, draft: &EntryDraft, name: &str) -> Seq {
        let parent = match draft.parent {
            DraftParent::CurrentLeaf => self.tree.leaf(),
            DraftParent::At(place) => place,
        };
        let number = self.lines.len();
        let id = format!("{:08x}", number + 1);
        let parent = parent.map(|seq| self.tree.id(seq).to_string());
        let line = draft.to_line(&id, parent.as_deref(), START + 1000 * number as Millis);
        let entry =
            parse_entry(&line).unwrap_or_else(|odd| panic!("{odd:?} in {}", String::from_utf8_lossy(&line)));
        let seq = self.tree.append(&entry, 0, line.len() as u32);
        self.lines.push(line);
        self.names.insert(split_size(name).0.to_owned(), id);
        seq
    }

    /// The parent of the next conversation entry.
    pub(crate) fn take_next_parent(&mut self) -> Place {
        self.next_parent.take().unwrap_or_else(|| self.tree.leaf())
    }

    pub(crate) fn set_next_parent(&mut self, place: Place) {
        self.next_parent = Some(place);
    }

    pub(crate) fn now(&self) -> Millis {
        START + 1000 * self.lines.len() as Millis
    }

    pub(crate) fn reopen(&mut self) {
        self.tree = fold(&self.lines);
    }
}

/// Folds the lines that are entries, one by one.
pub fn fold(lines: &[Vec<u8>]) -> SessionTree {
    let mut tree = SessionTree::default();
    for line in lines {
        if let Ok(entry) = parse_entry(line) {
            tree.append(&entry, 0, line.len() as u32);
        }
    }
    tree
}

/// Splits a script into steps. Ignores separators inside quotes and braces.
fn steps(script: &str) -> Vec<&str> {
    let (mut quoted, mut depth) = (false, 0);
    let ends = |ch: char| {
        match ch {
            '"' => quoted = !quoted,
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        matches!(ch, ';' | '\n') && !quoted && depth == 0
    };
    script.split(ends).map(str::trim).filter(|step| !step.is_empty()).collect()
}
