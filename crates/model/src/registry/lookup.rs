//! Finds the model somebody means. A name that could mean two things is refused, never guessed.

use std::sync::Arc;

use super::Registry;
use crate::request::ModelInfo;

/// Why a name means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("no model {name}; {}`osier models` lists what there is", did_you_mean(nearest))]
    Unknown { name: String, nearest: Vec<String> },
    #[error("{name} can mean {}; say which", candidates.join(" or "))]
    Ambiguous { name: String, candidates: Vec<String> },
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("did you mean {}? ", nearest.join(" or ")) }
}

pub(super) fn find(registry: &Registry, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
    let name = name.trim();
    if let Some(model) = registry.models.iter().find(|model| model.full_name() == name) {
        return Ok(model.clone());
    }
    // Different readings of the same name, the strictest first; the first that fits anything decides.
    let lower = name.to_lowercase();
    let ids = |is_meant: &dyn Fn(&str) -> bool| -> Vec<&Arc<ModelInfo>> {
        registry.models.iter().filter(|model| is_meant(&model.id.to_lowercase())).collect()
    };
    for meant in [ids(&|id| id == lower), ids(&|id| ends_with_words(id, &lower))] {
        match meant.as_slice() {
            [] => {}
            [model] => return Ok((*model).clone()),
            several => {
                let candidates = several.iter().map(|model| model.full_name()).collect();
                return Err(LookupError::Ambiguous { name: name.to_owned(), candidates });
            }
        }
    }
    unlisted(registry, name)
        .ok_or_else(|| LookupError::Unknown { name: name.to_owned(), nearest: nearest(registry, name) })
}

/// Whether `id` ends with `end`, and a word begins there.
fn ends_with_words(id: &str, end: &str) -> bool {
    let before = id.strip_suffix(end).filter(|_| !end.is_empty());
    before.is_some_and(|before| before.ends_with(['-', '/', ':', '.', '_', ' ']))
}

/// A model that only its provider knows, unless the name looks like a slip of the pen.
fn unlisted(registry: &Registry, name: &str) -> Option<Arc<ModelInfo>> {
    let (provider, id) = name.split_once('/').filter(|(_, id)| !id.is_empty())?;
    let provider = registry.providers.get(provider).filter(|provider| provider.any_model)?;
    let same_letters = |known: &str| letters(known) == letters(id);
    let is_slip =
        registry.models.iter().any(|model| model.provider == provider.id && same_letters(&model.id));
    (!is_slip).then(|| Arc::new(registry.assumed(provider, id)))
}

fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn nearest(registry: &Registry, name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let id = name.rsplit('/').next().unwrap_or_default();
    let likeness = |model: &ModelInfo| {
        let full = strsim::jaro_winkler(&name, &model.full_name());
        let whole = full.max(strsim::jaro_winkler(id, &model.id));
        whole.max(if model.id.contains(id) { 0.9 } else { a_word(id, &model.id) })
    };
    let mut near: Vec<(f64, String)> =
        registry.models.iter().map(|model| (likeness(model), model.full_name())).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().filter(|(likeness, _)| *likeness > 0.75).map(|(_, name)| name).take(3).collect()
}

/// How much a name is like one word of an id: people say `opus` for a model that is called much longer. Numbers are no words.
fn a_word(name: &str, id: &str) -> f64 {
    let words = id.split(['-', '/', ':', '.', '_', ' ']).filter(|word| word.len() >= 4);
    let likeness = words.map(|word| strsim::jaro_winkler(name, word)).fold(0.0, f64::max);
    if likeness > 0.85 { 0.95 * likeness } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> Result<String, String> {
        Registry::built_in().find(name).map(|model| model.full_name()).map_err(|error| error.to_string())
    }

    #[test]
    fn full_names_ids_and_ends_of_ids() {
        assert_eq!(find("openai/gpt-5.5"), Ok("openai/gpt-5.5".to_owned()));
        assert_eq!(find("gpt-5.5"), Ok("openai/gpt-5.5".to_owned()));
        assert_eq!(find("GPT-6-Astra"), Ok("openai/gpt-6-astra".to_owned()));
        assert_eq!(find("sonnet-5-5"), Ok("anthropic/claude-sonnet-5-5".to_owned()));
        assert_eq!(find("offline"), Ok("offline/offline".to_owned()));
    }

    #[test]
    fn what_can_mean_two_things_is_refused() {
        assert_eq!(find("5-5").map_err(|error| error.len() > 40), Err(true));
        assert!(find("flash").unwrap_err().ends_with("; say which"));
    }

    #[test]
    fn slips_get_suggestions() {
        assert_eq!(
            find("anthropic/claude-opus-5.5").unwrap_err(),
            "no model anthropic/claude-opus-5.5; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-sonnet-5-5? `osier models` lists what there is"
        );
        assert!(find("claude-opus-55").unwrap_err().contains("did you mean anthropic/claude-opus-5-5"));
        assert_eq!(find("zzz"), Err("no model zzz; `osier models` lists what there is".to_owned()));
        assert!(find("offline/other").is_err());
        for (slip, meant) in [("opuss", "opus-5-5"), ("sonett", "sonnet-5-5"), ("Haikku", "haiku-5-5")] {
            let told = find(slip).unwrap_err();
            assert!(
                told.starts_with(&format!("no model {slip}; did you mean anthropic/claude-{meant}")),
                "{told}"
            );
        }
    }
}
