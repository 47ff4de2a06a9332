//! Every setting there is, in one list: its name, what it may be, its default, and who may set it. Errors, `osier config`
//! and the page on settings are made from it.

use super::kind::Kind;

/// Stands in a key for a name that people choose themselves.
pub(crate) const NAME: &str = "NAME";

/// One setting.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As it would be written in a file; empty if there is none.
    pub(crate) default: &'static str,
    pub(crate) help: &'static str,
    pub(crate) reach: Reach,
}

/// Who may set a key, and who may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A project's file may set it, whoever wrote that file: it can neither send nor run anything.
    Harmless,
    /// A project's file may set it once its folder is trusted.
    Trusted,
    /// The same, and its value is never shown.
    Secret,
}

use Kind::{Bool, Choice, Compat, Count, Models, Ports, Price, Text, TextOrTexts, Texts, Thinking};
use Reach::{Harmless, Secret, Trusted};

pub(crate) const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const APIS: &[&str] =
    &["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"];
const TOKENS: Kind = Count { least: 1, most: 1_000_000_000 };
const SECONDS: Kind = Count { least: 1, most: 86_400 };

const fn key(name: &'static str, kind: Kind, default: &'static str, reach: Reach, help: &'static str) -> Key {
    Key { name, kind, default, help, reach }
}

