//! Going places in the chat: moves, forks, compactions and grafts, and the one word that some of them still need.

use anyhow::{Result, bail};
use osier_agent::{Command, Navigated, Navigation, Reply, Said};
use osier_model::Block;
use osier_tree::continuing::Editor;
use osier_tree::projection::outline::{Filter, Options, Outline};
use osier_tree::{Choice, Chosen, Place};

use super::{Chat, Sent, Then};
use crate::layout::{count, plain};
use crate::out::{Out, Style};
use crate::reading;
use crate::run::choice;
use crate::sessions::compact::shorter;
use crate::sessions::compaction::{self, Dropped};
use crate::sessions::tree::{self, Names};
use crate::sessions::{compare, fork};

/// Something that waits for one more word of the user's.
#[derive(Debug)]
pub(super) enum Wish {
    /// A move that leaves something behind: is it to be summarized?
    Go(Navigation),
    /// The branch that ends in this entry is brought here: in its own words?
    Graft(String),
    /// Going to before this compaction leaves messages behind: really?
    UndoCompaction(String),
}

/// What to do about a summary.
#[derive(Debug, PartialEq, Eq)]
enum Summary {
    None,
    Wanted(Option<String>),
}

impl Wish {
    /// The answers there are.
    pub(super) fn answers(&self) -> &'static str {
        match self {
            Wish::Go(_) => "A summary of what you leave?   n: no   y: yes   or say what it should tell",
            Wish::Graft(_) => {
                "In the words of a model?   n: as it was concluded there   y: yes   or say what it should tell"
            }
            Wish::UndoCompaction(_) => "Go to before the compaction?   y: yes   n: no",
        }
    }
}

fn summary(line: &str) -> Summary {
    match line.to_lowercase().as_str() {
        "" | "n" | "no" => Summary::None,
        "y" | "yes" => Summary::Wanted(None),
        _ => Summary::Wanted(Some(line.to_owned())),
    }
}

/// The word came.
pub(super) fn answered(chat: &mut Chat, wish: Wish, line: &str) {
    let command = match (wish, summary(line)) {
        (Wish::Go(wish), Summary::None) => Command::Navigate(wish),
        (Wish::Go(wish), Summary::Wanted(instructions)) => {
            Command::Navigate(Navigation { summarize: true, instructions, ..wish })
        }
        (Wish::Graft(tip), Summary::None) => Command::Graft { tip, summarize: false, instructions: None },
        (Wish::Graft(tip), Summary::Wanted(instructions)) => {
            Command::Graft { tip, summarize: true, instructions }
        }
        (Wish::UndoCompaction(entry), Summary::Wanted(None)) => {
            Command::UndoCompaction { entry: Some(entry) }
        }
        (Wish::UndoCompaction(_), _) => return chat.show("nothing was changed"),
    };
    chat.errand(command);
}

impl Chat {
    /// Refuses what cannot be done while something else goes on.
    fn idle(&self) -> Result<()> {
        match self.is_busy() {
            true => bail!("the model is at work; wait for it, or stop it with Ctrl-C"),
            false => Ok(()),
        }
    }

    /// Sends what takes its time. What it stores is shown when it is done.
    fn errand(&mut self, command: Command) {
        self.errand = true;
        self.view.quiet = true;
        self.tell(Sent::Errand, command);
    }

    /// The entry that a word names: its id, or its number in the tree that was drawn last.
    fn entry(&mut self, word: &str) -> Result<Place> {
        let session = &self.there()?.session;
        let (tree, at) = (session.tree(), session.main().place());
        if self.rows.is_empty() {
            // Without a search nobody looks at texts.
            let outline = Outline::new(&tree, at, &Options::default(), &|_| "".into());
            self.rows = outline.rows.iter().map(|row| tree.id(row.seq).to_string()).collect();
        }
        let numbered = || self.rows.get(word.parse::<usize>().ok()?.checked_sub(1)?);
        match tree.find(word) {
            None => match numbered() {
                Some(id) => reading::place(&tree, Some(id)),
                None if word.len() < 4 && word.parse::<usize>().is_ok() => {
                    bail!("there is no row {word} in the tree as it was drawn last; /tree draws it anew")
                }
                None => reading::place(&tree, Some(word)),
            },
            found => Ok(found),
        }
    }

    fn entry_id(&mut self, word: &str) -> Result<String> {
        let tree = self.there()?.session.tree();
        match self.entry(word)? {
            Some(seq) => Ok(tree.id(seq).to_string()),
            None => bail!("name an entry; /tree shows what there is"),
        }
    }

