//! Actions that read or write sessions without touching the screen. Each runs in a background task and returns a message.

use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use osier_agent::{AgentError, Worker};
use osier_model::Image;
use osier_session::{ListResult, Session, SessionEnv, Stores};
use osier_store::{LineSource, SessionFilter, Store, StoreError};
use osier_tree::projection::compare::compare;
use osier_tree::projection::transcript::{MarkdownWriter, TranscriptItem};
use osier_tree::{Header, Place, PlanError, Seq};
use serde_json::{Value, json};

use super::actions::change_done;
use super::queries;
use crate::clock::LocalClock;
use crate::error::error_chain;
use crate::host::Host;
use crate::msg::{Action, Msg, SessionRef};
use crate::pages;
use crate::text::Line;
use crate::theme::ColorRole;

/// The maximum number of listed sessions; the most recently used count.
const MAX_LISTED_SESSIONS: usize = 10_000;

/// The maximum bytes of pasted images that a session stores for its editor; the latest count.
const MAX_IMAGE_BYTES: usize = 8 << 20;

/// What a task needs to know about the screen and the program.
#[derive(Debug)]
pub(super) struct TaskContext {
    pub(super) columns: usize,
    pub(super) clock: LocalClock,
    pub(super) cwd: String,
    /// The user's home folder.
    pub(super) home: Option<String>,
    pub(super) host: Arc<dyn Host>,
}

pub(super) async fn run_task(
    worker: &Worker,
    action: Action,
    around: &TaskContext,
) -> Result<Msg, AgentError> {
    let session = worker.session();
    match action {
        Action::ReadTree => Ok(match queries::tree_snapshot(worker).await {
            Ok(forest) => Msg::Tree(Box::new(forest)),
            Err(error) => Msg::TreeFailed(error_chain(&error)),
        }),
        Action::ReadEntry(id) => queries::entry_page(worker, &id, around.columns).await,
        Action::CopyEntry(id) => Ok(Msg::CopyText(queries::entry_text(worker, &id).await?)),
        Action::Compare(left, right) => compare_branches(worker, &left, &right, around.columns).await,
        Action::PrintUsage => {
            let card = session.store().card(session.key()).await?;
            let mut lines = pages::session_lines(&card, around.clock, around.columns);
            lines.extend(pages::usage_lines(&queries::usage_report(worker).await?, around.columns));
            Ok(Msg::Lines(lines))
        }
        Action::PrintCost => {
            Ok(Msg::Lines(pages::usage_lines(&queries::usage_report(worker).await?, around.columns)))
        }
        Action::CopyAnswer => Ok(match queries::last_answer(worker).await? {
            Some(text) => Msg::CopyText(text),
            None => Msg::Failed("cannot copy: no answer yet".to_owned()),
        }),
        Action::ShowCompaction => compaction_page(worker, around).await,
        Action::Export(path) => export(worker, path, around).await,
        Action::ListSessions | Action::RenameSession { .. } | Action::DeleteSession(_) => {
            change_sessions(session, action, &*around.host).await
        }
        action => write_marks(worker, action).await,
    }
}

async fn compaction_page(worker: &Worker, around: &TaskContext) -> Result<Msg, AgentError> {
    let (state, at) = worker.cursor().state_and_place();
    if at.and_then(|seq| state.tree.head(seq).compaction).is_none() {
        return Err(AgentError::NoCompaction);
    }
    let result = around.host.compaction_lines(worker, around.columns).await;
    let page = |mut lines: Vec<Line>| {
        lines.push(Line::new());
        lines.push(Line::styled(
            ColorRole::Dim,
            "/compaction undo moves to before it; all of this is sent again",
        ));
        Msg::Page("Left out by the last compaction".to_owned(), lines)
    };
    Ok(result.map_or_else(Msg::Failed, page))
}

/// Lists, renames or deletes sessions in their stores; returns the new list.
async fn change_sessions(session: &Session, action: Action, host: &dyn Host) -> Result<Msg, AgentError> {
    let stores = &host.stores(session);
    match action {
        Action::RenameSession { target, name } => {
            let env = SessionEnv { watch: false, ..session.env().clone() };
            Session::open(find_store(&target, stores)?, &target.key, env).await?.rename(&name).await?;
        }
        Action::DeleteSession(target) => {
            if let Err(problem) = host.delete_session(&target).await {
                return Ok(Msg::Failed(problem));
            }
        }
        _ => {}
    }
    let filter = SessionFilter { limit: Some(MAX_LISTED_SESSIONS), ..SessionFilter::default() };
    let listed = stores.list(&filter).await?;
    let missing = describe_missing(&listed);
    Ok(Msg::Sessions(listed.page.cards, missing))
}

