//! Measures many live sessions in one process: all stream at once, each to several clients, on two worker threads.
//! `cargo run --release -p osier-engine --example many_sessions [SESSIONS] [CLIENTS] [SECONDS]`.
//!
//! Each piece of a reply is the time at which the model sent it, so a client knows how late it is.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, future, stream};
use osier_engine::{
    AgentSpec, ConfiguredStore, Engine, EngineConfig, KeepWhen, ListOptions, LiveSession, LocalClient,
    ModelCatalog, NewSession, Workspace,
};
use osier_model::scripted::ScriptedModel;
use osier_model::{CancellationToken, Delta, DeltaStream, Environment, Model, Registry, ReplyDraft, Request};
use osier_protocol::{Client, ClientCommand, ClientEvent};
use osier_tools::{CommandEnv, ToolContext};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The time between two pieces of one reply: 50 per second.
const PIECE_INTERVAL: Duration = Duration::from_millis(20);

fn main() -> Result<(), BoxError> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let mut next = |default| numbers.next().unwrap_or(Ok(default));
    let (sessions, clients, seconds) = (next(100)?, next(8)?, next(10)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(sessions, clients, seconds))
}

async fn measure(sessions: usize, clients: usize, seconds: usize) -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let engine = engine(folder.path());
    let started = Instant::now();
    let spec = spec(folder.path(), started, seconds);
    let before = resident_kilobytes()?;
    let mut live = Vec::new();
    for _ in 0..sessions {
        let session = create(&engine).await?;
        live.push((engine.connect(&session, &spec).await?, session));
    }
    let idle = (resident_kilobytes()?.saturating_sub(before)) as f64 / sessions as f64;
    println!("{sessions} idle sessions       {idle:>9.0} kB each   (target: below 1,000)");

    let mut connected = Vec::new();
    for (_, session) in &live {
        for _ in 0..clients {
            connected.push(engine.connect(session, &spec).await?);
        }
    }
    let readers = attach_readers(connected, started).await?;
    let prompts = live.iter().map(|(client, _)| client.send(ClientCommand::prompt("go")));
    for reply in future::join_all(prompts).await {
        reply?;
    }
    let mut late = Vec::new();
    for reader in readers {
        late.extend(reader.await??);
    }
    report(late, clients);
    let began = Instant::now();
    drop(live);
    engine.close(Duration::from_secs(10)).await;
    println!("closing                  {:>9.0} ms", began.elapsed().as_secs_f64() * 1000.0);
    check_closed(&engine, sessions).await
}

fn report(mut late: Vec<f64>, clients: usize) {
    late.sort_by(f64::total_cmp);
    let at =
        |part: f64| late.get((late.len() as f64 * part) as usize).or(late.last()).copied().unwrap_or(0.0);
    println!("{} events to {clients} clients of each session", late.len());
    println!("late, half of them       {:>9.2} ms", at(0.5));
    println!("late, 99 of 100          {:>9.2} ms", at(0.99));
    println!("late, the latest         {:>9.2} ms        (target: below 50)", at(1.0));
}

/// A session that nothing holds open can be deleted.
async fn check_closed(engine: &Engine, sessions: usize) -> Result<(), BoxError> {
    let cards = engine.list(&ListOptions::default()).await?.cards;
    let plan = engine.plan_delete(cards).await?;
    let report = engine.delete(&plan, false).await?;
    println!("still open after closing {:>9}           (target: 0, of {sessions})", report.kept.len());
    Ok(())
}

fn engine(folder: &Path) -> Engine {
    let store = ConfiguredStore::Files {
        name: "file".to_owned(),
        folder: folder.join("sessions"),
        caches: folder.join("cache"),
        is_own: true,
    };
    Engine::new(EngineConfig { stores: vec![store], ..EngineConfig::default() })
}

async fn create(engine: &Engine) -> Result<Arc<LiveSession>, BoxError> {
    let new = NewSession {
        store: "file".to_owned(),
        cwd: "/here".to_owned(),
        agent: "main".to_owned(),
        keep: KeepWhen::Always,
    };
    Ok(engine.create(&new).await?)
}

fn spec(folder: &Path, started: Instant, seconds: usize) -> AgentSpec {
    let pieces = seconds * 1000 / PIECE_INTERVAL.as_millis() as usize;
    let models = ModelCatalog {
        model: Arc::new(PacedModel { started, pieces }),
        registry: Arc::new(Registry::built_in()),
        environment: Environment::empty(),
        default_model: None,
        summary_model: None,
        own_providers: Vec::new(),
    };
    let context = ToolContext::new(folder, folder.join("output"), CommandEnv::new([]));
    AgentSpec::new(Arc::new(Workspace::new(models, context)), Arc::new(ScriptedModel::info()))
}

/// Attaches the clients. The task of each returns how late its events were, in milliseconds.
async fn attach_readers(
    clients: Vec<LocalClient>,
    started: Instant,
) -> Result<Vec<tokio::task::JoinHandle<Result<Vec<f64>, BoxError>>>, BoxError> {
    let mut readers = Vec::new();
    for client in clients {
        let mut events = client.attach(None).await?.events;
        readers.push(tokio::spawn(async move {
            let _client = client;
            let mut late = Vec::new();
            while let Some(event) = events.next().await {
                match event {
                    ClientEvent::DraftDelta { delta, .. } if !delta.text().is_empty() => {
                        let sent: u64 = delta.text().trim().parse()?;
                        late.push((started.elapsed().as_nanos() as u64 - sent) as f64 / 1e6);
                    }
                    ClientEvent::Lagged { missed } => return Err(format!("missed {missed} events").into()),
                    ClientEvent::TurnEnded { .. } => break,
                    _ => {}
                }
            }
            Ok(late)
        }));
    }
    Ok(readers)
}

/// A model that sends the time in pieces, at a steady pace.
#[derive(Debug)]
struct PacedModel {
    started: Instant,
    pieces: usize,
}

impl Model for PacedModel {
    fn stream(&self, request: Request, _cancel: CancellationToken) -> DeltaStream {
        let reply = PacedReply {
            started: self.started,
            pieces: self.pieces,
            sent: 0,
            ticks: tokio::time::interval(PIECE_INTERVAL),
            draft: ReplyDraft::new(&request.model, 0),
        };
        Box::pin(stream::unfold(reply, |mut reply| async move { Some((reply.next().await?, reply)) }))
    }
}

struct PacedReply {
    started: Instant,
    pieces: usize,
    /// The number of deltas so far.
    sent: usize,
    ticks: tokio::time::Interval,
    draft: ReplyDraft,
}

impl PacedReply {
    async fn next(&mut self) -> Option<Delta> {
        let delta = match self.sent {
            0 => Delta::TextStart { block: 0 },
            number if number <= self.pieces => {
                self.ticks.tick().await;
                Delta::Text { block: 0, text: format!("{} ", self.started.elapsed().as_nanos()) }
            }
            number if number == self.pieces + 1 => Delta::TextEnd { block: 0, signature: None },
            number if number == self.pieces + 2 => Delta::Done(Box::new(self.draft.partial_message())),
            _ => return None,
        };
        self.sent += 1;
        self.draft.apply(&delta);
        Some(delta)
    }
}

/// The memory of this process.
fn resident_kilobytes() -> Result<u64, BoxError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