    /// An errand has ended. Everything it told was shown.
    pub(super) async fn errand_done(&mut self, reply: Reply) -> Result<()> {
        match reply {
            Reply::Navigated(Navigated { aborted: true, .. }) => self.show("stopped; nothing was changed"),
            Reply::Navigated(Navigated { cancelled: true, .. }) => self.show("the move was refused"),
            Reply::Navigated(Navigated { editor, returned, .. }) => {
                self.arrived().await?;
                self.offer(editor.map(said));
                self.not_said(&returned);
            }
            Reply::Compacted(made) => {
                let session = self.there()?.session.clone();
                let after = reading::tokens(&session, session.main().place()).await?;
                match made.entry {
                    Some(_) => self.recent(1).await?,
                    None => self.show("the compaction was refused"),
                }
                self.show(&shorter(made.tokens_before, after));
            }
            Reply::Stored { .. } => self.arrived().await?,
            _ => self.show("nothing was changed"),
        }
        Ok(())
    }

    /// Shows what waited to be said and will not be.
    pub(super) fn not_said(&mut self, returned: &[Said]) {
        for said in returned {
            self.show(&format!("not said: {}", said.text));
        }
    }

    /// Shows where one stands now.
    pub(super) async fn arrived(&mut self) -> Result<()> {
        self.show("now here:");
        self.recent(super::RECENT).await
    }

    /// Shows what returned to the editor: it is said again by an empty line.
    pub(super) fn offer(&mut self, said: Option<Said>) {
        let Some(said) = said.filter(|said| !said.is_empty()) else { return };
        self.show("Enter says this again; or say it differently:");
        let images = match said.images.len() {
            0 => String::new(),
            images => format!("\n  [{}]", count(images, "image", "images")),
        };
        let text = said.text.trim_end().replace('\n', "\n  ");
        let text = self.view.aside(Style::User, &format!("  {text}{images}"));
        self.write(text);
        self.editor = Some(said);
    }
}

/// What the editor is filled with, ready to be said.
fn said(editor: Editor) -> Said {
    let image = |block| match serde_json::from_value(block) {
        Ok(Block::Image(image)) => Some(image),
        _ => None,
    };
    Said { text: editor.text, images: editor.images.into_iter().filter_map(image).collect() }
}

/// `/tree`: draws it, or goes to one of its entries.
pub(super) async fn tree(chat: &mut Chat, word: &str) -> Result<()> {
    let session = chat.there()?.session.clone();
    let filter = if word.is_empty() { Some(Filter::default()) } else { Filter::named(word) };
    if let Some(filter) = filter {
        // The tree goes to standard output directly, so everything before it must be there.
        chat.settle().await?;
        let (options, mut out) = (Options { filter, ..Options::default() }, Out::new());
        let place = session.main().place();
        let rows = tree::draw(&session, place, &options, Names::Numbers, &chat.desk.home, &mut out).await?;
        out.done()?;
        let tree = session.tree();
        chat.rows = rows.into_iter().map(|seq| tree.id(seq).to_string()).collect();
        chat.show("/tree N goes to a row, an id or root; /tree user-only, no-tools, labeled-only or all shows others");
        return Ok(());
    }
    chat.idle()?;
    let (tree, at) = (session.tree(), session.main().place());
    let target = chat.entry(word)?.map(|seq| tree.id(seq).to_string());
    let chosen = target.as_deref().map_or(Chosen::Root, Chosen::Entry);
    let landing = tree.land(at, &Choice { chosen, ..Choice::default() })?;
    let wish = Navigation { target, ..Navigation::default() };
    match landing.moves && !tree.leaving(at, landing.text_of.or(landing.place)).entries.is_empty() {
        true => chat.wish = Some(Wish::Go(wish)),
        false => chat.errand(Command::Navigate(wish)),
    }
    Ok(())
}

/// `/undo` and `/redo`.
pub(super) fn walk(chat: &mut Chat, command: Command) -> Result<()> {
    chat.there()?;
    chat.idle()?;
    chat.errand(command);
    Ok(())
}

pub(super) async fn compact(chat: &mut Chat, focus: &str) -> Result<()> {
    chat.there()?;
    let focus = Some(focus.to_owned()).filter(|focus| !focus.is_empty());
    chat.errand(Command::Compact { focus });
    Ok(())
}

