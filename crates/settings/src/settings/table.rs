//! The list of all settings: name, type, default, and whether a project may set it. Error messages, `osier config` and
//! docs/settings.md use this list.

use super::kind::SettingKind;

/// The placeholder in a key for a name that the user chooses.
pub const NAME_PLACEHOLDER: &str = "NAME";

/// One setting.
#[derive(Debug)]
pub struct SettingKey {
    pub name: &'static str,
    pub kind: SettingKind,
    /// As it is written in a file; empty if there is none.
    pub default: &'static str,
    pub help: &'static str,
    pub access: SettingAccess,
}

/// Whether a project may set a key, and whether its value may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingAccess {
    /// Any project may set it: it can neither send nor run anything.
    Harmless,
    /// A project may set it once its folder is trusted.
    Trusted,
    /// The same, and its value is never shown.
    Secret,
}

use SettingAccess::{Harmless, Secret, Trusted};
use SettingKind::{
    Bool, Choice, Compat, Count, Dollars, Models, Ports, Price, Text, TextList, TextOrList, Thinking,
};

pub const THINKING_LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const API_NAMES: &[&str] =
    &["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"];
const TOKENS: SettingKind = Count { min: 1, max: 1_000_000_000 };
const SECONDS: SettingKind = Count { min: 1, max: 86_400 };
/// A lease is renewed three times before it expires, which takes a while itself.
const LEASE: SettingKind = Count { min: 3, max: 3600 };

const fn key(
    name: &'static str,
    kind: SettingKind,
    default: &'static str,
    access: SettingAccess,
    help: &'static str,
) -> SettingKey {
    SettingKey { name, kind, default, help, access }
}

