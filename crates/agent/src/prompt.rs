//! Storing prompts. The model gets the expanded template, skill or attached file; people see the text that
//! was typed.

use osier_model::{CancellationToken, ContentBlock};
use osier_protocol::{ClientEvent, CommandReply, CustomMessage, Prompt, ReadyMessage};
use osier_session::StoredEntry;
use osier_tree::SessionTree;
use serde_json::{Map, Value, json};

use crate::attachments;
use crate::context::AgentContext;
use crate::error::AgentError;
use crate::hooks::StoredPrompt;
use crate::turn::ExpectedLeaf;

/// The message to store: the ready one, or one with the expanded text, if any, or the typed text.
fn to_message(prompt: &Prompt, expanded: Option<&str>, timestamp: i64) -> Value {
    if let Some(message) = &prompt.message {
        let mut message = json!(message);
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

impl AgentContext {
    /// Expands a prompt: attached files first, then the text or the template or skill that it names. Adds
    /// attached images to the prompt. Returns `None` if the model gets exactly the typed text.
    pub(crate) async fn expand_prompt(&self, prompt: &mut Prompt) -> Result<Option<String>, AgentError> {
        if prompt.message.is_some() {
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
        let (prompts, typed) = (self.prompt_library(), typed.to_owned());
        tokio::task::spawn_blocking(move || prompts.expand(&typed)).await.unwrap_or(Ok(None))
    }

    /// Stores a prompt with the configured durability.
    pub(crate) async fn append_prompt(
        &self,
        prompt: &Prompt,
        expanded: Option<String>,
    ) -> Result<StoredPrompt, AgentError> {
        let mut message = to_message(prompt, expanded.as_deref(), self.timestamp());
        let stored = match prompt.message.as_deref() {
            Some(ReadyMessage::Custom(message)) => self.append_custom_message(message).await?,
            Some(ReadyMessage::User { .. }) | None => {
                message = self.edit_whole_message(message, &CancellationToken::new()).await;
                self.append_message(&message).await?
            }
        };
        self.session.sync_if_configured().await?;
        let ready_images = prompt.message.as_ref().map_or(0, |message| message.content().image_count());
        let images = prompt.images.len() + ready_images;
        if images > 0 {
            self.warn_if_images_unsupported(images).await?;
        }
        Ok(StoredPrompt { entry_id: stored.id, message, system_prompt: String::new(), sections: Map::new() })
    }

    /// Stores a prompt without calling a model.
    pub(crate) async fn store_prompt_only(
        &self,
        mut prompt: Prompt,
        expected_leaf: ExpectedLeaf,
    ) -> Result<CommandReply, AgentError> {
        let _turn = match &expected_leaf {
            Some(expected) => Some(self.begin_turn_at(expected.as_deref()).await?),
            None => None,
        };
        let expanded = self.expand_prompt(&mut prompt).await?;
        let stored = self.append_prompt(&prompt, expanded).await?;
        Ok(CommandReply::Stored { entry: stored.entry_id })
    }

    /// Stores a message of an extension at the cursor.
    pub(crate) async fn append_custom_message(
        &self,
        message: &CustomMessage,
    ) -> Result<StoredEntry, AgentError> {
        let (message, content) = (message.clone(), json!(message.content));
        let plan = move |tree: &SessionTree, at| {
            let CustomMessage { custom_type, display, details, .. } = &message;
            Ok(tree.plan_custom_message(at, custom_type, &content, *display, details.as_ref()))
        };
        self.commit(plan).await
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
