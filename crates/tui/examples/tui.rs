//! The interface with the built-in model, on sessions in a folder: `cargo run -p osier-tui --example tui -- FOLDER [SESSION]`.
//! Works in the current directory. For experiments and tests: prints at the end which hooks were asked and what they saw. Those
//! that the environment variable `REFUSE` lists, separated by commas, refuse.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use osier_agent::StandardSystemPrompt;
use osier_engine::recording_hook::RecordingHook;
use osier_engine::{
    AgentSpec, ConfiguredStore, Engine, EngineConfig, EngineError, FindOptions, KeepWhen, ListOptions,
    LiveSession, LocalClient, ModelCatalog, NewSession, Workspace,
};
use osier_model::{Environment, Registry};
use osier_offline::OfflineModel;
use osier_protocol::SessionRef;
use osier_tools::{CommandEnv, ToolContext, ToolSet};
use osier_tree::short_ids::first_eight;
use osier_tui::msg::OpenTarget;
use osier_tui::state::UiConfig;
use osier_tui::theme::{ColorDepth, Theme, detect_color_depth, detect_light_background};
use osier_tui::{Host, OpenedSession, SessionListing, UiSetup, run};

type BoxError = Box<dyn std::error::Error>;

/// The hooks that `REFUSE` can list.
const GATES: [&str; 4] = ["input", "tool_call", "session_before_tree", "session_before_compact"];

/// Sessions in a folder.
#[derive(Debug)]
struct Folder {
    engine: Engine,
    hook: Arc<RecordingHook>,
    folder: PathBuf,
    cwd: PathBuf,
}

impl Folder {
    fn new(folder: PathBuf, cwd: PathBuf) -> Folder {
        let store = ConfiguredStore::Files {
            name: "file".to_owned(),
            folder: folder.join("sessions"),
            caches: folder.join("cache"),
            is_own: true,
        };
        let hook = Arc::new(RecordingHook::default());
        let refused = std::env::var("REFUSE").unwrap_or_default();
        hook.refuse(
            &GATES
                .into_iter()
                .filter(|gate| refused.split(',').any(|name| name == *gate))
                .collect::<Vec<_>>(),
        );
        let config =
            EngineConfig { stores: vec![store], hooks: hook.registered(), ..EngineConfig::default() };
        Folder { engine: Engine::new(config), hook, folder, cwd }
    }

    async fn connect(&self, session: &Arc<LiveSession>) -> Result<LocalClient, EngineError> {
        let registry = Arc::new(Registry::built_in());
        let model = registry.find("offline").map_err(EngineError::Model)?;
        let models = ModelCatalog {
            model: Arc::new(OfflineModel::new(Environment::empty())),
            registry,
            environment: Environment::empty(),
            default_model: None,
            summary_model: None,
            own_providers: Vec::new(),
        };
        let env = CommandEnv::new(std::env::vars_os());
        let context = ToolContext::new(&self.cwd, self.folder.join("output"), env);
        let workspace = Workspace {
            tools: ToolSet::standard(),
            backtracking: true,
            system_prompt: Arc::new(StandardSystemPrompt { cwd: self.cwd.clone(), ..empty_prompt() }),
            ..Workspace::new(models, context)
        };
        let spec = AgentSpec { has_user: true, ..AgentSpec::new(Arc::new(workspace), model) };
        self.engine.connect(session, &spec).await
    }

    async fn create_session(&self) -> Result<Arc<LiveSession>, EngineError> {
        let new = NewSession {
            store: "file".to_owned(),
            cwd: self.cwd.to_string_lossy().into_owned(),
            agent: "main".to_owned(),
            keep: KeepWhen::Always,
        };
        self.engine.create(&new).await
    }

    async fn find_session(&self, prefix: &str) -> Result<Arc<LiveSession>, EngineError> {
        let found = self.engine.find(prefix, FindOptions::default()).await?;
        self.engine.open(&found.read().await?).await
    }

    async fn open_session(&self, target: OpenTarget) -> Result<OpenedSession, EngineError> {
        let session = match target {
            OpenTarget::New | OpenTarget::Demo => self.create_session().await?,
            OpenTarget::Named(key)
            | OpenTarget::Listed(SessionRef { key, .. })
            | OpenTarget::Found(SessionRef { key, .. }, _) => self.find_session(&key).await?,
            OpenTarget::Fork { .. } => return Err(EngineError::NothingToFork),
        };
        Ok(OpenedSession {
            client: Arc::new(self.connect(&session).await?),
            config: setting(&self.cwd),
            keeps_turn: false,
            editor_text: None,
            notices: Vec::new(),
        })
    }
}

fn empty_prompt() -> StandardSystemPrompt {
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
    async fn open(&self, target: OpenTarget) -> Result<Option<OpenedSession>, String> {
        self.open_session(target).await.map(Some).map_err(|error| error.to_string())
    }

    async fn list_sessions(&self, limit: usize) -> Result<SessionListing, String> {
        let options = ListOptions { limit: Some(limit), ..ListOptions::default() };
        let list = self.engine.list(&options).await.map_err(|error| error.to_string())?;
        Ok(SessionListing { cards: list.cards, missing: None })
    }

    fn editor(&self) -> Option<String> {
        std::env::var("EDITOR").ok()
    }
}

#[tokio::main]
async fn main() -> Result<std::process::ExitCode, BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = PathBuf::from(arguments.first().ok_or("name a folder for the sessions")?);
    let cwd = std::env::current_dir()?;
    let host = Arc::new(Folder::new(folder, cwd.clone()));
    let session = match arguments.get(1) {
        Some(prefix) => host.find_session(prefix).await?,
        None => host.create_session().await?,
    };
    let short = first_eight(session.session().id()).to_owned();
    let hook = host.hook.clone();
    let code = run(Arc::new(host.connect(&session).await?), host, setup(&cwd)).await?;
    println!("session {short}\nhooks {}", hook.take_calls().join(" "));
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
