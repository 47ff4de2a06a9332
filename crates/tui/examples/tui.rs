//! The interface with the built-in model, on sessions in a folder: `cargo run -p osier-tui --example tui -- FOLDER [SESSION]`.
//! Works in the current directory. For experiments and tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use osier_agent::{AgentConfig, StandardSystemPrompt, Worker};
use osier_engine::LocalClient;
use osier_model::{Environment, ModelRouter, Registry};
use osier_protocol::SessionRef;
use osier_session::{Session, SessionEnv};
use osier_store::{FileStore, SessionFilter, Store};
use osier_tools::{ToolContext, ToolSet};
use osier_tree::Header;
use osier_tree::short_ids::first_eight;
use osier_tui::msg::OpenTarget;
use osier_tui::state::UiConfig;
use osier_tui::theme::{ColorDepth, Theme, detect_color_depth, detect_light_background};
use osier_tui::{Host, OpenedSession, SessionListing, UiSetup, run};

type Failure = Box<dyn std::error::Error>;

/// Sessions in a folder.
#[derive(Debug)]
struct Folder {
    store: Arc<dyn Store>,
    folder: PathBuf,
    cwd: PathBuf,
}

impl Folder {
    async fn start_worker(&self, session: Session) -> Result<Worker, osier_agent::AgentError> {
        let registry = Arc::new(Registry::built_in());
        let model = registry.find("offline")?;
        let models = ModelRouter::new(registry.clone(), Environment::empty());
        let tools = ToolContext::new(
            &self.cwd,
            self.folder.join("output"),
            osier_tools::CommandEnv::new(std::env::vars_os()),
        );
        let mut parts =
            AgentConfig::new(Arc::new(models), registry, model, Arc::new(ToolSet::standard()), tools);
        parts.has_user = true;
        parts.system_prompt = Arc::new(StandardSystemPrompt { cwd: self.cwd.clone(), ..facts() });
        Worker::start(session, parts).await
    }

    async fn create_session(&self, lines: &[Vec<u8>]) -> Result<Session, osier_session::SessionError> {
        let env = SessionEnv::default();
        let id = Session::new_session_id(&*self.store, &env).await?;
        let header = Header::new(&id, env.clock.now(), self.cwd.to_string_lossy());
        Session::create(self.store.clone(), &header, lines, env).await
    }

    async fn find_session(&self, prefix: &str) -> Result<Session, String> {
        let ids = self.store.find_ids(prefix).await.map_err(|error| error.to_string())?;
        let id = ids.first().ok_or_else(|| format!("no session {prefix}"))?;
        Session::open(self.store.clone(), id, SessionEnv::default()).await.map_err(|error| error.to_string())
    }
}

fn facts() -> StandardSystemPrompt {
    StandardSystemPrompt {
        preamble: None,
        append: None,
        cwd: PathBuf::new(),
        platform: "an example".to_owned(),
        user_folder: None,
        skill_folders: Vec::new(),
        utc_offset: 0,
    }
}

#[async_trait]
impl Host for Folder {
    async fn open(&self, which: OpenTarget) -> Result<OpenedSession, String> {
        let session = match which {
            OpenTarget::New => self.create_session(&[]).await.map_err(|error| error.to_string())?,
            OpenTarget::Named(key) | OpenTarget::Listed(SessionRef { key, .. }) => {
                self.find_session(&key).await?
            }
            OpenTarget::Fork { .. } => return Err("this example cannot fork".to_owned()),
        };
        let worker = self.start_worker(session).await.map_err(|error| error.to_string())?;
        Ok(OpenedSession {
            client: Arc::new(LocalClient::new(worker)),
            config: setting(&self.cwd),
            editor_text: None,
            turn_stopped: false,
            notices: Vec::new(),
        })
    }

    async fn list_sessions(&self, limit: usize) -> Result<SessionListing, String> {
        let filter = SessionFilter { limit: Some(limit), ..SessionFilter::default() };
        let page = self.store.list(&filter).await.map_err(|error| error.to_string())?;
        Ok(SessionListing { cards: page.cards, missing: None })
    }

    fn editor(&self) -> Option<String> {
        std::env::var("EDITOR").ok()
    }
}

#[tokio::main]
async fn main() -> Result<std::process::ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = PathBuf::from(arguments.first().ok_or("name a folder for the sessions")?);
    let cwd = std::env::current_dir()?;
    let store = FileStore::new(folder.join("sessions"), None);
    let host = Arc::new(Folder { store: Arc::new(store), folder, cwd: cwd.clone() });
    let session = match arguments.get(1) {
        Some(prefix) => host.find_session(prefix).await?,
        None => host.create_session(&[]).await?,
    };
    let short = first_eight(session.id()).to_owned();
    let worker = host.start_worker(session).await?;
    let code = run(Arc::new(LocalClient::new(worker)), host, setup(&cwd)).await?;
    println!("session {short}");
    Ok(code.into())
}

fn setup(cwd: &Path) -> UiSetup {
    let variable = |name: &str| std::env::var(name).ok();
    let [none, term, many, ground] = ["NO_COLOR", "TERM", "COLORTERM", "COLORFGBG"].map(variable);
    let depth = detect_color_depth(none.as_deref(), term.as_deref(), many.as_deref());
    let theme = if detect_light_background(ground.as_deref()) { Theme::light() } else { Theme::dark() };
    let theme = theme.with_color_depth(depth);
    UiSetup {
        config: setting(cwd),
        theme,
        ask_background: depth != ColorDepth::None,
        first_prompt: None,
        choose_session: false,
    }
}

fn setting(cwd: &Path) -> UiConfig {
    let name = cwd.file_name().unwrap_or_default().to_string_lossy().into_owned();
    UiConfig {
        directory: name,
        cwd: cwd.to_string_lossy().into_owned(),
        welcome: vec![
            "Osier with the built-in model, which needs no key and follows simple requests only.".to_owned(),
            "/help lists the commands; esc twice opens the tree.".to_owned(),
        ],
        ..UiConfig::default()
    }
}
