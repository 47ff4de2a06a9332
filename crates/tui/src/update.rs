//! The one function that changes the state. It takes a message and returns the actions to run. It reads no clock and no file.

pub(crate) mod answering;
mod events;
mod keys;

use osier_agent::{Command, Reply};
use osier_model::Image;
use osier_tree::continuing;
use osier_tree::tokens::TokenCount;
use serde_json::Value;

use crate::draft::Draft;
use crate::editor::{History, Pictures, image_path};
use crate::host::SettingRow;
use crate::key::Input;
use crate::msg::{Action, Forest, Joined, Msg, Path, Purpose};
use crate::overlay::{Fork, News, Outcome, Overlay, Reader, Settings, Tree};
use crate::pages;
use crate::piece::Piece;
use crate::state::{Reading, State, Work};
use crate::text::Line;
use crate::theme::Role;
use crate::transcript::Script;

/// See the module.
pub fn update(state: &mut State, msg: Msg) -> Vec<Action> {
    match msg {
        Msg::Input(input) => match input {
            Input::Key(key) => keys::key(state, key),
            Input::Paste(text) => paste(state, &text),
            // The loop sets the theme.
            Input::Ground { .. } => Vec::new(),
            Input::Resize(columns, rows) => {
                (state.columns, state.rows) = (usize::from(columns).max(1), usize::from(rows).max(1));
                Vec::new()
            }
        },
        Msg::Event(event) => events::event(state, event),
        Msg::Joined(joined) => join(state, *joined),
        Msg::Switched(switched) => {
            let lines = pages::switched(&switched);
            let lines = lines.iter().map(|line| Line::of(Role::Dim, line)).collect();
            vec![Action::Print(vec![Piece::spaced_notice(lines)])]
        }
        Msg::Path(path) => show_path(state, &path),
        Msg::Facts(facts) => {
            state.context = facts.context;
            state.facts = *facts;
            Vec::new()
        }
        Msg::Tree(forest) => show_tree(state, &forest),
        Msg::Grown(forest) => hear(state, &News::Forest(&forest)),
        Msg::Page(title, lines) => {
            state.overlays.push(Box::new(Reader::new(&title, lines)));
            Vec::new()
        }
        Msg::Sessions(cards, missing) => {
            if let Some(missing) = missing {
                complain(state, &missing);
            }
            hear(state, &News::Sessions(&cards))
        }
        Msg::Found(card) => hear(state, &News::Found(card)),
        Msg::Settings(rows) => show_settings(state, rows),
        Msg::Files(files) => {
            state.files = Some(files);
            keys::complete(state);
            Vec::new()
        }
        Msg::Replied(purpose, reply) => replied(state, &purpose, *reply),
        Msg::Told(lines) => vec![Action::Print(vec![Piece::spaced_notice(lines)])],
        Msg::Text(text) => {
            state.editor.give_back(text.trim_end_matches('\n'));
            Vec::new()
        }
        // The path was sent or deleted before the image was read.
        Msg::Image(path, _) if !state.editor.text().contains(&path) => Vec::new(),
        Msg::Image(path, image) => {
            state.editor.put_picture(&path, image);
            Vec::new()
        }
        Msg::Copied(text) => vec![Action::Copy(text)],
        Msg::Failed(error) => {
            complain(state, &error);
            Vec::new()
        }
        Msg::NoTree(error) => {
            state.reading = None;
            complain(state, &error);
            Vec::new()
        }
        Msg::Timer => answering::settle(state),
        Msg::Tick => Vec::new(),
    }
}

/// Shows a notice until the next key.
pub(crate) fn tell(state: &mut State, text: &str) {
    state.notice = Some(Line::of(Role::Dim, text));
}

/// Shows an error until the next key.
pub(crate) fn complain(state: &mut State, text: &str) {
    state.notice = Some(Line::of(Role::Bad, text));
}

fn paste(state: &mut State, text: &str) -> Vec<Action> {
    let text = clean_paste(text);
    answering::note_input(state);
    if let Some(overlay) = state.overlays.last_mut().filter(|overlay| !overlay.shares_draft()) {
        overlay.paste(&text);
        return Vec::new();
    }
    match image_path(&text) {
        Some(path) => {
            // Show the path until the image is read.
            state.editor.paste(&path);
            vec![Action::ReadImage(path)]
        }
        None => {
            state.editor.paste(&text);
            Vec::new()
        }
    }
}

/// Replaces control characters in a paste, except for line ends and tabs.
fn clean_paste(text: &str) -> String {
    osier_tree::projection::preview::inert(text).into_owned()
}

