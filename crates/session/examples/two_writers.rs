//! Two programs answer in one session at the same time. No answer is lost: the tree gets two branches.
//!
//!     cargo run -p osier-session --example two_writers

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use osier_session::{Commit, Cursor, Session, SessionEnv};
use osier_store::FileStore;
use osier_tree::projection::outline::{Outline, OutlineOptions};
use osier_tree::scan::RawJson;
use osier_tree::{Header, PlanError, Seq};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    run(folder.path(), &mut std::io::stdout()).await
}

pub(crate) async fn run(folder: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let env = SessionEnv::default();
    // One store instance each, as in two processes.
    let stores = [0, 1].map(|_| Arc::new(FileStore::new(folder.join("sessions"), None)));
    let header = Header::new(env.ids.session(), env.clock.now(), folder.to_string_lossy());
    let one = Session::create(stores[0].clone(), &header, &[], env.clone()).await?;
    say(&one.main_cursor(), "user", "Which way?").await?;
    let two = Session::open(stores[1].clone(), &header.id, env).await?;

    // Both start a turn at the same position without knowing about each other.
    let turns = (one.main_cursor().begin_turn().await?, two.main_cursor().begin_turn().await?);
    say(&one.main_cursor(), "assistant", "The left one.").await?;
    say(&two.main_cursor(), "assistant", "The right one.").await?;
    turns.0.end().await?;
    turns.1.end().await?;

    // A label from a stale process moves no cursor.
    one.label(&one.tree().id(Seq::new(0)).to_string(), Some("crossroads")).await?;

    two.refresh().await?;
    draw(&two, out).await
}

/// Appends a message at a cursor.
async fn say(cursor: &Cursor, role: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let message = json!({ "role": role, "content": text, "stopReason": "stop" }).to_string();
    let plan = move |tree: &osier_tree::SessionTree, at| {
        let message = RawJson::parse(message.as_bytes())
            .map_err(|_| PlanError::NotAnEntry { reason: "it is not JSON" })?;
        tree.plan_message(at, message)
    };
    cursor.commit(Commit::new(plan)).await?;
    Ok(())
}

/// Draws the tree as `osier sessions tree` does.
async fn draw(session: &Session, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let tree = session.tree();
    let texts = session.store().previews(session.key(), session.version()).await?;
    let outline = Outline::new(&tree, tree.leaf(), &OutlineOptions::default(), &|seq| texts.get(seq));
    for (at, row) in outline.rows.iter().enumerate() {
        writeln!(out, "{}", outline.draw(at, &texts.get(row.seq)))?;
    }
    Ok(())
}
