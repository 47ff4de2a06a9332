//! The settings of the program: reads, checks and merges the files of the user and of the project.
//!
//! Settings that a project may not set until its folder is trusted are filtered out here, for every command.

mod file;
mod kind;
mod layers;
mod model_catalog;
mod project;
mod sandbox;
mod stores;
mod subagents;
pub mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use osier_agent::CompactionConfig;
use osier_model::{ProviderSpec, RetryPolicy, ThinkingLevel};
use osier_session::Durability;
use osier_tools::ApprovalMode;
use osier_tree::projection::outline::{OutlineFilter, OutlineStyle};
use osier_tui::state::{DoubleEscape, TurnNotification};

use crate::themes;

pub(crate) use file::MAX_SETTINGS_BYTES;
pub use file::{ParsedSetting, SettingsProblem, dotted_key};
pub use layers::{EffectiveSetting, SettingsLayers, SettingsOwner};
pub use project::Project;
pub use sandbox::{SandboxSettings, SandboxWhen};
pub use stores::{StoreLocation, StoreSpec};
pub use subagents::SubagentSettings;
use table::SettingAccess;

/// The effective settings. It has many fields because each is one setting.
#[derive(Debug, Clone)]
pub struct Settings {
    pub durability: Durability,
    /// The model from a file; `ModelCatalog::select` handles the other sources.
    pub model: Option<String>,
    pub thinking: ThinkingLevel,
    pub approval: ApprovalMode,
    pub sandbox: SandboxSettings,
    /// The tools that a model may call; `None` means all.
    pub tools: Option<Vec<String>>,
    pub backtracking: bool,
    /// Maximum number of model calls for one prompt.
    pub max_steps: u32,
    /// Writes summaries instead of the current model.
    pub summary_model: Option<String>,
    pub compacting: CompactionConfig,
    pub restore_model_on_move: bool,
    pub subagents: SubagentSettings,
    /// How many bytes of files without git a try copies.
    pub explore_copy_bytes: u64,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    pub screen: InterfaceSettings,
    pub retry: RetryPolicy,
    /// The agent that new sessions belong to.
    pub agent: String,
    /// The store of new sessions; it exists.
    pub default_store: String,
    /// More files and folders with extensions.
    pub extensions: Vec<String>,
    /// The directories that a gateway serves; `None` means the one where it was started.
    pub gateway_directories: Option<Vec<String>>,
    /// The stores in addition to the files in the home folder.
    pub stores: BTreeMap<String, StoreSpec>,
    pub providers: BTreeMap<String, ProviderSpec>,
    /// The source of each value.
    pub layers: SettingsLayers,
}

/// How the terminal interface looks and behaves.
#[derive(Debug, Clone)]
pub struct InterfaceSettings {
    /// The name of a theme, or `auto`.
    pub theme: String,
    pub double_escape: DoubleEscape,
    pub tree_filter: OutlineFilter,
    /// The tree shows the current branch before its siblings.
    pub active_first: bool,
    pub tree_style: OutlineStyle,
    pub notify: TurnNotification,
    pub ask_summary: bool,
    /// Prompts are stored in the history of all sessions.
    pub prompt_history: bool,
    pub editor: Option<String>,
    /// Key bindings by action name.
    pub keys: BTreeMap<String, String>,
}