fn join(state: &mut State, joined: Joined) -> Vec<Action> {
    let Joined { running, drafts, asked, queue, returned, pictures, said, unfinished, history } = joined;
    state.work = Work { turn: running, ..Work::default() };
    state.reading = None;
    state.work.since = state.now;
    state.editor.pictures = Pictures::new(pictures);
    let said = said.iter().map(|text| state.editor.pastes.folded(text)).collect();
    state.editor.history = History::new(history, said);
    let texts = |line: Vec<osier_agent::Said>| line.into_iter().map(|said| said.text).collect();
    (state.steering, state.follow_up) = (texts(queue.steering), texts(queue.follow_up));
    let mut draft = drafts.last().map(|open| Draft::new(open.id.clone())).unwrap_or_default();
    let deltas = drafts.last().into_iter().flat_map(|open| &open.deltas);
    let mut pieces: Vec<Piece> = deltas.flat_map(|delta| draft.push(delta)).collect();
    state.draft = draft;
    give_back(state, returned.into_iter().map(|said| said.text).collect());
    for (id, question) in asked {
        events::ask(state, id, question);
    }
    if unfinished && !running {
        let line = Line::of(Role::Warn, "The last turn did not finish; /retry continues it");
        pieces.push(Piece::spaced_notice(vec![line]));
    }
    if pieces.is_empty() { Vec::new() } else { vec![Action::Print(pieces)] }
}

/// Puts unsent prompts back into the editor, before the text that is there.
pub(crate) fn give_back(state: &mut State, mut texts: Vec<String>) {
    if texts.is_empty() {
        return;
    }
    let current = state.editor.text().to_owned();
    texts.extend(Some(current).filter(|current| !current.trim().is_empty()));
    state.editor.give_back(&texts.join("\n\n"));
}

/// Puts a sent message back into the editor, and adds markers for images that the text does not name.
fn edit_again(state: &mut State, editor: &continuing::Editor) {
    state.editor.give_back(editor.typed.as_deref().unwrap_or(&editor.text));
    if !state.editor.pictures.used(state.editor.text()).is_empty() {
        return;
    }
    for block in &editor.images {
        let field = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        let image = Image { data: field("data"), mime_type: field("mimeType") };
        let name = format!(".{}", image.mime_type.rsplit('/').next().unwrap_or_default());
        if !state.editor.text().to_lowercase().contains(&name) && !image.data.is_empty() {
            state.editor.put_picture("", image);
        }
    }
}

/// Replaces the printed conversation with this path.
fn show_path(state: &mut State, path: &Path) -> Vec<Action> {
    state.shown_to = path.entries;
    let head = match path.earlier {
        0 if path.lines.is_empty() => {
            state.setting.welcome.iter().map(|line| Line::of(Role::Dim, line)).collect()
        }
        0 => Vec::new(),
        1 => vec![Line::of(Role::Dim, "… 1 earlier entry; /tree shows it")],
        earlier => vec![Line::of(Role::Dim, &format!("… {earlier} earlier entries; /tree shows them"))],
    };
    let mut pieces = vec![Piece::notice(head)];
    let mut script = Script::default();
    let mut last = 0;
    for line in &path.lines {
        last = pieces.len();
        pieces.extend(script.line(line));
    }
    let is_stored = state.draft.is_begin_of(&pieces[last..]);
    // While a turn runs, its tool calls may still get results.
    if !state.work.turn {
        pieces.extend(script.settle());
    }
    state.script = script;
    if !is_stored {
        pieces.extend_from_slice(state.draft.printed());
    }
    let remark = path.remark.iter().map(|remark| Piece::spaced_notice(vec![Line::of(Role::Dim, remark)]));
    pieces.extend(remark);
    vec![Action::Show(pieces)]
}

/// Updates the context tokens from a reply that reports them.
pub(crate) fn note_usage(state: &mut State, line: &[u8]) {
    if let Ok(entry) = serde_json::from_slice::<Value>(line)
        && let Some(tokens) = entry["message"]["usage"]["totalTokens"].as_u64().filter(|tokens| *tokens > 0)
    {
        state.context = TokenCount::measured(tokens);
    }
}

/// Requests the tree, for the tree view or for the fork dialog.
pub(crate) fn read_tree(state: &mut State, fork: bool) -> Vec<Action> {
    state.reading = Some(Reading { fork, since: state.now });
    vec![Action::ReadTree]
}

/// Opens the dialog that the tree was requested for, or updates the open overlays.
fn show_tree(state: &mut State, forest: &Forest) -> Vec<Action> {
    let reading = state.reading.take();
    if !state.overlays.is_empty() {
        return hear(state, &News::Forest(forest));
    }
    // The request was canceled.
    let Some(reading) = reading else { return Vec::new() };
    if reading.fork {
        let fork = Fork::new(forest.clone());
        match fork.is_empty() {
            true => tell(state, "No messages to fork from"),
            false => state.overlays.push(Box::new(fork)),
        }
        return Vec::new();
    }
    let tree = Tree::new(forest.clone(), &state.setting);
    match tree.is_empty() {
        true => tell(state, "The tree is empty; send a message first"),
        false => state.overlays.push(Box::new(tree)),
    }
    Vec::new()
}

