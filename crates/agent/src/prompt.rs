//! Storing prompts. The model gets the expanded template, skill or attached file; people see the text that
//! was typed.

use osier_model::ContentBlock;
use osier_protocol::{ClientEvent, Prompt};
use osier_tree::EntryId;
use serde_json::{Value, json};

use crate::attachments;
use crate::context::AgentContext;
use crate::error::AgentError;

/// The message to store: the ready one, or one with the expanded text, if any, or the typed text.
fn to_message(prompt: &Prompt, expanded: Option<&str>, timestamp: i64) -> Value {
    if let Some(message) = &prompt.message {
        let mut message = message.clone();
        if message.get("timestamp").is_none() {
            message["timestamp"] = json!(timestamp);
        }
        return message;
    }
    let text = Some(expanded.unwrap_or(&prompt.text)).filter(|text| !text.trim().is_empty());
    let images = prompt.images.iter().cloned().map(ContentBlock::Image);
    let content: Vec<ContentBlock> = text.map(ContentBlock::text).into_iter().chain(images).collect();
    let mut message = json!({ "role": "user", "content": content });
    if expanded.is_some() {
        message["uiContent"] = json!(prompt.text);
    }
    message["timestamp"] = json!(timestamp);
    message
}

/// A ready message must be one that a client may send: a model's replies and tool results are not.
fn check_ready_message(message: &Value) -> Result<(), AgentError> {
    match message["role"].as_str() {
        Some("user" | "custom") => Ok(()),
        _ => Err(AgentError::NotAPrompt),
    }
}

impl AgentContext {
    /// Expands a prompt: attached files first, then the text or the template or skill that it names. Adds
    /// attached images to the prompt. Returns `None` if the model gets exactly the typed text.
    pub(crate) async fn expand_prompt(&self, prompt: &mut Prompt) -> Result<Option<String>, AgentError> {
        if let Some(message) = &prompt.message {
            check_ready_message(message)?;
            return Ok(None);
        }
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
                    self.live.send(ClientEvent::Notice { text });
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
    ) -> Result<EntryId, AgentError> {
        let stored = self.append_message(&to_message(prompt, expanded.as_deref(), self.timestamp())).await?;
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
            self.live.send(ClientEvent::Notice { text });
        }
        Ok(())
    }
}