/// All settings, in display order.
#[rustfmt::skip]
pub static SETTING_KEYS: &[SettingKey] = &[
    key("model", Text, "", Trusted, "the model to use, as `provider/id`"),
    key("thinking", Choice(THINKING_LEVELS), "\"medium\"", Harmless, "the thinking level, for models that support it"),
    key("approval", Choice(&["default", "autoEdit", "sandbox", "yolo"]), "\"default\"", Trusted, "what the model may do without asking, in new sessions"),
    key("tools", TextList, "", Trusted, "the tools a model may call; all by default"),
    key("backtracking", Bool, "true", Harmless, "whether a model sees checkpoints and may backtrack to them"),
    key("max_steps", Count { min: 1, max: 1_000_000 }, "200", Trusted, "maximum number of model calls for one prompt; then the terminal asks whether to continue, and -p exits"),
    key("summary_model", Text, "", Trusted, "the model that writes summaries, as `provider/id`; by default the current model"),
    key("compaction.enabled", Bool, "true", Harmless, "whether a long conversation is compacted automatically"),
    key("compaction.reserve_tokens", TOKENS, "", Harmless, "tokens of the model's context window to keep free; by default depends on its size"),
    key("compaction.keep_recent_tokens", TOKENS, "", Harmless, "tokens of recent messages that a compaction keeps; at most 20000 by default"),
    key("restore_model_on_move", Bool, "true", Harmless, "whether a move restores the model and thinking level of the new path"),
    key("subagents.enabled", Bool, "true", Trusted, "whether a model may delegate tasks to other agents"),
    key("subagents.max_parallel", Count { min: 1, max: 64 }, "8", Trusted, "maximum number of tasks of one agent that run at the same time"),
    key("subagents.max_depth", Count { min: 1, max: 8 }, "1", Trusted, "how deep tasks may be nested: with 1, an agent that does a task cannot delegate"),
    key("subagents.max_turns", Count { min: 1, max: 1_000_000 }, "100", Trusted, "maximum number of model calls for one task"),
    key("subagents.max_tokens", TOKENS, "", Trusted, "maximum number of tokens for one task"),
    key("subagents.max_seconds", SECONDS, "1800", Trusted, "maximum duration of one task in seconds"),
    key("subagents.max_cost", Dollars, "", Trusted, "maximum cost of one task in dollars"),
    key("explore.max_copy_mb", Count { min: 1, max: 1_000_000 }, "200", Trusted, "maximum size of files without git that tries of a prompt copy, in megabytes"),
    key("system_prompt", Text, "", Trusted, "replaces the built-in system prompt"),
    key("append_system_prompt", Text, "", Trusted, "text appended to the system prompt"),
    key("theme", Text, "\"auto\"", Harmless, "the color theme: auto, a built-in theme, or themes/NAME.toml in Osier's home folder"),
    key("double_escape", Choice(&["tree", "fork", "none"]), "\"tree\"", Harmless, "what pressing Escape twice opens"),
    key("tree_filter", Choice(&["default", "no-tools", "user-only", "labeled-only", "all"]), "\"default\"", Harmless, "which entries the tree shows initially"),
    key("tree_order", Choice(&["oldest", "active"]), "\"oldest\"", Harmless, "which branch the tree shows first: the oldest, or the active one"),
    key("tree_style", Choice(&["flat", "nested"]), "\"flat\"", Harmless, "how the tree is indented: only branches, or every generation"),
    key("notify", Choice(&["off", "bell", "desktop"]), "\"bell\"", Harmless, "how the terminal tells you that a turn has ended or waits for you while you work in another window"),
    key("ask_summary", Bool, "true", Harmless, "whether a move in the terminal asks to summarize the branch you are leaving"),
    key("prompt_history", Bool, "true", Harmless, "whether prompts are stored in `history.jsonl`, for Up and Ctrl+R in all sessions"),
    key("editor", Text, "", Trusted, "the command of your external editor; by default $VISUAL or $EDITOR"),
    key("durability", Choice(&["os", "turn", "always"]), "\"turn\"", Harmless, "when entries are synced to disk"),
    key("agent", Text, "\"main\"", Trusted, "the agent that new sessions belong to"),
    key("default_store", Text, "\"file\"", Trusted, "the store of new sessions"),
    key("extensions", TextList, "", Trusted, "more extensions: files, or folders with one"),
    key("gateway.directories", TextList, "", Trusted, "the directories whose sessions `osier serve` can open; by default the one where it was started"),
    key("retry.attempts", Count { min: 1, max: 20 }, "4", Trusted, "maximum number of attempts when a provider fails temporarily or breaks off a reply"),
    key("retry.patience", SECONDS, "60", Trusted, "the longest wait, in seconds, that a provider may request"),
    key("sandbox.when", Choice(&["always", "mode", "never"]), "\"always\"", Trusted, "when commands run in the sandbox: in every approval mode except yolo, only in the mode `sandbox`, or never"),
    key("sandbox.user_commands", Bool, "false", Trusted, "whether commands that you type after `!` run in the sandbox too"),
    key("sandbox.write", TextList, "", Trusted, "folders outside the project that commands in the sandbox may write to"),
    key("sandbox.hide", TextList, "", Trusted, "additional files and folders that commands in the sandbox cannot read"),
    key("sandbox.show", TextList, "", Trusted, "credential folders, such as `~/.ssh`, that commands in the sandbox may read anyway"),
    key("sandbox.network", Choice(&["off", "ports", "all"]), "\"off\"", Trusted, "network access of commands in the sandbox"),
    key("sandbox.ports", Ports, "", Trusted, "the TCP ports for `sandbox.network = \"ports\"`; 53 allows UDP too"),
    key("sandbox.unix_sockets", Bool, "false", Trusted, "whether commands in the sandbox may use Unix sockets, such as Docker's"),
    key("keys.NAME", Text, "", Trusted, "the keys for an action in the terminal, separated by spaces"),
    key("agents.NAME.store", Text, "", Trusted, "the store of its new sessions"),
    key("agents.NAME.model", Text, "", Trusted, "its model, as `provider/id`"),
    key("agents.NAME.tools", TextList, "", Trusted, "the tools it may call"),
    key("agents.NAME.system_prompt", Text, "", Trusted, "its system prompt, instead of the built-in one"),
    key("agents.NAME.append_system_prompt", Text, "", Trusted, "text appended to its system prompt"),
    key("stores.NAME.url", Text, "", Trusted, "the url of a database: `mysql://USER@HOST/DATABASE`"),
    key("stores.NAME.folder", Text, "", Trusted, "a folder of session files, instead of a url"),
    key("stores.NAME.password_env", Text, "", Trusted, "the environment variable that contains the password of the database"),
    key("stores.NAME.password_file", Text, "", Trusted, "a file with the password, readable only by you"),
    key("stores.NAME.password_command", Text, "", Secret, "a shell command that prints the password"),
    key("stores.NAME.timeout", SECONDS, "5", Trusted, "seconds to wait for a connection to the database"),
    key("stores.NAME.lease", LEASE, "30", Trusted, "seconds until a session in the database is free after the process that used it was killed"),
    key("providers.NAME.name", Text, "", Trusted, "its display name"),
    key("providers.NAME.api", Choice(API_NAMES), "\"openai-completions\"", Trusted, "the protocol it uses"),
    key("providers.NAME.base_url", Text, "", Trusted, "the base url of its API"),
    key("providers.NAME.api_key_env", TextOrList, "", Trusted, "the environment variables that may contain its key"),
    key("providers.NAME.api_key_command", Text, "", Secret, "a shell command that prints its key"),
    key("providers.NAME.api_key_file", Text, "", Trusted, "a file with its key, readable only by you"),
    key("providers.NAME.headers.NAME", Text, "", Secret, "an HTTP header to send with every request"),
    key("providers.NAME.any_model", Bool, "true", Trusted, "whether models that are not in any list may be used"),
    key("providers.NAME.answer_timeout", SECONDS, "600", Trusted, "seconds to wait for the start of a reply"),
    key("providers.NAME.silence_timeout", SECONDS, "300", Trusted, "seconds to wait between two pieces of a reply"),
    key("providers.NAME.compat", Compat, "", Trusted, "its differences from other providers with the same protocol"),
    key("providers.NAME.models", Models, "", Trusted, "its models, as `[[providers.NAME.models]]`"),
    key("providers.NAME.models.id", Text, "", Trusted, "its id at the provider"),
    key("providers.NAME.models.name", Text, "", Trusted, "its display name"),
    key("providers.NAME.models.api", Choice(API_NAMES), "", Trusted, "its protocol, if it differs from the provider's"),
    key("providers.NAME.models.context_window", TOKENS, "", Trusted, "size of its context window in tokens"),
    key("providers.NAME.models.max_output", TOKENS, "", Trusted, "maximum number of tokens in a reply"),
    key("providers.NAME.models.price", Price, "", Trusted, "price in dollars per million tokens: `input`, `output`, `cache_read`, `cache_write`"),
    key("providers.NAME.models.tools", Bool, "true", Trusted, "whether it can call tools"),
    key("providers.NAME.models.images", Bool, "false", Trusted, "whether it accepts images"),
    key("providers.NAME.models.thinking", Thinking, "false", Trusted, "whether it supports thinking, or `{ style, levels, off }`"),
    key("providers.NAME.models.compat", Compat, "", Trusted, "the same as for the provider, for this model"),
];