impl InterfaceSettings {
    fn from_layers(layers: &SettingsLayers) -> InterfaceSettings {
        InterfaceSettings {
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
            tree_style: layers
                .text("tree_style")
                .and_then(|name| OutlineStyle::from_name(&name))
                .unwrap_or_default(),
            notify: match layers.text("notify").as_deref() {
                Some("off") => TurnNotification::Off,
                Some("desktop") => TurnNotification::Desktop,
                _ => TurnNotification::Bell,
            },
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
pub struct LoadedSettings {
    pub settings: Settings,
    pub problems: Vec<SettingsProblem>,
    /// The settings of the project that are ignored because it is not trusted.
    pub ignored: Vec<ParsedSetting>,
}

/// The settings of a project's file.
#[derive(Debug, Default)]
pub struct ProjectSettings {
    file: PathBuf,
    needs_no_trust: Vec<ParsedSetting>,
    /// Settings that need trust.
    pub needs_trust: Vec<ParsedSetting>,
    pub problems: Vec<SettingsProblem>,
}

impl ProjectSettings {
    pub fn read(project: &Project) -> ProjectSettings {
        let file = project.config_file();
        let file::ParsedSettings { settings: found, problems } = file::read_file(&file);
        let (needs_no_trust, wanted) =
            found.into_iter().partition(|found| found.key.access == SettingAccess::Harmless);
        ProjectSettings { file, needs_no_trust, needs_trust: wanted, problems }
    }
}

/// Reads the user's file, and merges the project's settings over it.
pub fn load_settings(user: &Path, project: ProjectSettings, is_trusted: bool) -> LoadedSettings {
    let mut layers = SettingsLayers::default();
    let file::ParsedSettings { settings: found, mut problems } = file::read_file(user);
    layers.add(SettingsOwner::User, user, found);
    layers.add(SettingsOwner::Project, &project.file, project.needs_no_trust);
    // Other people may write the project's file, so its problems are only warnings.
    problems.extend(project.problems.into_iter().map(|problem| match problem.file == project.file {
        true => SettingsProblem { is_fatal: false, ..problem },
        false => problem,
    }));
    let (wanted, ignored) =
        if is_trusted { (project.needs_trust, Vec::new()) } else { (Vec::new(), project.needs_trust) };
    layers.add(SettingsOwner::Project, &project.file, wanted);
    let settings = Settings::from_layers(layers, None, &mut problems);
    LoadedSettings { settings, problems, ignored }
}

impl Settings {
    /// The same settings for another agent.
    pub fn for_agent(&self, agent: &str, problems: &mut Vec<SettingsProblem>) -> Settings {
        Settings::from_layers(self.layers.clone(), Some(agent), problems)
    }

    /// The agent of new sessions, and all others that the settings name.
    pub fn agent_names(&self) -> Vec<String> {
        let others = self.layers.table("agents").into_iter().map(|(name, _)| name);
        std::iter::once(self.agent.clone()).chain(others.filter(|name| *name != self.agent)).collect()
    }

    /// Whether the model may backtrack to checkpoints, unless the command line disables it.
    pub fn offers_backtracking(&self) -> bool {
        let is_named = |tools: &Vec<String>| tools.iter().any(|name| name.trim() == crate::names::BACKTRACK);
        self.backtracking && self.tools.as_ref().is_none_or(is_named)
    }

    fn from_layers(
        layers: SettingsLayers,
        agent: Option<&str>,
        problems: &mut Vec<SettingsProblem>,
    ) -> Settings {
        let agent = agent.map(str::to_owned).or_else(|| layers.text("agent")).unwrap_or_default();
        let own = layers.named_table("agents", &agent);
        let own_text = |key: &str| own.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let text = |key: &str| own_text(key).or_else(|| layers.text(key));
        problems.extend(key_binding_problems(&layers));
        let stores = stores::parse_stores(&layers, problems);
        let default_store = stores::default_store(&layers, own_text("store"), &stores, problems);
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
            approval: layers
                .text("approval")
                .and_then(|name| ApprovalMode::from_name(&name))
                .unwrap_or_default(),
            sandbox: SandboxSettings::from_layers(&layers),
            tools: own.get("tools").and_then(string_list).or_else(|| layers.texts("tools")),
            backtracking: layers.bool("backtracking").unwrap_or(true),
            max_steps: layers.count("max_steps").unwrap_or(osier_agent::DEFAULT_MAX_STEPS),
            summary_model: layers.text("summary_model"),
            compacting: CompactionConfig {
                automatic: layers.bool("compaction.enabled").unwrap_or(true),
                reserve: layers.count("compaction.reserve_tokens"),
                keep_recent: layers.count("compaction.keep_recent_tokens"),
            },
            restore_model_on_move: layers.bool("restore_model_on_move").unwrap_or(true),
            subagents: SubagentSettings::from_layers(&layers),
            explore_copy_bytes: layers.count::<u64>("explore.max_copy_mb").unwrap_or(200) << 20,
            system_prompt: text("system_prompt"),
            append_system_prompt: text("append_system_prompt"),
            screen: InterfaceSettings::from_layers(&layers),
            retry,
            agent,
            default_store,
            extensions: layers.texts("extensions").unwrap_or_default(),
            gateway_directories: layers.texts("gateway.directories"),
            stores,
            providers: providers(&layers, problems),
            layers,
        }
    }
}

/// The built-in defaults.
impl Default for Settings {
    fn default() -> Settings {
        Settings::from_layers(SettingsLayers::default(), None, &mut Vec::new())
    }
}

fn string_list(value: &toml::Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

/// Invalid key bindings. They are warnings: the interface works without them.
fn key_binding_problems(layers: &SettingsLayers) -> Vec<SettingsProblem> {
    let keys = layers.settings().iter().filter(|set| set.path[0] == "keys");
    let wrong = keys.filter_map(|set| {
        let text = osier_tui::key_problem(set.path.get(1)?, set.value.as_str()?)?;
        let text = format!("{}: {text}", dotted_key(&set.path));
        Some(SettingsProblem { file: set.file.clone(), line: Some(set.line), text, is_fatal: false })
    });
    wrong.collect()
}

/// The values are valid one by one; errors here mean that they do not fit together.
fn providers(layers: &SettingsLayers, problems: &mut Vec<SettingsProblem>) -> BTreeMap<String, ProviderSpec> {
    let mut providers = BTreeMap::new();
    for (name, table) in layers.table("providers") {
        match table.try_into::<ProviderSpec>() {
            Ok(spec) => drop(providers.insert(name, spec)),
            Err(error) => {
                let set = layers.settings().iter().find(|set| set.path.get(1) == Some(&name));
                problems.extend(set.map(|set| SettingsProblem {
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