fn find_store(target: &SessionRef, stores: &Stores) -> Result<Arc<dyn Store>, AgentError> {
    let SessionRef { store, key } = target;
    let gone = || StoreError::NotFound { store: store.clone(), id: key.clone() };
    Ok(stores.get(store).cloned().ok_or_else(gone)?)
}

/// Describes which sessions the list does not show, and why.
fn describe_missing(listed: &ListResult) -> Option<String> {
    let away = listed.unavailable.iter().map(|down| down.error.to_string());
    let more =
        listed.page.has_more.then(|| format!("only the latest {MAX_LISTED_SESSIONS} sessions are listed"));
    let missing: Vec<String> = away.chain(more).collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}

/// Writes marks to this session; returns the changed tree for an open tree view.
async fn write_marks(worker: &Worker, action: Action) -> Result<Msg, AgentError> {
    let session = worker.session();
    match action {
        Action::RefreshTree => {}
        Action::Label { entry: Some(entry), label } => drop(session.label(&entry, label.as_deref()).await?),
        Action::Label { entry: None, label } => {
            session.label(&current_entry_id(worker), label.as_deref()).await?;
            let notice = label.map_or_else(|| "Label removed".to_owned(), |label| format!("Labeled {label}"));
            return Ok(change_done(notice));
        }
        Action::Rename(name) => {
            session.rename(&name).await?;
            return Ok(change_done(format!("Renamed the session to {name}")));
        }
        Action::DeleteBranch(entry) => drop(session.delete_branch(&entry).await?),
        Action::RestoreBranch(entry) => drop(session.restore_branch(&entry).await?),
        Action::StorePastes(pastes) => {
            let all = queries::stored_pastes(worker).into_iter().chain(pastes);
            return store_pastes(session, "pastedTextMap", all.map(|(marker, text)| (marker, json!(text))))
                .await;
        }
        Action::StoreImages(images) => {
            let all = latest_images(queries::stored_images(worker).into_iter().chain(images).collect());
            let address = |image: Image| json!(format!("data:{};base64,{}", image.mime_type, image.data));
            let all = all.into_iter().map(|(marker, image)| (marker, address(image)));
            return store_pastes(session, "pastedImageMap", all).await;
        }
        _ => return Ok(Msg::Tick),
    }
    Ok(Msg::TreeChanged(Box::new(queries::tree_snapshot(worker).await?)))
}

/// The latest images that fit into the limit.
fn latest_images(mut images: Vec<(String, Image)>) -> Vec<(String, Image)> {
    let number = |marker: &str| {
        let digits: String =
            marker.chars().skip_while(|ch| *ch != '#').skip(1).take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap_or(0)
    };
    images.sort_by_key(|(marker, _)| std::cmp::Reverse(number(marker)));
    let mut left = MAX_IMAGE_BYTES;
    images.retain(|(_, image)| {
        let fits = image.data.len() <= left;
        left = if fits { left - image.data.len() } else { 0 };
        fits
    });
    images
}

/// The id of the entry at the current position.
fn current_entry_id(worker: &Worker) -> String {
    let (state, at) = worker.cursor().state_and_place();
    let tree = &state.tree;
    tree.heads().anchor(at).map(|seq| tree.id(seq).to_string()).unwrap_or_default()
}

/// Stores pasted content in the session's settings.
async fn store_pastes(
    session: &Session,
    key: &str,
    all: impl Iterator<Item = (String, Value)>,
) -> Result<Msg, AgentError> {
    let all = Value::Object(all.collect());
    session.set_config([(key.to_owned(), all)].into_iter().collect(), Vec::new()).await?;
    Ok(Msg::Tick)
}

async fn compare_branches(
    worker: &Worker,
    left: &str,
    right: &str,
    columns: usize,
) -> Result<Msg, AgentError> {
    let tree = worker.session().tree();
    let place = |id: &str| -> Result<Option<Seq>, PlanError> { Ok(Some(tree.resolve(id)?)) };
    let (left, right) = (place(left)?, place(right)?);
    let wanted: Vec<Seq> = tree.path(left).into_iter().chain(tree.path(right)).collect();
    let lines = queries::read_lines(worker, &wanted).await?;
    let lines = pages::comparison_lines(&compare(&tree, left, right, &lines), columns);
    Ok(Msg::Page("Branch comparison".to_owned(), lines))
}

