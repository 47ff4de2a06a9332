//! Reads the context at a position as JSON, message by message. Lines are read in batches and never all held in
//! memory.

use osier_store::{Store, StoreError, for_each_line};
use osier_tree::entry::parse_entry;
use osier_tree::projection::context::{model_fields, thinking_level};
use osier_tree::scan::RawJson;
use osier_tree::{ContextPlan, Seq};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

/// Reads the messages of a context plan from a log.
#[derive(Debug, Clone, Copy)]
pub struct ContextReader<'a> {
    pub store: &'a dyn Store,
    /// The id of the session in the store.
    pub key: &'a str,
    pub generation: u64,
    pub plan: &'a ContextPlan,
}

impl ContextReader<'_> {
    /// Calls `each` with every message, oldest first.
    pub async fn for_each_message<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let edits = self.edits().await?;
        let seqs: Vec<Seq> = self.plan.items.iter().map(|item| item.seq).collect();
        let mut items = self.plan.items.iter();
        for_each_line(self.store, self.key, self.generation, &seqs, |_, line| {
            let Some(item) = items.next() else { return Ok(()) };
            let edit = item.edit.and_then(|edit| edits.get(&edit)).map(Vec::as_slice);
            let mut result = Ok(());
            item.emit_messages(line, edit, &mut |message| {
                if result.is_ok() {
                    result = each(message);
                }
            });
            result
        })
        .await
    }

    /// Writes the members of the context object, without braces: `leafId`, `messages`, `thinkingLevel`, `model`.
    pub async fn write_members<E: From<StoreError>>(
        &self,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let leaf = match self.plan.leaf {
            Some(leaf) => json!(parse_entry(&self.line(leaf).await?).ok().map(|entry| entry.id.into_owned())),
            None => Value::Null,
        };
        write(format!("\"leafId\":{leaf},\"messages\":[").as_bytes())?;
        let mut first = true;
        self.for_each_message(|message| {
            if !std::mem::take(&mut first) {
                write(b",")?;
            }
            write(String::from_utf8_lossy(message).as_bytes())
        })
        .await?;
        let (thinking, model) = (self.thinking().await?, self.model().await?);
        write(format!("],\"thinkingLevel\":{thinking},\"model\":{model}").as_bytes())
    }

    /// The lines of the edits in the plan.
    async fn edits(&self) -> Result<FxHashMap<Seq, Vec<u8>>, StoreError> {
        let seqs: Vec<Seq> = self.plan.items.iter().filter_map(|item| item.edit).collect();
        let mut edits = FxHashMap::default();
        for_each_line(self.store, self.key, self.generation, &seqs, |seq, line| {
            edits.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(edits)
    }

    async fn line(&self, seq: Seq) -> Result<Vec<u8>, StoreError> {
        let mut found = Vec::new();
        for_each_line(self.store, self.key, self.generation, &[seq], |_, line| {
            found = line.to_vec();
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(found)
    }

    async fn thinking(&self) -> Result<Value, StoreError> {
        let Some(seq) = self.plan.thinking else { return Ok(json!("off")) };
        let line = self.line(seq).await?;
        let entry = parse_entry(&line).ok();
        Ok(entry.as_ref().and_then(thinking_level).map_or_else(|| json!("off"), value))
    }

    async fn model(&self) -> Result<Value, StoreError> {
        let Some(seq) = self.plan.model else { return Ok(Value::Null) };
        let line = self.line(seq).await?;
        let entry = parse_entry(&line).ok();
        let model = entry.as_ref().and_then(model_fields);
        Ok(model.map_or(
            Value::Null,
            |(provider, id)| json!({ "provider": value(provider), "modelId": value(id) }),
        ))
    }
}

fn value(raw: RawJson<'_>) -> Value {
    raw.text().map_or_else(|| serde_json::from_slice(raw.bytes()).unwrap_or_default(), |text| json!(text))
}
