//! Creates a session in a folder, appends messages, labels an entry, and prints facts about the file.
//!
//!     cargo run -p osier-session --example append_and_label

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use osier_session::{Session, SessionEnv};
use osier_store::FileStore;
use osier_tree::Header;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    run(folder.path(), &mut std::io::stdout()).await
}

pub(crate) async fn run(folder: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let env = SessionEnv::default();
    let store = Arc::new(FileStore::new(folder.join("sessions"), Some(folder.join("cache"))));
    let header = Header::new(env.ids.session(), env.clock.now(), folder.to_string_lossy());
    let session = Session::create(store, &header, &[], env).await?;

    // Missing id, parentId and timestamp are filled in; the parent is the leaf at the moment of writing.
    let question = json!({ "type": "message", "message": { "role": "user", "content": "How do I begin?" } });
    let asked = session.append_entry(question.to_string().as_bytes()).await?.stored().ok_or("not stored")?;
    let answer =
        json!({ "type": "message", "message": { "role": "assistant", "content": "With a small step." } });
    let answered = session.append_entry(answer.to_string().as_bytes()).await?.stored().ok_or("not stored")?;

    // A label is a separate entry. It refers to its target and is never part of a context.
    session.label(&answered.id, Some("good advice")).await?;
    session.sync().await?;

    let tree = session.tree();
    let advice = tree.require(&answered.id)?;
    writeln!(out, "{} entries", tree.len())?;
    writeln!(out, "the answer is below the question: {}", tree.head(advice).parent == Some(asked.seq))?;
    writeln!(out, "its label: {}", tree.label(advice).map_or("none", |label| &label.text))?;
    let file = std::fs::read_to_string(session.file().ok_or("not a file")?)?;
    writeln!(out, "{} lines in the file, the header first", file.lines().count())?;
    Ok(())
}
