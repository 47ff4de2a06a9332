//! Exporting a path as Markdown, as JSON or as a session file of its own, or a session as an HTML page.

use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use osier_session::{Session, SessionError};
use osier_store::{LineSource, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::projection::transcript::{MarkdownWriter, TranscriptItem};
use osier_tree::{Header, Place};
use tempfile::NamedTempFile;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::local_client::LocalClient;
use crate::operations::export_html::write_html;
use crate::operations::reading::ReadError;
use crate::reading::resolve_place;
use crate::stored::StoredSession;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportFormat {
    #[default]
    Markdown,
    /// The card and the transcript as one JSON object.
    Json,
    /// A session file with only the path, and without a parent session.
    Jsonl,
    /// One page with all branches, opened at the path.
    Html,
}

impl ExportFormat {
    /// The format that the extension of a file stands for, or an error that names the extension.
    pub fn parse(extension: &str) -> Result<ExportFormat, EngineError> {
        let unknown = || EngineError::UnknownExportFormat { extension: extension.to_owned() };
        ExportFormat::from_extension(extension).ok_or_else(unknown)
    }

    /// The format that a file name stands for.
    pub fn from_path(path: &Path) -> Result<ExportFormat, EngineError> {
        ExportFormat::parse(path.extension().and_then(|extension| extension.to_str()).unwrap_or_default())
    }

    /// The usual extension of a file.
    pub fn extension(self) -> &'static str {
        match self {
            ExportFormat::Markdown => "md",
            ExportFormat::Json => "json",
            ExportFormat::Jsonl => "jsonl",
            ExportFormat::Html => "html",
        }
    }

    /// The format that the extension of a file stands for.
    pub fn from_extension(extension: &str) -> Option<ExportFormat> {
        match extension.to_ascii_lowercase().as_str() {
            "md" | "markdown" | "txt" => Some(ExportFormat::Markdown),
            "json" => Some(ExportFormat::Json),
            "jsonl" => Some(ExportFormat::Jsonl),
            "html" | "htm" => Some(ExportFormat::Html),
            _ => None,
        }
    }
}

/// Exports the path to a place. Calls `write` with each piece, so that no path is held in memory.
async fn export<E: From<SessionError> + From<StoreError>, W: FnMut(&[u8]) -> Result<(), E>>(
    session: &Session,
    card: &Card,
    at: Place,
    format: ExportFormat,
    write: &mut W,
) -> Result<(), E> {
    match format {
        ExportFormat::Markdown => {
            let mut writer = MarkdownWriter::default();
            write(writer.title(card.title()).as_bytes())?;
            session.each_item(at, |item| write(writer.item(&item).as_bytes())).await
        }
        ExportFormat::Json => write_json(session, card, at, write).await,
        ExportFormat::Jsonl => write_jsonl(session, at, write).await,
        ExportFormat::Html => write_html(session, card, at, write).await,
    }
}

/// Streams the card and the transcript, formatted like one pretty-printed JSON value.
async fn write_json<E: From<SessionError> + From<StoreError>, W: FnMut(&[u8]) -> Result<(), E>>(
    session: &Session,
    card: &Card,
    at: Place,
    write: &mut W,
) -> Result<(), E> {
    let card = indented(card, "\n  ");
    write(format!("{{\n  \"session\": {card},\n  \"transcript\": [").as_bytes())?;
    let mut items = 0;
    let write_item = |item: TranscriptItem| {
        let comma = if items > 0 { "," } else { "" };
        items += 1;
        write(format!("{comma}\n    {}", indented(&item, "\n    ")).as_bytes())
    };
    session.each_item(at, write_item).await?;
    write(if items > 0 { b"\n  ]\n}\n" } else { b"]\n}\n" })
}

/// Pretty-printed JSON. Line feeds occur only between its parts; inside strings they are escaped.
fn indented(value: &impl serde::Serialize, line_feed: &str) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default().replace('\n', line_feed)
}

