//! The cost of summaries, the model that writes them, and small context windows.

use std::sync::Arc;

use osier_model::ModelInfo;
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_tree::entry::parse_entry;
use osier_tree::projection::usage::{UsageMeter, UsageReport, usage_entries};
use osier_tree::summary;
use serde_json::Value;

use crate::render::request_text;
use crate::scenario::{Scenario, ScenarioConfig};

async fn usage(scenario: &Scenario) -> UsageReport {
    let (script, mut meter) = (scenario.script().await, UsageMeter::default());
    for seq in usage_entries(&script.tree) {
        meter.add_entry(seq, &parse_entry(&script.lines[seq.index()]).unwrap());
    }
    meter.report(&script.tree, script.tree.leaf())
}

fn writer(window: u64, max_output: u64) -> Option<Arc<ModelInfo>> {
    let model =
        ModelInfo { id: "writer".to_owned(), context_window: window, max_output, ..ScriptedModel::info() };
    Some(Arc::new(model))
}

/// About this many tokens, in numbered words.
fn long(name: &str, tokens: usize) -> String {
    (0..tokens / 2).map(|at| format!("{name}{at:03} ")).collect::<String>().trim_end().to_owned()
}

#[tokio::test]
async fn usage_counts_for_the_model_that_wrote_the_summary() {
    let mut model = ModelInfo { id: "writer".to_owned(), ..ScriptedModel::info() };
    model.price.input = 1.0;
    let config = ScenarioConfig { summary_model: Some(Arc::new(model)), ..ScenarioConfig::default() };
    let setup_script =
        "say one, a question of many words that fill the line > first, with many words in its answer as well
        say two, a question of many words that fill the line > second, with many words in its answer as well";
    let mut scenario = Scenario::set_up(config, setup_script).await;
    scenario.run_script("compact > One was said. #1000\n move first, summarize > Two was tried. #2000").await;
    let report = usage(&scenario).await;
    let writer = report.models.iter().find(|usage| usage.model.as_deref() == Some("writer")).unwrap();
    assert_eq!((writer.usage.input, writer.usage.requests), (3000, 2));
    assert!(writer.usage.cost > 0.0);
    assert_eq!(report.session.input, 3000, "the other replies reported no usage");
}

#[tokio::test]
async fn cost_of_a_failed_summary_is_stored_with_the_next_change() {
    let setup_script = "say one > first\n say two > second";
    let mut scenario = Scenario::set_up(ScenarioConfig::default(), setup_script).await;
    let (before, seen) = (scenario.harness.worker.cursor().position(), scenario.seen().await);
    let version = scenario.session().version();
    scenario
        .run_script("move first, summarize > Half a #700 !cut\n move first, summarize > Nothing !fail")
        .await;
    assert_eq!(scenario.session().version(), version, "nothing is appended");
    assert_eq!(
        (scenario.harness.worker.cursor().position(), scenario.session().tree().leaf()),
        (before, before)
    );
    assert_eq!(scenario.seen().await, seen);
    assert_eq!(scenario.results.len(), 2, "{:?}", scenario.results);
    scenario.run_script("say three > third").await;
    let lines = scenario.script().await.lines;
    let last: Value = serde_json::from_slice(lines.last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["kind"], &last["model"]),
        (&"usage".into(), &"summary".into(), &"scripted".into())
    );
    let report = usage(&scenario).await;
    assert_eq!((report.session.input, report.path.input), (700, 700));
    assert_eq!(lines.iter().filter(|line| line.starts_with(b"{\"type\":\"usage\"")).count(), 1);
    scenario.run_script("move first, summarize > Two was tried. #50").await;
    assert_eq!(usage(&scenario).await.session.input, 750);
}

#[tokio::test]
async fn summary_of_a_long_branch_covers_its_end() {
    let config = ScenarioConfig { summary_model: writer(8192, 4096), ..ScenarioConfig::default() };
    let mut scenario = Scenario::set_up(config, "say one > first").await;
    for at in 0..12 {
        scenario.run_script(&format!("say {} > answer {at}", long(&format!("q{at}x"), 1000))).await;
    }
    scenario.run_script("move first, summarize > Much was tried.").await;
    assert_eq!(scenario.results, [""; 0]);
    let request = scenario.harness.model.requests().pop().unwrap();
    assert_eq!(request.system, summary::SYSTEM_PROMPT);
    let lines = request_text(&request);
    assert!(lines.contains("q11x000") && !lines.contains("q0x000"), "the newest messages are included");
    fits(&request, 8192);
}

/// The request and its answer fit into the window, at an estimated four characters per token.
fn fits(request: &osier_model::Request, window: u64) {
    let asked = (request.system.len() + request_text(request).len()) as u64 / 4;
    let answer = request.max_tokens.unwrap_or(request.model.max_output);
    assert!(asked + answer <= window, "{asked} + {answer} tokens in a window of {window}");
    assert!(answer >= 500, "only {answer} tokens for the answer");
}

#[tokio::test]
async fn long_history_is_summarized_in_parts() {
    let config = ScenarioConfig { summary_model: writer(8192, 4096), ..ScenarioConfig::default() };
    let mut scenario = Scenario::set_up(config, "say one > first").await;
    for at in 0..12 {
        scenario.run_script(&format!("say {} > answer {at}", long(&format!("q{at}x"), 1000))).await;
    }
    let before = scenario.harness.model.requests().len();
    // Each summary is as long as its limit allows.
    for at in 0..9 {
        scenario.harness.model.push(ScriptedTurn::reply(long(&format!("s{at}x"), 700)));
    }
    let compacted = scenario.harness.send(osier_protocol::ClientCommand::Compact { focus: None }).await;
    assert!(matches!(compacted, osier_protocol::CommandReply::Compacted(_)));
    let requests = scenario.harness.model.requests().split_off(before);
    assert!(requests.len() > 2, "{} parts", requests.len());
    let lines: Vec<String> = requests.iter().map(request_text).collect();
    for (at, request) in requests.iter().enumerate() {
        fits(request, 8192);
        let carried = at == 0 || lines[at].contains(&format!("s{}x000", at - 1));
        assert!(carried, "part {at} includes the previous summary");
    }
    for question in 0..11 {
        let agent_config = lines.iter().filter(|lines| lines.contains(&format!("q{question}x000"))).count();
        assert_eq!(agent_config, 1, "question {question}");
    }
    let line: Value = {
        let script = scenario.script().await;
        serde_json::from_slice(script.lines.last().unwrap()).unwrap()
    };
    let last = format!("s{}x000", requests.len() - 1);
    assert!(line["summary"].as_str().unwrap().contains(&last));
}