async fn export(worker: &Worker, path: Option<String>, around: &TaskContext) -> Result<Msg, AgentError> {
    let session = worker.session();
    let (_, at) = worker.cursor().state_and_place();
    let name = format!("osier-{}", queries::short_id(session).await);
    let path = match export_path(path.as_deref(), &name, around) {
        Ok(path) => path,
        Err(problem) => return Ok(Msg::Failed(problem)),
    };
    let written = match write_export(session, at, &path).await {
        Err(AgentError::Session(osier_session::SessionError::Store(StoreError::Io {
            source,
            path: at,
            ..
        }))) if at == path => Err(source),
        done => Ok(done?),
    };
    Ok(match written {
        Ok(()) => Msg::Lines(vec![Line::styled(ColorRole::Dim, &format!("Exported to {}", path.display()))]),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Msg::Failed(format!("cannot export to {}: the file exists; try /export FILE", path.display()))
        }
        Err(error) => Msg::Failed(format!("cannot write {}: {error}", path.display())),
    })
}

/// The file to write: the named file, or a new file in the named folder or in the working directory.
fn export_path(named: Option<&str>, name: &str, around: &TaskContext) -> Result<PathBuf, String> {
    let folder = FilePath::new(&around.cwd);
    let named = named.map(|named| named.trim_matches(['"', '\'']));
    let path = match (named, named.and_then(|named| named.strip_prefix("~/")), &around.home) {
        (_, Some(below), Some(home)) => FilePath::new(home).join(below),
        (Some(named), ..) => folder.join(named),
        (None, ..) => folder.to_owned(),
    };
    match path.extension().and_then(|end| end.to_str()) {
        _ if path.is_dir() => Ok(unused_path(&path, name)),
        Some("md" | "markdown" | "txt" | "jsonl") => Ok(path),
        end => {
            let end = end.map_or_else(|| "a file without an extension".to_owned(), |end| format!(".{end}"));
            Err(format!("cannot export to {end}; try FILE.md for Markdown or FILE.jsonl for a session"))
        }
    }
}

/// The path of a file that does not exist in the folder yet.
fn unused_path(folder: &FilePath, name: &str) -> PathBuf {
    let numbered = (2..).map(|number| format!("{name}-{number}.md"));
    let mut names = std::iter::once(format!("{name}.md")).chain(numbered).map(|name| folder.join(name));
    names.find(|path| !path.exists()).unwrap_or_else(|| folder.join(name))
}

/// Writes the path to a new file that only its owner reads, whole or not at all, without holding it in memory.
async fn write_export(session: &Session, at: Place, path: &FilePath) -> Result<(), AgentError> {
    let failed = |source| StoreError::Io { what: "write", path: path.to_owned(), source };
    if path.exists() {
        return Err(failed(ErrorKind::AlreadyExists.into()).into());
    }
    let folder = path.parent().unwrap_or(FilePath::new("."));
    let file = tempfile::Builder::new().prefix(".osier-").tempfile_in(folder).map_err(failed)?;
    let mut file = BufWriter::new(file);
    match path.extension().is_some_and(|end| end == "jsonl") {
        true => write_session(session, at, &mut |bytes| file.write_all(bytes).map_err(failed)).await?,
        false => {
            let mut writer = MarkdownWriter::default();
            let title = writer.title(session.tree().marks().name().unwrap_or_default());
            file.write_all(title.as_bytes()).map_err(failed)?;
            let write = |item: TranscriptItem| file.write_all(writer.item(&item).as_bytes()).map_err(failed);
            session.each_item(at, write).await?;
        }
    }
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.persist_noclobber(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Writes the path as a session of its own.
async fn write_session(
    session: &Session,
    at: Place,
    write: &mut (dyn FnMut(&[u8]) -> Result<(), StoreError> + Send),
) -> Result<(), AgentError> {
    let id = Session::new_session_id(&**session.store(), session.env()).await?;
    let mut header = Header::new(&id, session.env().clock.now(), &session.header().cwd);
    header.agent_id.clone_from(&session.header().agent_id);
    let mut source = session.fork_lines(at, None);
    let mut lines = vec![header.to_line()];
    while !lines.is_empty() {
        for line in lines {
            write(&line)?;
            write(b"\n")?;
        }
        lines = source.next_lines().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_images_are_stored() {
        let image = |size: usize| Image { data: "A".repeat(size), mime_type: "image/png".to_owned() };
        let images = vec![
            ("[image #10 c.png]".to_owned(), image(5 << 20)),
            ("[image #9 b.png]".to_owned(), image(2 << 20)),
            ("[image #2 a.png]".to_owned(), image(5 << 20)),
        ];
        let kept: Vec<String> = latest_images(images).into_iter().map(|(marker, _)| marker).collect();
        assert_eq!(kept, ["[image #10 c.png]", "[image #9 b.png]"]);
    }
}
