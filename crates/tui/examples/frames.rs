//! Measures key handling in a tree of 100,000 entries, and the time per frame of a long streamed reply:
//! `cargo run --release -p osier-tui --example frames [ENTRIES]`.

use std::sync::Arc;
use std::time::Instant;

use osier_protocol::{ClientEvent, EntryId, ReplyDelta, TreeSnapshot};
use osier_store::{MemoryStore, Store};
use osier_testkit::ScriptedSession;
use osier_tree::Header;
use osier_tui::key::{Input, Key};
use osier_tui::msg::Msg;
use osier_tui::state::{UiConfig, UiState};
use osier_tui::update::update;
use osier_tui::view::view;

type BoxError = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let entries = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let mut state = UiState::new(UiConfig::default(), 120, 40);
    let tree_snapshot = tree_snapshot(entries).await?;
    measure(&mut state, "open the tree", Msg::Tree(Box::new(tree_snapshot)));
    for key in
        ["up", "pageUp", "home", "end", "ctrl+left", "ctrl+u", "ctrl+u", "4", "2", "backspace", "escape"]
    {
        let pressed = Key::parse(key).ok_or("no such key")?;
        measure(&mut state, key, Msg::Input(Input::Key(pressed)));
    }
    update(&mut state, Msg::Input(Input::Key(Key::parse("escape").ok_or("no such key")?)));
    stream(&mut state);
    Ok(())
}

fn measure(state: &mut UiState, what: &str, msg: Msg) {
    let started = Instant::now();
    update(state, msg);
    let lines = view(state).lines.len();
    println!("{what:<16} {:>8.2} ms  {lines} lines", started.elapsed().as_secs_f64() * 1000.0);
}

/// Streams a megabyte in 20,000 pieces, with a frame after every eight, as at 500 pieces per second.
fn stream(state: &mut UiState) {
    let id = EntryId::from("d");
    let say = |state: &mut UiState, delta: ReplyDelta| {
        let event = ClientEvent::DraftDelta { id: id.clone(), index: 0, delta: delta.into() };
        update(state, Msg::Event(event));
    };
    let begun = ClientEvent::DraftStarted { id: id.clone(), off_path: false };
    update(state, Msg::Event(begun));
    say(state, ReplyDelta::TextStart { block: 0 });
    let (started, mut worst, mut frames) = (Instant::now(), 0.0_f64, 0);
    for number in 0..20_000 {
        let end = if number % 40 == 39 { "\n\n" } else { " " };
        let delta = format!("some **more** words of number {number} and of others{end}");
        say(state, ReplyDelta::TextDelta { block: 0, delta });
        if number % 8 == 7 {
            let started = Instant::now();
            std::hint::black_box(view(state));
            worst = worst.max(started.elapsed().as_secs_f64() * 1000.0);
            frames += 1;
        }
    }
    let all = started.elapsed().as_secs_f64() * 1000.0;
    println!("stream of 1 MB   {all:>8.2} ms  {frames} frames, the worst {worst:.2} ms");
}

async fn tree_snapshot(entries: usize) -> Result<TreeSnapshot, BoxError> {
    let mut script = String::from("say a");
    for number in 0..entries / 2 {
        script += &format!("; reply words of reply {number}; say words of question {number}");
        if number % 100 == 99 {
            script += &format!("; move words of reply {number}");
        }
    }
    let script = ScriptedSession::run(&script);
    let store = MemoryStore::default();
    let made = store.create(&Header::new("s", 0, "/x"), &script.lines).await?;
    let texts = store.previews("s", made.version).await?;
    let leaf = script.tree.leaf();
    Ok(TreeSnapshot::new(Arc::new(script.tree), leaf, Arc::new(texts)))
}
