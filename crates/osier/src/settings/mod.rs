//! The settings of the program: reads, checks and merges the files of the user and of the project.
//!
//! Settings that a project may not set until its folder is trusted are filtered out here, for every command.

pub(crate) mod choice;
mod file;
mod kind;
mod layers;
mod project;
mod sandbox;
mod stores;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use osier_agent::CompactionConfig;
use osier_model::{ProviderSpec, RetryPolicy, ThinkingLevel};
use osier_session::Durability;
use osier_tools::Mode;
use osier_tree::projection::outline::OutlineFilter;
use osier_tui::state::DoubleEscape;

use crate::themes;

pub(crate) use file::{Found, LONGEST, Problem, dotted};
pub(crate) use layers::{Layers, Owner, Set};
pub(crate) use project::{Project, is_of_another};
pub(crate) use sandbox::{SandboxSettings, SandboxWhen};
pub(crate) use stores::{StorePlace, StoreSpec};
use table::Reach;

/// The effective settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) durability: Durability,
    /// The model from a file; `select_model` handles the other sources.
    pub(crate) model: Option<String>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) approval: Mode,
    pub(crate) sandbox: SandboxSettings,
    /// The tools that a model may call; `None` means all.
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) backtracking: bool,
    /// Maximum number of model calls for one prompt.
    pub(crate) max_steps: u32,
    /// Writes summaries instead of the current model.
    pub(crate) summary_model: Option<String>,
    pub(crate) compacting: CompactionConfig,
    pub(crate) restore_model_on_move: bool,
    pub(crate) system_prompt: Option<String>,
    pub(crate) append_system_prompt: Option<String>,
    pub(crate) screen: Screen,
    pub(crate) retry: RetryPolicy,
    /// The agent that new sessions belong to.
    pub(crate) agent: String,
    /// The store of new sessions; it exists.
    pub(crate) default_store: String,
    /// The stores in addition to the files in the home folder.
    pub(crate) stores: BTreeMap<String, StoreSpec>,
    pub(crate) providers: BTreeMap<String, ProviderSpec>,
    /// The source of each value.
    pub(crate) layers: Layers,
}

/// How the terminal interface looks and behaves.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    /// The name of a theme, or `auto`.
    pub(crate) theme: String,
    pub(crate) double_escape: DoubleEscape,
    pub(crate) tree_filter: OutlineFilter,
    /// The tree shows the current branch before its siblings.
    pub(crate) active_first: bool,
    pub(crate) ask_summary: bool,
    /// Prompts are stored in the history of all sessions.
    pub(crate) prompt_history: bool,
    pub(crate) editor: Option<String>,
    /// Key bindings by action name.
    pub(crate) keys: BTreeMap<String, String>,
}

impl Screen {
    fn of(layers: &Layers) -> Screen {
        Screen {
            theme: layers.text("theme").unwrap_or_else(|| themes::AUTO.to_owned()),
            double_escape: match layers.text("double_escape").as_deref() {
                Some("fork") => DoubleEscape::Fork,
                Some("none") => DoubleEscape::Nothing,
                _ => DoubleEscape::Tree,
            },
            tree_filter: layers
                .text("tree_filter")
                .and_then(|name| OutlineFilter::from_name(&name))
                .unwrap_or_default(),
            active_first: layers.text("tree_order").as_deref() == Some("active"),
            ask_summary: layers.bool("ask_summary").unwrap_or(true),
            prompt_history: layers.bool("prompt_history").unwrap_or(true),
            editor: layers.text("editor").filter(|editor| !editor.trim().is_empty()),
            keys: layers
                .table("keys")
                .into_iter()
                .filter_map(|(name, keys)| Some((name, keys.as_str()?.to_owned())))
                .collect(),
        }
    }
}

/// Settings, and the problems of the files they came from.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    pub(crate) problems: Vec<Problem>,
    /// The settings of the project that are ignored because it is not trusted.
    pub(crate) ignored: Vec<Found>,
}

/// The settings of a project's file.
#[derive(Debug, Default)]
pub(crate) struct OfProject {
    file: PathBuf,
    harmless: Vec<Found>,
    /// Settings that need trust.
    pub(crate) wanted: Vec<Found>,
    pub(crate) problems: Vec<Problem>,
}

impl OfProject {
    pub(crate) fn read(project: &Project) -> OfProject {
        let file = project.config();
        let file::Read { found, problems } = file::read(&file);
        let (harmless, wanted) = found.into_iter().partition(|found| found.key.reach == Reach::Harmless);
        OfProject { file, harmless, wanted, problems }
    }
}