/// See the module. In the order in which they are shown.
#[rustfmt::skip]
pub(crate) static KEYS: &[Key] = &[
    key("model", Text, "", Trusted, "the model to use, as `provider/id`"),
    key("thinking", Choice(LEVELS), "\"medium\"", Harmless, "how hard a model is asked to think, if it can"),
    key("approval", Choice(&["default", "autoEdit", "sandbox", "yolo"]), "\"default\"", Trusted, "what may happen without asking, in new sessions"),
    key("tools", Texts, "", Trusted, "the tools a model may call; all of them without this"),
    key("backtracking", Bool, "true", Harmless, "whether a model may return to a checkpoint, and sees them"),
    key("max_steps", Count { least: 1, most: 1_000_000 }, "200", Trusted, "model calls for one prompt; then the terminal asks whether to continue, and -p ends"),
    key("summary_model", Text, "", Trusted, "writes summaries instead of the model in use, as `provider/id`"),
    key("compaction.enabled", Bool, "true", Harmless, "whether a long conversation is compacted by itself"),
    key("compaction.reserve_tokens", TOKENS, "", Harmless, "how much of a model's window stays free; by its size without this"),
    key("compaction.keep_recent_tokens", TOKENS, "", Harmless, "how much a compaction keeps as it is; at most 20000 without this"),
    key("restore_model_on_move", Bool, "true", Harmless, "after a move, whether model and thinking are those of the new path"),
    key("system_prompt", Text, "", Trusted, "stands in the place of the built-in system prompt"),
    key("append_system_prompt", Text, "", Trusted, "is added to the system prompt"),
    key("theme", Text, "\"auto\"", Harmless, "the colors of the screen: auto, a built-in theme, or themes/NAME.toml in Osier's home folder"),
    key("double_escape", Choice(&["tree", "fork", "none"]), "\"tree\"", Harmless, "what Escape opens when it is pressed twice"),
    key("tree_filter", Choice(&["default", "no-tools", "user-only", "labeled-only", "all"]), "\"default\"", Harmless, "which entries the tree shows at first"),
    key("tree_order", Choice(&["oldest", "active"]), "\"oldest\"", Harmless, "which of several branches the tree shows first: the oldest, or yours"),
    key("ask_summary", Bool, "true", Harmless, "whether a move on the screen asks about a summary of what it leaves"),
    key("prompt_history", Bool, "true", Harmless, "whether what you type is kept in `history.jsonl`, for Up and Ctrl+R in all sessions"),
    key("editor", Text, "", Trusted, "your own editor, as a command; $VISUAL or $EDITOR without this"),
    key("durability", Choice(&["os", "turn", "always"]), "\"turn\"", Harmless, "when entries are synced to the disk"),
    key("agent", Text, "\"main\"", Trusted, "the agent that new sessions belong to"),
    key("default_store", Text, "\"file\"", Trusted, "the store of new sessions"),
    key("retry.attempts", Count { least: 1, most: 20 }, "4", Trusted, "tries in all, when a provider fails for a moment or breaks off a reply"),
    key("retry.patience", SECONDS, "60", Trusted, "the longest wait, in seconds, that a provider may ask for"),
    key("sandbox.when", Choice(&["always", "mode", "never"]), "\"always\"", Trusted, "when commands run in the sandbox: in every approval mode but yolo, in the mode `sandbox` only, or never"),
    key("sandbox.user_commands", Bool, "false", Trusted, "whether commands that you type behind `!` run in the sandbox too"),
    key("sandbox.write", Texts, "", Trusted, "folders outside the project that commands in the sandbox may write to"),
    key("sandbox.hide", Texts, "", Trusted, "more files and folders that commands in the sandbox cannot read"),
    key("sandbox.show", Texts, "", Trusted, "usual places of credentials, such as `~/.ssh`, that commands in the sandbox may read all the same"),
    key("sandbox.network", Choice(&["off", "ports", "all"]), "\"off\"", Trusted, "what commands in the sandbox may do on the network"),
    key("sandbox.ports", Ports, "", Trusted, "the TCP ports for `sandbox.network = \"ports\"`; 53 allows UDP too"),
    key("sandbox.unix_sockets", Bool, "false", Trusted, "whether commands in the sandbox may use Unix sockets, such as Docker's"),
    key("keys.NAME", Text, "", Trusted, "another key for something on the screen; several with blanks between them"),
    key("agents.NAME.store", Text, "", Trusted, "the store of its new sessions"),
    key("agents.NAME.model", Text, "", Trusted, "its model, as `provider/id`"),
    key("agents.NAME.tools", Texts, "", Trusted, "the tools it may call"),
    key("agents.NAME.system_prompt", Text, "", Trusted, "its system prompt, instead of the built-in one"),
    key("agents.NAME.append_system_prompt", Text, "", Trusted, "is added to its system prompt"),
    key("stores.NAME.url", Text, "", Trusted, "a database, as `mysql://USER@HOST/DATABASE`"),
    key("stores.NAME.folder", Text, "", Trusted, "or a folder of session files"),
    key("stores.NAME.password_env", Text, "", Trusted, "the variable that holds the password of the database"),
    key("stores.NAME.password_file", Text, "", Trusted, "a file with the password, readable by you alone"),
    key("stores.NAME.password_command", Text, "", Secret, "a shell command that prints the password"),
    key("stores.NAME.timeout", SECONDS, "5", Trusted, "seconds to wait for a connection to the database"),
    key("providers.NAME.name", Text, "", Trusted, "how people call it"),
    key("providers.NAME.api", Choice(APIS), "\"openai-completions\"", Trusted, "the protocol it speaks"),
    key("providers.NAME.base_url", Text, "", Trusted, "its address"),
    key("providers.NAME.api_key_env", TextOrTexts, "", Trusted, "the variable, or variables, that may hold its key"),
    key("providers.NAME.api_key_command", Text, "", Secret, "a shell command that prints its key"),
    key("providers.NAME.api_key_file", Text, "", Trusted, "a file with its key, readable by you alone"),
    key("providers.NAME.headers.NAME", Text, "", Secret, "sent with every request"),
    key("providers.NAME.any_model", Bool, "true", Trusted, "whether models that no list has may be asked for"),
    key("providers.NAME.answer_timeout", SECONDS, "600", Trusted, "seconds to wait for the beginning of an answer"),
    key("providers.NAME.silence_timeout", SECONDS, "300", Trusted, "seconds to wait between two pieces of an answer"),
    key("providers.NAME.compat", Compat, "", Trusted, "what sets it apart from others that speak its protocol"),
    key("providers.NAME.models", Models, "", Trusted, "its models, as `[[providers.NAME.models]]`"),
    key("providers.NAME.models.id", Text, "", Trusted, "the name it has there"),
    key("providers.NAME.models.name", Text, "", Trusted, "how people call it"),
    key("providers.NAME.models.api", Choice(APIS), "", Trusted, "its protocol, if not that of its provider"),
    key("providers.NAME.models.context_window", TOKENS, "", Trusted, "tokens that fit, question and answer together"),
    key("providers.NAME.models.max_output", TOKENS, "", Trusted, "tokens of the longest answer"),
    key("providers.NAME.models.price", Price, "", Trusted, "dollars per million tokens: `input`, `output`, `cache_read`, `cache_write`"),
    key("providers.NAME.models.tools", Bool, "true", Trusted, "whether it can call tools"),
    key("providers.NAME.models.images", Bool, "false", Trusted, "whether it sees images"),
    key("providers.NAME.models.thinking", Thinking, "false", Trusted, "whether it can think, or `{ style, levels, off }`"),
    key("providers.NAME.models.compat", Compat, "", Trusted, "the same, for this model"),
];

