//! Storing what the user says. The model gets a template, a skill or an attached file whole; people see what was typed.

use std::sync::Arc;

use osier_model::{Block, Image};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::attachments;
use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

/// Something the user typed, with the images that belong to it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Said {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "blocks")]
    pub images: Vec<Image>,
    /// Files that go along, as the text names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Said {
    pub fn text(text: impl Into<String>) -> Said {
        Said { text: text.into(), ..Said::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.images.is_empty()
    }

    /// The message with this instead of what was typed, or with what was typed.
    fn message(&self, expanded: Option<&str>, timestamp: i64) -> Value {
        let text = Some(expanded.unwrap_or(&self.text)).filter(|text| !text.trim().is_empty());
        let images = self.images.iter().cloned().map(Block::Image);
        let content: Vec<Block> = text.map(Block::text).into_iter().chain(images).collect();
        let mut message = json!({ "role": "user", "content": content });
        if expanded.is_some() {
            message["uiContent"] = json!(self.text);
        }
        message["timestamp"] = json!(timestamp);
        message
    }
}

impl Workplace {
    /// What the model gets in place of what was typed, if that differs: the files that go along, and the text, or what it
    /// stands for. Images of files are added to the others.
    pub(crate) async fn expand(&self, said: &mut Said) -> Result<Option<String>, Error> {
        let expanded = self.expand_template(&said.text).await?;
        let mut parts = self.attach_files(said).await?;
        if parts.is_empty() {
            return Ok(expanded);
        }
        parts.push(expanded.unwrap_or_else(|| said.text.clone()));
        Ok(Some(parts.join("\n\n")))
    }

    /// The texts of the files that go along.
    async fn attach_files(&self, said: &mut Said) -> Result<Vec<String>, Error> {
        let mut texts = Vec::new();
        for name in &said.files {
            match attachments::read(name, &self.parts.context).await.map_err(Error::Attachment)? {
                Some(attachment) if !texts.contains(&attachment.text) => {
                    texts.push(attachment.text);
                    said.images.extend(attachment.image.filter(|image| !said.images.contains(image)));
                }
                Some(_) => {}
                None if name.contains(['.', '/']) => {
                    let text = format!("there is no file {name}; @{name} is sent as text");
                    self.teller.tell(Live::Notice { text });
                }
                None => {}
            }
        }
        Ok(texts)
    }

    /// What the text stands for, if it names a template or a skill.
    async fn expand_template(&self, typed: &str) -> Result<Option<String>, Error> {
        if !typed.trim_start().starts_with('/') {
            return Ok(None);
        }
        let (prompts, typed) = (self.parts.prompts.clone(), typed.to_owned());
        tokio::task::spawn_blocking(move || prompts.expand(&typed)).await.unwrap_or(Ok(None))
    }

    /// Stores what the user said as safely as the setting asks, and tells the id of its entry.
    pub(crate) async fn say_as_user(&self, said: &Said, expanded: Option<String>) -> Result<Arc<str>, Error> {
        let stored = self.say(&said.message(expanded.as_deref(), self.clock())).await?;
        self.session.before_prompt().await?;
        if !said.images.is_empty() {
            self.tell_of_blindness(said.images.len()).await?;
        }
        Ok(stored.id)
    }

    /// Whoever shows an image to a model that cannot see it should know.
    async fn tell_of_blindness(&self, images: usize) -> Result<(), Error> {
        let model = self.choice().await?.model;
        if !model.images {
            let told = if images == 1 { "there is one".to_owned() } else { format!("there are {images}") };
            let text = format!("{} cannot see images; it is only told that {told}", model.full_name());
            self.teller.tell(Live::Notice { text });
        }
        Ok(())
    }
}

/// Images in the form in which messages hold them.
mod blocks {
    use osier_model::{Block, Image};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(images: &[Image], serializer: S) -> Result<S::Ok, S::Error> {
        let blocks: Vec<Block> = images.iter().cloned().map(Block::Image).collect();
        blocks.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Image>, D::Error> {
        let blocks = Vec::<Block>::deserialize(deserializer)?;
        let image = |block| match block {
            Block::Image(image) => Some(image),
            _ => None,
        };
        Ok(blocks.into_iter().filter_map(image).collect())
    }
}
