//! Finds a model by name. An ambiguous name is an error.

use std::sync::Arc;

use super::Registry;
use crate::request::ModelInfo;

/// Why a name does not identify a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("unknown model {name}{}", did_you_mean(nearest))]
    Unknown { name: String, nearest: Vec<String> },
    #[error("{name} matches more than one model: {}; use the full name", candidates.join(", "))]
    Ambiguous { name: String, candidates: Vec<String> },
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) }
}

pub(super) fn find(registry: &Registry, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
    let name = name.trim();
    if let Some(model) = registry.models.iter().find(|model| model.full_name() == name) {
        return Ok(model.clone());
    }
    // The strictest match comes first; the first one with any result decides.
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
    find_unlisted(registry, name)
        .ok_or_else(|| LookupError::Unknown { name: name.to_owned(), nearest: nearest_names(registry, name) })
}

/// Whether `id` ends with `end`, at a word boundary.
fn ends_with_words(id: &str, end: &str) -> bool {
    let before = id.strip_suffix(end).filter(|_| !end.is_empty());
    before.is_some_and(|before| before.ends_with(['-', '/', ':', '.', '_', ' ']))
}

/// An unlisted model of a provider that accepts any name, unless the name looks like a typo of a listed model.
fn find_unlisted(registry: &Registry, name: &str) -> Option<Arc<ModelInfo>> {
    let (provider, id) = name.split_once('/').filter(|(_, id)| !id.is_empty())?;
    let provider = registry.providers.get(provider).filter(|provider| provider.any_model)?;
    let same_letters = |known: &str| letters(known) == letters(id);
    let is_typo =
        registry.models.iter().any(|model| model.provider == provider.id && same_letters(&model.id));
    (!is_typo).then(|| Arc::new(registry.assume_model(provider, id)))
}

fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn nearest_names(registry: &Registry, name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let id = name.rsplit('/').next().unwrap_or_default();
    let similarity = |model: &ModelInfo| {
        let full = strsim::jaro_winkler(&name, &model.full_name());
        let best = full.max(strsim::jaro_winkler(id, &model.id));
        best.max(if model.id.contains(id) { 0.9 } else { word_similarity(id, &model.id) })
    };
    let mut near: Vec<(f64, String)> =
        registry.models.iter().map(|model| (similarity(model), model.full_name())).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().filter(|(similarity, _)| *similarity > 0.75).map(|(_, name)| name).take(3).collect()
}

/// How similar a name is to one word of an id, such as `opus`. Short words and numbers are skipped.
fn word_similarity(name: &str, id: &str) -> f64 {
    let words = id.split(['-', '/', ':', '.', '_', ' ']).filter(|word| word.len() >= 4);
    let similarity = words.map(|word| strsim::jaro_winkler(name, word)).fold(0.0, f64::max);
    if similarity > 0.85 { 0.95 * similarity } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> Result<String, String> {
        Registry::built_in().find(name).map(|model| model.full_name()).map_err(|error| error.to_string())
    }

    #[test]
    fn finds_by_full_name_id_or_end_of_id() {
        assert_eq!(find("openai/gpt-5.5"), Ok("openai/gpt-5.5".to_owned()));
        assert_eq!(find("gpt-5.5"), Ok("openai/gpt-5.5".to_owned()));
        assert_eq!(find("GPT-6-Astra"), Ok("openai/gpt-6-astra".to_owned()));
        assert_eq!(find("sonnet-5-5"), Ok("anthropic/claude-sonnet-5-5".to_owned()));
        assert_eq!(find("offline"), Ok("offline/offline".to_owned()));
    }

    #[test]
    fn ambiguous_names_are_refused() {
        assert_eq!(find("5-5").map_err(|error| error.len() > 40), Err(true));
        assert!(find("flash").unwrap_err().ends_with("; use the full name"));
    }

    #[test]
    fn typos_get_suggestions() {
        assert_eq!(
            find("anthropic/claude-opus-5.5").unwrap_err(),
            "unknown model anthropic/claude-opus-5.5; did you mean anthropic/claude-opus-5-5 or anthropic/claude-opus-5 or anthropic/claude-sonnet-5-5?"
        );
        assert!(find("claude-opus-55").unwrap_err().contains("did you mean anthropic/claude-opus-5-5"));
        assert_eq!(find("zzz"), Err("unknown model zzz".to_owned()));
        assert!(find("offline/other").is_err());
        for (typo, meant) in [("opuss", "opus-5-5"), ("sonett", "sonnet-5-5"), ("Haikku", "haiku-5-5")] {
            let error = find(typo).unwrap_err();
            assert!(
                error.starts_with(&format!("unknown model {typo}; did you mean anthropic/claude-{meant}")),
                "{error}"
            );
        }
    }
}
