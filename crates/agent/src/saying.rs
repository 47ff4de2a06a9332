//! Storing what the user says. A template or skill is told to the model whole; what was typed is kept beside it for people.

use std::sync::Arc;

use osier_model::{Block, Image};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

/// Something the user typed, with the images that belong to it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Said {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "blocks")]
    pub images: Vec<Image>,
}

impl Said {
    pub fn text(text: impl Into<String>) -> Said {
        Said { text: text.into(), images: Vec::new() }
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
    /// What the text stands for, if it names a template or a skill.
    pub(crate) async fn expand(&self, typed: &str) -> Result<Option<String>, Error> {
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