async fn write_jsonl<E: From<SessionError> + From<StoreError>, W: FnMut(&[u8]) -> Result<(), E>>(
    session: &Session,
    at: Place,
    write: &mut W,
) -> Result<(), E> {
    let (env, source) = (session.env(), session.header());
    let id = Session::new_session_id(&**session.store(), env).await?;
    let header =
        Header { agent_id: source.agent_id.clone(), ..Header::new(id, env.clock.now(), &source.cwd) };
    let mut entries = session.fork_lines(at, None);
    let mut lines = vec![header.to_line()];
    while !lines.is_empty() {
        for line in lines {
            write(&line)?;
            write(b"\n")?;
        }
        // A store that never waits must not keep a reader of the pieces waiting until the end.
        tokio::task::yield_now().await;
        lines = entries.next_lines().await?;
    }
    Ok(())
}

/// A new private file that appears only when it is complete.
#[derive(Debug)]
pub struct ExportFile {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl ExportFile {
    /// Fails if the file already exists.
    pub fn create(path: &Path) -> Result<ExportFile, EngineError> {
        if path.exists() {
            return Err(EngineError::FileExists { path: path.to_owned() });
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // The error of a temporary file names that file.
        let failed = |source| EngineError::CannotWrite { path: path.to_owned(), source };
        folder.metadata().map_err(failed)?;
        match tempfile::Builder::new().prefix(".osier-").tempfile_in(folder) {
            Ok(file) => Ok(ExportFile { file: BufWriter::new(file), path: path.to_owned() }),
            Err(source) => Err(failed(source.kind().into())),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let failed = |source| EngineError::CannotWrite { path: self.path.clone(), source };
        self.file.write_all(bytes).map_err(failed)
    }

    pub fn finish(self) -> Result<(), EngineError> {
        let path = self.path;
        let failed = |source| EngineError::CannotWrite { path: path.clone(), source };
        let file = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                Err(EngineError::FileExists { path: path.clone() })
            }
            Err(error) => Err(failed(error.error)),
        }
    }
}

/// Where exported files go.
#[derive(Debug, Clone, Default)]
pub struct ExportFolder {
    pub cwd: PathBuf,
    /// The user's home folder, written as `~`.
    pub home: Option<PathBuf>,
}

impl ExportFolder {
    /// The file to write: the named file, or a new file in the named folder or in the working directory.
    pub fn resolve(&self, named: Option<&str>, short_id: &str) -> PathBuf {
        let name = &format!("osier-{}", id_in_file_name(short_id));
        let named = named.map(|named| named.trim_matches(['"', '\'']));
        let path = match (named.and_then(|named| named.strip_prefix("~/")), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.cwd.join(named.unwrap_or_default()),
        };
        if path.is_dir() { unused_path(&path, name) } else { path }
    }
}

/// The id of a session as a part of the name of a file. Another program may have chosen the id, so it must not lead to another
/// folder.
pub fn id_in_file_name(id: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    id.chars().map(|character| if is_plain(character) { character } else { '_' }).collect()
}

/// The path of a file that does not exist in the folder yet.
fn unused_path(folder: &Path, name: &str) -> PathBuf {
    let numbered = (2..).map(|number| format!("{name}-{number}.md"));
    let mut names = std::iter::once(format!("{name}.md")).chain(numbered).map(|name| folder.join(name));
    names.find(|path| !path.exists()).unwrap_or_else(|| folder.join(name))
}

impl Engine {
    /// Exports the path to `at`, an entry or `root`; to the leaf by default.
    pub async fn write_export<E: ReadError>(
        &self,
        stored: &StoredSession,
        at: Option<&str>,
        format: ExportFormat,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let card = stored.card().await?;
        let live = self.open_to_read::<E>(stored).await?;
        let at = resolve_place(&live.session().tree(), at)?;
        export(live.session(), &card, at, format, &mut write).await
    }

    /// Exports the path of a client's session to a new file, whole or not at all. The extension of the file chooses the
    /// format. Returns its path.
    pub async fn export_to(
        &self,
        client: &LocalClient,
        named: Option<&str>,
        folder: &ExportFolder,
    ) -> Result<PathBuf, EngineError> {
        let (session, (_, at)) = (client.live().session(), client.worker().cursor().state_and_place());
        let card = session.store().card(session.key()).await?;
        let path = folder.resolve(named, &card.short_id);
        let format = ExportFormat::from_path(&path)?;
        let mut file = ExportFile::create(&path)?;
        export(session, &card, at, format, &mut |bytes: &[u8]| file.write(bytes)).await?;
        file.finish()?;
        Ok(path)
    }
}