/// `/compaction`: what the last one dropped, or any; `undo` goes to before it.
pub(super) async fn compaction(chat: &mut Chat, rest: &str) -> Result<()> {
    let session = chat.there()?.session.clone();
    let (tree, at) = (session.tree(), session.main().place());
    let (undo, word) = match rest.strip_prefix("undo") {
        Some(word) => (true, word.trim()),
        None => (false, rest),
    };
    let named = if word.is_empty() { None } else { Some(chat.entry_id(word)?) };
    let found = compaction::find(&tree, at, named.as_deref())?;
    let id = tree.id(found).to_string();
    if !undo {
        let dropped = Dropped::read(&session, found, &chat.desk.home).await?;
        let lines: Vec<String> = dropped.lines().into_iter().map(|(_, line)| line).collect();
        chat.show(&lines.join("\n"));
        return Ok(());
    }
    chat.idle()?;
    match compaction::staying(&tree, at, found) {
        0 => chat.errand(Command::UndoCompaction { entry: Some(id) }),
        stay => {
            chat.show(&compaction::stay_on_branch(stay));
            chat.wish = Some(Wish::UndoCompaction(id));
        }
    }
    Ok(())
}

/// `/compare`: two branches, or one and where the chat stands.
pub(super) async fn compare(chat: &mut Chat, rest: &str) -> Result<()> {
    let session = chat.there()?.session.clone();
    let (left, right) = match rest.split_whitespace().collect::<Vec<_>>()[..] {
        [right] => (session.main().place(), chat.entry(right)?),
        [left, right] => (chat.entry(left)?, chat.entry(right)?),
        _ => bail!("/compare takes the last entry of a branch, or of two: numbers or ids that /tree shows"),
    };
    let comparison = compare::compare(&session, left, right).await?;
    chat.show(&compare::drawn(&comparison).join("\n"));
    Ok(())
}

pub(super) fn graft(chat: &mut Chat, word: &str) -> Result<()> {
    if word.is_empty() {
        bail!("/graft takes the last entry of another branch: a number or an id that /tree shows");
    }
    let (id, session) = (chat.entry_id(word)?, chat.there()?.session.clone());
    chat.idle()?;
    session.tree().grafting(session.main().place(), &id)?;
    chat.wish = Some(Wish::Graft(id));
    Ok(())
}

/// `/fork`: lists what the user said, or begins a new session before it.
pub(super) async fn fork(chat: &mut Chat, word: &str) -> Result<Then> {
    let session = chat.there()?.session.clone();
    let said = fork::forkable(&session, false).await?;
    if word.is_empty() {
        let now = chat.desk.home.now();
        let row = |(at, one): (usize, &fork::Forkable)| format!("{:>3}  {}", at + 1, one.row(now));
        let rows: Vec<String> = said.iter().enumerate().map(row).collect();
        chat.show(&match rows.is_empty() {
            true => "there is no message to fork from yet".to_owned(),
            false => format!(
                "{}\n/fork N begins a new session before it; /tree goes there in this one",
                rows.join("\n")
            ),
        });
        return Ok(Then::Stay);
    }
    chat.idle()?;
    let numbered = word.parse::<usize>().ok().and_then(|number| said.get(number.checked_sub(1)?));
    let id = numbered.map_or_else(|| word.to_owned(), |one| one.id.clone());
    let (at, text) = fork::chosen(&session, &id, false).await?;
    let made = fork::fork(&session, at, text.is_some(), None, &chat.desk.home).await?;
    go(chat, made, text.map(Said::text)).await
}

/// `/branch`: the path as a new session, gone on with there.
pub(super) async fn branch(chat: &mut Chat) -> Result<Then> {
    chat.idle()?;
    let session = chat.there()?.session.clone();
    let made = fork::fork(&session, session.main().place(), false, None, &chat.desk.home).await?;
    go(chat, made, None).await
}

async fn go(chat: &mut Chat, made: osier_session::Session, said: Option<Said>) -> Result<Then> {
    chat.show(&format!("going on in session {}", plain(made.id())));
    Ok(Then::Go(choice::gone_on_with(made, &chat.desk.home).await?, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_no_yes_or_no_is_an_instruction() {
        for no in ["", "n", "No"] {
            assert_eq!(summary(no), Summary::None, "{no}");
        }
        assert_eq!(summary("Y"), Summary::Wanted(None));
        assert_eq!(summary("not the details"), Summary::Wanted(Some("not the details".to_owned())));
    }
}