/// Opens the settings dialog, or updates it after a change.
fn show_settings(state: &mut State, rows: Vec<SettingRow>) -> Vec<Action> {
    if !state.overlays.is_empty() {
        return hear(state, &News::Settings(&rows));
    }
    match rows.is_empty() {
        true => tell(state, "No settings to change here"),
        false => state.overlays.push(Box::new(Settings::new(rows))),
    }
    Vec::new()
}

/// Passes an event to all overlays and removes those that close.
pub(crate) fn hear(state: &mut State, news: &News<'_>) -> Vec<Action> {
    let mut actions = Vec::new();
    state.overlays.retain_mut(|overlay| match overlay.hear(news) {
        Outcome::Close => false,
        Outcome::Do(more) => {
            actions.extend(more);
            true
        }
        Outcome::End(more) => {
            actions.extend(more);
            false
        }
        Outcome::Stay | Outcome::Pass | Outcome::Open(_) | Outcome::OpenAnd(..) | Outcome::Write(_) => true,
    });
    actions
}

/// Applies the outcome of the top overlay.
pub(crate) fn obey(state: &mut State, outcome: Outcome) -> Vec<Action> {
    let mut open = |overlay: Box<dyn Overlay>| state.overlays.push(overlay);
    match outcome {
        Outcome::Stay | Outcome::Pass => Vec::new(),
        Outcome::Close => {
            state.overlays.pop();
            Vec::new()
        }
        Outcome::Open(overlay) => {
            open(overlay);
            Vec::new()
        }
        Outcome::OpenAnd(overlay, actions) => {
            open(overlay);
            actions
        }
        Outcome::Do(actions) => actions,
        Outcome::End(actions) => {
            state.overlays.pop();
            actions
        }
        Outcome::Write(text) => {
            state.overlays.pop();
            state.editor.set(&text);
            Vec::new()
        }
    }
}

fn replied(state: &mut State, purpose: &Purpose, reply: Result<Reply, String>) -> Vec<Action> {
    // A summary that the user requested ends with the reply; one that a turn writes continues.
    if !state.work.turn {
        state.work.summary = None;
    }
    let actions = hear(state, &News::Replied(purpose, &reply));
    match (purpose, reply) {
        (Purpose::Say(text), Err(error)) => {
            if state.editor.is_empty() {
                state.editor.set(text);
            }
            complain(state, &error);
        }
        (Purpose::Bash, reply) => {
            state.work.bash = None;
            if let Err(error) = reply {
                complain(state, &error);
            }
        }
        (Purpose::Cancel | Purpose::Unqueue, Ok(Reply::Returned(said))) => {
            state.work.stopping = false;
            give_back(state, said.into_iter().map(|said| said.text).collect());
        }
        (Purpose::Navigate, Ok(Reply::Navigated(moved))) => {
            if moved.cancelled {
                let notice = if moved.aborted { "Canceled; nothing changed" } else { "The move was refused" };
                tell(state, notice);
            } else {
                state.overlays.clear();
                if let Some(editor) = moved.editor.filter(|_| state.editor.text().trim().is_empty()) {
                    edit_again(state, &editor);
                }
                give_back(state, moved.returned.into_iter().map(|said| said.text).collect());
            }
        }
        (Purpose::Graft, Ok(_)) => {
            state.overlays.clear();
            tell(state, "Grafted the conclusion of the branch");
        }
        (Purpose::Uncompact, Ok(Reply::Stored { .. })) => {
            tell(state, "Undid the compaction; everything it left out is sent again · alt+u to go back");
        }
        (Purpose::Uncompact, Ok(_)) => tell(state, "Nothing changed"),
        (Purpose::Undo, Ok(Reply::Done)) => tell(state, "No move to undo"),
        (Purpose::Redo, Ok(Reply::Done)) => tell(state, "No move to redo"),
        (Purpose::Change(notice), Ok(_)) => tell(state, &notice.clone()),
        (_, Err(error)) => {
            state.work.stopping = false;
            complain(state, &error);
        }
        _ => {}
    }
    actions
}

/// The action that sends a command. The purpose comes back with the reply.
pub(crate) fn send(command: Command, purpose: Purpose) -> Vec<Action> {
    vec![Action::Send(command, purpose)]
}

#[cfg(test)]
mod tests;
