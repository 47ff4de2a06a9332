//! Storing prompts. The model gets the expanded template, skill or attached file; people see the text that
//! was typed.

use std::sync::Arc;

use osier_model::{ContentBlock, Image};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::attachments;
use crate::context::AgentContext;
use crate::error::AgentError;
use crate::live::LiveUpdate;

/// A prompt: the text that the user typed, with images and attached files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prompt {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "blocks")]
    pub images: Vec<Image>,
    /// Attached files, by the names used in the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Prompt {
    pub fn text(text: impl Into<String>) -> Prompt {
        Prompt { text: text.into(), ..Prompt::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.images.is_empty()
    }

    /// The message to store: with the expanded text, if any, or the typed text.
    fn to_message(&self, expanded: Option<&str>, timestamp: i64) -> Value {
        let text = Some(expanded.unwrap_or(&self.text)).filter(|text| !text.trim().is_empty());
        let images = self.images.iter().cloned().map(ContentBlock::Image);
        let content: Vec<ContentBlock> = text.map(ContentBlock::text).into_iter().chain(images).collect();
        let mut message = json!({ "role": "user", "content": content });
        if expanded.is_some() {
            message["uiContent"] = json!(self.text);
        }
        message["timestamp"] = json!(timestamp);
        message
    }
}

impl AgentContext {
    /// Expands a prompt: attached files first, then the text or the template or skill that it names. Adds
    /// attached images to the prompt. Returns `None` if the model gets exactly the typed text.
    pub(crate) async fn expand_prompt(&self, prompt: &mut Prompt) -> Result<Option<String>, AgentError> {
        let expanded = self.expand_template(&prompt.text).await?;
        let mut parts = self.read_attachments(prompt).await?;
        if parts.is_empty() {
            return Ok(expanded);
        }
        parts.push(expanded.unwrap_or_else(|| prompt.text.clone()));
        Ok(Some(parts.join("\n\n")))
    }

    /// The texts of the attached files.
    async fn read_attachments(&self, prompt: &mut Prompt) -> Result<Vec<String>, AgentError> {
        let mut texts = Vec::new();
        for name in &prompt.files {
            match attachments::read(name, &self.config.tool_context).await.map_err(AgentError::Attachment)? {
                Some(attachment) if !texts.contains(&attachment.text) => {
                    texts.push(attachment.text);
                    prompt.images.extend(attachment.image.filter(|image| !prompt.images.contains(image)));
                }
                Some(_) => {}
                None if name.contains(['.', '/']) => {
                    let text = format!("no file named {name}; sending @{name} as text");
                    self.live.send(LiveUpdate::Notice { text });
                }
                None => {}
            }
        }
        Ok(texts)
    }

    /// The template or skill that the text names, expanded.
    async fn expand_template(&self, typed: &str) -> Result<Option<String>, AgentError> {
        if !typed.trim_start().starts_with('/') {
            return Ok(None);
        }
        let (prompts, typed) = (self.config.prompt_library.clone(), typed.to_owned());
        tokio::task::spawn_blocking(move || prompts.expand(&typed)).await.unwrap_or(Ok(None))
    }

    /// Stores a prompt with the configured durability and returns the id of its entry.
    pub(crate) async fn append_prompt(
        &self,
        prompt: &Prompt,
        expanded: Option<String>,
    ) -> Result<Arc<str>, AgentError> {
        let stored = self.append_message(&prompt.to_message(expanded.as_deref(), self.timestamp())).await?;
        self.session.sync_if_configured().await?;
        if !prompt.images.is_empty() {
            self.warn_if_images_unsupported(prompt.images.len()).await?;
        }
        Ok(stored.id)
    }

    /// Warns the user if the model does not accept images.
    async fn warn_if_images_unsupported(&self, images: usize) -> Result<(), AgentError> {
        let model = self.model_choice().await?.model;
        if !model.images {
            let images = if images == 1 { "the image".to_owned() } else { format!("the {images} images") };
            let text = format!(
                "{} does not accept images; {images} will be replaced by a placeholder",
                model.full_name()
            );
            self.live.send(LiveUpdate::Notice { text });
        }
        Ok(())
    }
}

/// Serializes images as message content blocks.
mod blocks {
    use osier_model::{ContentBlock, Image};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(images: &[Image], serializer: S) -> Result<S::Ok, S::Error> {
        let blocks: Vec<ContentBlock> = images.iter().cloned().map(ContentBlock::Image).collect();
        blocks.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Image>, D::Error> {
        let blocks = Vec::<ContentBlock>::deserialize(deserializer)?;
        let image = |block| match block {
            ContentBlock::Image(image) => Some(image),
            _ => None,
        };
        Ok(blocks.into_iter().filter_map(image).collect())
    }
}
