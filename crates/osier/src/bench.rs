//! Hidden commands that `cargo xtask bench` measures: each does one thing and prints a count.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Subcommand;
use osier_protocol::TreeSnapshot;
use osier_store::{
    FileStore, PagedHeads, SessionFilter, Store, StoreError, file::folder_name, for_each_line,
};
use osier_tree::projection::outline::{Outline, OutlineOptions};
use osier_tree::{Header, Seq};

use crate::home::Home;
use crate::{extensions, target};

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    #[command(hide = true)]
    BenchOpen {
        file: String,
        #[arg(long, default_value = "context")]
        what: String,
    },
    #[command(hide = true)]
    BenchAppend {
        file: PathBuf,
        #[arg(long)]
        count: usize,
        #[arg(long, default_value = "os")]
        durability: String,
    },
    #[command(hide = true)]
    BenchDir { cwd: PathBuf },
    #[command(hide = true)]
    BenchContinue,
    #[command(hide = true)]
    BenchExtensions {
        files: Vec<PathBuf>,
        #[arg(long)]
        events: usize,
    },
}

pub(crate) async fn run(command: BenchCommand, home: Home) -> Result<ExitCode> {
    match command {
        BenchCommand::BenchOpen { file, what } => open(&home, &file, &what).await?,
        BenchCommand::BenchAppend { file, count, durability } => {
            append(&home, &file, count, &durability).await?;
        }
        BenchCommand::BenchExtensions { files, events } => {
            extensions::measure::run(home, files, events).await?;
        }
        BenchCommand::BenchDir { cwd } => println!("{}", folder_name(&cwd)),
        BenchCommand::BenchContinue => {
            let filter =
                SessionFilter { cwd: Some(home.cwd.clone()), limit: Some(1), ..SessionFilter::default() };
            let page = home.file_store().list(&filter).await?;
            println!("{}", page.cards.first().map(|card| card.id.as_str()).unwrap_or_default());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a file, reads the requested projection and discards it.
async fn open(home: &Home, file: &str, what: &str) -> Result<()> {
    let stored = match what {
        "outline" => target::find_for_tree(home, file).await?,
        _ => target::find(home, file).await?,
    };
    let store = &*stored.store;
    let mut heads = PagedHeads::new(store, &stored.key, stored.opened.version);
    let leaf = heads.leaf().await?;
    match what {
        "path" => println!("{} entries", heads.path(leaf).await?.len()),
        "outline" => {
            let TreeSnapshot { tree, leaf, previews, .. } = home.engine.tree(&stored, None).await?;
            let outline =
                Outline::new(&tree, leaf, &OutlineOptions::default(), &|seq: Seq| previews.get(seq));
            let bytes: usize = outline.rows.iter().map(|row| previews.get(row.seq).len()).sum();
            println!("{} rows, {bytes} bytes of text", outline.rows.len());
        }
        "context" => {
            let plan = heads.context(leaf).await?;
            let wanted: Vec<Seq> = plan.items.iter().map(|item| item.seq).collect();
            let (mut count, mut bytes) = (0, 0);
            let mut items = plan.items.iter();
            for_each_line(store, &stored.key, stored.opened.version.generation, &wanted, |_, line| {
                if let Some(item) = items.next() {
                    item.emit_messages(line, None, &mut |message| {
                        count += 1;
                        bytes += message.len();
                    });
                }
                Ok::<_, StoreError>(())
            })
            .await?;
            println!("{count} messages, {bytes} bytes");
        }
        other => bail!("no benchmark {other}"),
    }
    Ok(())
}

/// Appends directly to the store, one line at a time.
async fn append(home: &Home, file: &std::path::Path, count: usize, durability: &str) -> Result<()> {
    let store = home.file_store();
    if !file.exists() {
        store.create_at(file, &Header::new("bench", 0, "/bench"), &[]).await?;
    }
    let key = FileStore::path_to_id(file)?;
    let opened = store.open(&key).await?;
    let mut version = opened.version;
    let mut leaf = PagedHeads::new(&*store, &key, version).leaf().await?.map(|_| String::new());
    let text = "the parser reads each line then checks whether state moved ".repeat(20);
    let times = (0..count).map(|n| format!("{n:08x}"));
    for id in times {
        let parent = leaf
            .as_deref()
            .filter(|id| !id.is_empty())
            .map_or_else(|| "null".to_owned(), |id| format!("\"{id}\""));
        let line = format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":0}}}}"#
        );
        version = store.append(&key, version, &[line.into_bytes()]).await?;
        if durability == "always" {
            store.sync(&key).await?;
        }
        leaf = Some(id);
    }
    if durability == "turn" {
        store.sync(&key).await?;
    }
    println!("{count} appended");
    Ok(())
}
