//! Measures sub-agents: how long 8 tasks take from the call to their requests, and the memory of 32 that wait for their model.
//! `cargo run --release -p osier-engine --example sub_agents`.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use osier_engine::{
    AgentBudget, AgentLibrary, AgentSpec, ConfiguredStore, Engine, EngineConfig, KeepWhen, ModelCatalog,
    NewSession, SubagentConfig, Workspace,
};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{CancellationToken, DeltaStream, Environment, Message, Model, Registry, Request};
use osier_protocol::{Client, ClientCommand, ClientEvent};
use osier_tools::{CommandEnv, ToolContext, ToolSet};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How often each of them is measured; the median counts.
const ROUNDS: usize = 11;

/// How long the requests of 8 tasks may take after the first one, in milliseconds.
const MAX_START: f64 = 20.0;

/// The memory of an idle task, in kilobytes.
const MAX_MEMORY: f64 = 2_000.0;

/// How long canceling 32 tasks may take, in milliseconds.
const MAX_CANCEL: f64 = 1_000.0;

fn main() -> Result<(), BoxError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        // The first run also loads what all of them need.
        start(8).await?;
        let mut starts = Vec::new();
        for _ in 0..ROUNDS {
            starts.push(start(8).await?);
        }
        let (mut memory, mut cancels) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (each, cancel) = idle(32).await?;
            memory.push(each);
            cancels.push(cancel);
        }
        let is_met = [
            report("starting 8 tasks", starts, "ms", MAX_START),
            report("each of 32 idle tasks", memory, "kB", MAX_MEMORY),
            report("canceling 32 tasks", cancels, "ms", MAX_CANCEL),
        ];
        match is_met.contains(&false) {
            true => Err("a target is missed".into()),
            false => Ok(()),
        }
    })
}

/// Prints the median and the range. Returns whether the median is below the target.
fn report(name: &str, mut values: Vec<f64>, unit: &str, target: f64) -> bool {
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    let (least, most) = (values[0], values[values.len() - 1]);
    let verdict = if median < target { "met" } else { "MISSED" };
    println!("{name:<24} {median:>8.1} {unit}  ({least:.1} to {most:.1}; target: below {target}: {verdict})");
    median < target
}

/// The milliseconds from the reply with the call to the request of the last task.
async fn start(tasks: usize) -> Result<f64, BoxError> {
    let model = Arc::new(WaitingModel::default());
    let run = Run::new(&model, tasks).await?;
    let _ = model.requests.acquire_many(tasks as u32).await?;
    let times = model.times.lock().map_err(|_| "poisoned")?.clone();
    run.end().await?;
    let (first, last) = (times.first().ok_or("no request")?, times.last().ok_or("no request")?);
    Ok((*last - *first).as_secs_f64() * 1000.0)
}

/// The kilobytes of each task that waits for its model, and the milliseconds until all of them are canceled.
async fn idle(tasks: usize) -> Result<(f64, f64), BoxError> {
    // What one run leaves in the process is not counted.
    start(tasks).await?;
    let model = Arc::new(WaitingModel::default());
    let before = resident_kilobytes()?;
    let run = Run::new(&model, tasks).await?;
    let _ = model.requests.acquire_many(tasks as u32).await?;
    let each = resident_kilobytes()?.saturating_sub(before) as f64 / tasks as f64;
    let began = Instant::now();
    run.end().await?;
    Ok((each, began.elapsed().as_secs_f64() * 1000.0))
}

/// A delegation whose tasks wait for their model.
struct Run {
    engine: Engine,
    client: osier_engine::LocalClient,
    _folder: tempfile::TempDir,
}

impl Run {
    async fn new(model: &Arc<WaitingModel>, tasks: usize) -> Result<Run, BoxError> {
        let folder = tempfile::tempdir()?;
        let engine = engine(folder.path());
        let new = NewSession {
            store: "file".to_owned(),
            cwd: "/here".to_owned(),
            agent: "main".to_owned(),
            keep: KeepWhen::Always,
        };
        let live = engine.create(&new).await?;
        let client = engine.connect(&live, &spec(folder.path(), model.clone())).await?;
        client.send(ClientCommand::prompt(tasks.to_string())).await?;
        Ok(Run { engine, client, _folder: folder })
    }

    async fn end(self) -> Result<(), BoxError> {
        let mut events = self.client.attach(None).await?.events;
        self.client.send(ClientCommand::Cancel).await?;
        while !matches!(events.next().await, Some(ClientEvent::TurnEnded { .. }) | None) {}
        drop(self.client);
        self.engine.close(Duration::from_secs(10)).await;
        Ok(())
    }
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

fn spec(folder: &Path, model: Arc<WaitingModel>) -> AgentSpec {
    let models = ModelCatalog {
        model,
        registry: Arc::new(Registry::built_in()),
        environment: Environment::empty(),
        default_model: None,
        summary_model: None,
        own_providers: Vec::new(),
    };
    let context = ToolContext::new(folder, folder.join("output"), CommandEnv::new([]));
    let subagents = SubagentConfig {
        library: AgentLibrary::default(),
        max_parallel: 64,
        max_depth: 1,
        budget: AgentBudget::default(),
    };
    let workspace = Workspace {
        tools: ToolSet::standard(),
        subagents: Some(subagents),
        ..Workspace::new(models, context)
    };
    AgentSpec::new(Arc::new(workspace), Arc::new(ScriptedModel::info()))
}

/// A model that delegates as many tasks as the prompt says; the tasks wait.
#[derive(Debug)]
struct WaitingModel {
    /// When the call was made, and when each task sent its request.
    times: Mutex<Vec<Instant>>,
    /// A permit for each request of a task.
    requests: Semaphore,
}

impl Default for WaitingModel {
    fn default() -> WaitingModel {
        WaitingModel { times: Mutex::default(), requests: Semaphore::new(0) }
    }
}

impl Model for WaitingModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        let text = request.messages.iter().rev().find_map(|message| match message {
            Message::User(user) => serde_json::to_value(&user.content).ok(),
            _ => None,
        });
        let text = text.and_then(|content| Some(content[0]["text"].as_str()?.to_owned()));
        if let Ok(mut times) = self.times.lock() {
            times.push(Instant::now());
        }
        let turn = match text.and_then(|text| text.parse::<usize>().ok()) {
            Some(count) => {
                let tasks: Vec<Value> =
                    (0..count).map(|number| json!({ "prompt": format!("task {number}") })).collect();
                ScriptedTurn::new().call("c", "task", &json!({ "tasks": tasks }))
            }
            None => {
                self.requests.add_permits(1);
                ScriptedTurn::new().hang()
            }
        };
        ScriptedModel::new([turn]).stream(request, cancel)
    }
}

/// The memory of this process.
fn resident_kilobytes() -> Result<u64, BoxError> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