/// Reads the user's file, and merges the project's settings over it.
pub(crate) fn load(user: &Path, project: OfProject, is_trusted: bool) -> Loaded {
    let mut layers = Layers::default();
    let file::Read { found, mut problems } = file::read(user);
    layers.add(Owner::User, user, found);
    layers.add(Owner::Project, &project.file, project.harmless);
    // Other people may write the project's file, so its problems are only warnings.
    problems.extend(project.problems.into_iter().map(|problem| match problem.file == project.file {
        true => Problem { is_fatal: false, ..problem },
        false => problem,
    }));
    let (wanted, ignored) =
        if is_trusted { (project.wanted, Vec::new()) } else { (Vec::new(), project.wanted) };
    layers.add(Owner::Project, &project.file, wanted);
    let settings = Settings::of(layers, None, &mut problems);
    Loaded { settings, problems, ignored }
}

impl Settings {
    /// The same settings for another agent.
    pub(crate) fn of_agent(&self, agent: &str, problems: &mut Vec<Problem>) -> Settings {
        Settings::of(self.layers.clone(), Some(agent), problems)
    }

    /// Whether the model may backtrack to checkpoints, unless the command line disables it.
    pub(crate) fn offers_backtracking(&self) -> bool {
        let is_named = |tools: &Vec<String>| tools.iter().any(|name| name.trim() == crate::config::BACKTRACK);
        self.backtracking && self.tools.as_ref().is_none_or(is_named)
    }

    fn of(layers: Layers, agent: Option<&str>, problems: &mut Vec<Problem>) -> Settings {
        let agent = agent.map(str::to_owned).or_else(|| layers.text("agent")).unwrap_or_default();
        let own = layers.of_name("agents", &agent);
        let own_text = |key: &str| own.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let text = |key: &str| own_text(key).or_else(|| layers.text(key));
        problems.extend(key_problems(&layers));
        let stores = stores::read(&layers, problems);
        let default_store = stores::default(&layers, own_text("store"), &stores, problems);
        let usual = RetryPolicy::default();
        let retry = RetryPolicy {
            max_attempts: layers.count("retry.attempts").unwrap_or(usual.max_attempts),
            max_retry_after: layers
                .count("retry.patience")
                .map_or(usual.max_retry_after, Duration::from_secs),
            ..usual
        };
        Settings {
            durability: match layers.text("durability").as_deref() {
                Some("os") => Durability::Os,
                Some("always") => Durability::Always,
                _ => Durability::Turn,
            },
            model: text("model"),
            thinking: layers
                .text("thinking")
                .and_then(|name| ThinkingLevel::parse(&name))
                .unwrap_or_default(),
            approval: layers.text("approval").and_then(|name| Mode::named(&name)).unwrap_or_default(),
            sandbox: SandboxSettings::of(&layers),
            tools: own.get("tools").and_then(texts_of).or_else(|| layers.texts("tools")),
            backtracking: layers.bool("backtracking").unwrap_or(true),
            max_steps: layers.count("max_steps").unwrap_or(osier_agent::DEFAULT_MAX_STEPS),
            summary_model: layers.text("summary_model"),
            compacting: CompactionConfig {
                automatic: layers.bool("compaction.enabled").unwrap_or(true),
                reserve: layers.count("compaction.reserve_tokens"),
                keep_recent: layers.count("compaction.keep_recent_tokens"),
            },
            restore_model_on_move: layers.bool("restore_model_on_move").unwrap_or(true),
            system_prompt: text("system_prompt"),
            append_system_prompt: text("append_system_prompt"),
            screen: Screen::of(&layers),
            retry,
            agent,
            default_store,
            stores,
            providers: providers(&layers, problems),
            layers,
        }
    }
}

/// The built-in defaults.
impl Default for Settings {
    fn default() -> Settings {
        Settings::of(Layers::default(), None, &mut Vec::new())
    }
}

fn texts_of(value: &toml::Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

/// Invalid key bindings. They are warnings: the interface works without them.
fn key_problems(layers: &Layers) -> Vec<Problem> {
    let keys = layers.sets().iter().filter(|set| set.path[0] == "keys");
    let wrong = keys.filter_map(|set| {
        let text = osier_tui::key_problem(set.path.get(1)?, set.value.as_str()?)?;
        let text = format!("{}: {text}", dotted(&set.path));
        Some(Problem { file: set.file.clone(), line: Some(set.line), text, is_fatal: false })
    });
    wrong.collect()
}

/// The values are valid one by one; errors here mean that they do not fit together.
fn providers(layers: &Layers, problems: &mut Vec<Problem>) -> BTreeMap<String, ProviderSpec> {
    let mut providers = BTreeMap::new();
    for (name, table) in layers.table("providers") {
        match table.try_into::<ProviderSpec>() {
            Ok(spec) => drop(providers.insert(name, spec)),
            Err(error) => {
                let set = layers.sets().iter().find(|set| set.path.get(1) == Some(&name));
                problems.extend(set.map(|set| Problem {
                    file: set.file.clone(),
                    line: Some(set.line),
                    text: format!("providers.{name}: {}", error.message()),
                    is_fatal: true,
                }));
            }
        }
    }
    providers
}