/// What a path of words means among the keys.
#[derive(Debug)]
pub(crate) enum Meaning {
    Key(&'static Key),
    /// Other keys begin with it.
    Table,
    /// No key; the names that could stand in the place of its last word.
    Unknown(Vec<&'static str>),
}

pub(crate) fn meaning(path: &[String]) -> Meaning {
    let words = |key: &Key| key.name.split('.').collect::<Vec<_>>();
    let fits = |pattern: &[&str], path: &[String]| {
        pattern.len() >= path.len()
            && pattern.iter().zip(path).all(|(pattern, word)| *pattern == NAME || pattern == word)
    };
    if let Some(key) = KEYS.iter().find(|key| words(key).len() == path.len() && fits(&words(key), path)) {
        return Meaning::Key(key);
    }
    if KEYS.iter().any(|key| fits(&words(key), path)) {
        return Meaning::Table;
    }
    let above = path.len().saturating_sub(1);
    let siblings = KEYS.iter().map(words).filter(|words| fits(words, &path[..above]));
    let mut names: Vec<&str> = siblings.filter_map(|words| words.get(above).copied()).collect();
    names.dedup();
    Meaning::Unknown(names)
}

/// The name most like a word, if one is like it at all.
pub(crate) fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let likeness = |name: &&str| strsim::jaro_winkler(word, name);
    let near = names.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    near.filter(|name| likeness(name) > 0.8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_model::{Api, ProviderSpec, ThinkingLevel};
    use osier_tools::Mode;

    fn choices(name: &str) -> Vec<&'static str> {
        let key = KEYS.iter().find(|key| key.name == name).unwrap();
        match key.kind {
            Choice(names) => names.to_vec(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn choices_are_those_that_the_crates_know() {
        assert_eq!(choices("thinking"), ThinkingLevel::ALL.map(ThinkingLevel::name));
        assert_eq!(choices("approval"), Mode::ALL.map(Mode::name));
        for name in choices("providers.NAME.api") {
            let api: Api = toml::Value::from(name).try_into().unwrap();
            assert_eq!(api.name(), name);
        }
    }

    #[test]
    fn a_default_is_something_the_key_may_be() {
        for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
            let value = key.default_value().unwrap_or_else(|| panic!("{}: no TOML", key.name));
            assert_eq!(key.kind.objection(&value), None, "{}", key.name);
        }
    }

    /// The keys of a provider are described here and read in another crate.
    #[test]
    fn every_key_of_a_provider_is_read_by_somebody() {
        let words: Vec<Vec<&str>> = KEYS.iter().map(|key| key.name.split('.').collect()).collect();
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
    fn what_only_the_user_may_set_is_everything_that_sends_runs_or_allows() {
        let harmless: Vec<&str> =
            KEYS.iter().filter(|key| key.reach == Harmless).map(|key| key.name).collect();
        assert_eq!(
            harmless,
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
                "ask_summary",
                "prompt_history",
                "durability",
            ]
        );
    }
}