/// The result of looking up a key.
#[derive(Debug)]
pub enum KeyLookup {
    Key(&'static SettingKey),
    /// A prefix of other keys.
    Table,
    /// Unknown; with the names that are valid in place of its last part.
    Unknown(Vec<&'static str>),
}

pub fn look_up_key(path: &[String]) -> KeyLookup {
    let words = |key: &SettingKey| key.name.split('.').collect::<Vec<_>>();
    let fits = |pattern: &[&str], path: &[String]| {
        pattern.len() >= path.len()
            && pattern.iter().zip(path).all(|(pattern, word)| *pattern == NAME_PLACEHOLDER || pattern == word)
    };
    if let Some(key) =
        SETTING_KEYS.iter().find(|key| words(key).len() == path.len() && fits(&words(key), path))
    {
        return KeyLookup::Key(key);
    }
    if SETTING_KEYS.iter().any(|key| fits(&words(key), path)) {
        return KeyLookup::Table;
    }
    let above = path.len().saturating_sub(1);
    let siblings = SETTING_KEYS.iter().map(words).filter(|words| fits(words, &path[..above]));
    let mut names: Vec<&str> = siblings.filter_map(|words| words.get(above).copied()).collect();
    names.dedup();
    KeyLookup::Unknown(names)
}

/// The name most similar to a word, if one is similar enough.
pub fn closest_name<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let similarity = |name: &&str| strsim::jaro_winkler(word, name);
    let near = names.iter().copied().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    near.filter(|name| similarity(name) > 0.8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_model::{Api, ProviderSpec, ThinkingLevel};
    use osier_tools::ApprovalMode;

    fn choices(name: &str) -> Vec<&'static str> {
        let key = SETTING_KEYS.iter().find(|key| key.name == name).unwrap();
        match key.kind {
            Choice(names) => names.to_vec(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn choices_match_the_types_of_the_other_crates() {
        assert_eq!(choices("thinking"), ThinkingLevel::ALL.map(ThinkingLevel::name));
        assert_eq!(choices("approval"), ApprovalMode::ALL.map(ApprovalMode::name));
        for name in choices("providers.NAME.api") {
            let api: Api = toml::Value::from(name).try_into().unwrap();
            assert_eq!(api.name(), name);
        }
    }

    #[test]
    fn every_default_is_a_valid_value() {
        for key in SETTING_KEYS.iter().filter(|key| !key.default.is_empty()) {
            let value = key.default_value().unwrap_or_else(|| panic!("{}: invalid TOML", key.name));
            assert_eq!(key.kind.check(&value), None, "{}", key.name);
        }
    }

    /// The keys of a provider are described here and parsed in another crate.
    #[test]
    fn every_key_of_a_provider_is_parsed() {
        let words: Vec<Vec<&str>> = SETTING_KEYS.iter().map(|key| key.name.split('.').collect()).collect();
        let spec = |keys: Vec<&str>| {
            let table: toml::Table = keys.iter().map(|key| ((*key).to_owned(), sample(key))).collect();
            table.try_into::<ProviderSpec>().unwrap()
        };
        let of_provider = words.iter().filter(|words| words.len() == 3 && words[0] == "providers");
        assert_eq!(spec(of_provider.map(|words| words[2]).collect()).unknown.keys().next(), None);
        let of_model = words.iter().filter(|words| words.len() == 4 && words[2] == "models");
        let model: toml::Table =
            of_model.map(|words| (words[3].to_owned(), sample(&format!("models.{}", words[3])))).collect();
        let model: osier_model::ModelSpec = model.try_into().unwrap();
        assert_eq!(model.unknown.keys().next(), None);
    }

    fn sample(key: &str) -> toml::Value {
        let text = match key {
            "api" | "models.api" => "\"openai-completions\"",
            "any_model" | "models.tools" | "models.images" | "models.thinking" => "true",
            "answer_timeout" | "silence_timeout" | "models.context_window" | "models.max_output" => "1",
            "compat" | "headers" | "models.compat" | "models.price" => "{}",
            "models" => "[]",
            _ => "\"text\"",
        };
        toml::from_str::<toml::Table>(&format!("v = {text}")).unwrap().remove("v").unwrap()
    }

    #[test]
    fn untrusted_projects_can_set_only_harmless_keys() {
        let needs_no_trust: Vec<&str> =
            SETTING_KEYS.iter().filter(|key| key.access == Harmless).map(|key| key.name).collect();
        assert_eq!(
            needs_no_trust,
            [
                "thinking",
                "backtracking",
                "compaction.enabled",
                "compaction.reserve_tokens",
                "compaction.keep_recent_tokens",
                "restore_model_on_move",
                "theme",
                "double_escape",
                "tree_filter",
                "tree_order",
                "tree_style",
                "notify",
                "ask_summary",
                "prompt_history",
                "durability",
            ]
        );
    }
}
