//! What summaries cost, who writes them, and how they come to terms with a small window.

use std::sync::Arc;

use osier_model::ModelInfo;
use osier_model::scripted::{Scripted, Turn};
use osier_tree::entry::read_entry;
use osier_tree::projection::usage::{Meter, UsageReport, usage_entries};
use osier_tree::summary;
use serde_json::Value;

use crate::picture::asked_of;
use crate::stage::{Props, Stage};

async fn usage(stage: &Stage) -> UsageReport {
    let (script, mut meter) = (stage.script().await, Meter::default());
    for seq in usage_entries(&script.tree) {
        meter.take(seq, &read_entry(&script.lines[seq.index()]).unwrap());
    }
    meter.report(&script.tree, script.tree.leaf())
}

fn writer(window: u64, max_output: u64) -> Option<Arc<ModelInfo>> {
    let model = ModelInfo { id: "writer".to_owned(), context_window: window, max_output, ..Scripted::info() };
    Some(Arc::new(model))
}

/// About so many tokens, told in words that are counted.
fn long(name: &str, tokens: usize) -> String {
    (0..tokens / 2).map(|at| format!("{name}{at:03} ")).collect::<String>().trim_end().to_owned()
}

#[tokio::test]
async fn summaries_count_for_the_model_that_wrote_them() {
    let mut model = ModelInfo { id: "writer".to_owned(), ..Scripted::info() };
    model.price.input = 1.0;
    let props = Props { summary_model: Some(Arc::new(model)), ..Props::default() };
    let scene =
        "say one, a question of many words that fill the line > first, with many words in its answer as well
        say two, a question of many words that fill the line > second, with many words in its answer as well";
    let mut stage = Stage::set(props, scene).await;
    stage.play("compact > One was said. #1000\n move first, summarize > Two was tried. #2000").await;
    let report = usage(&stage).await;
    let writer = report.models.iter().find(|usage| usage.model.as_deref() == Some("writer")).unwrap();
    assert_eq!((writer.usage.input, writer.usage.requests), (3000, 2));
    assert!(writer.usage.cost > 0.0);
    assert_eq!(report.session.input, 3000, "the others told nothing of what they took");
}

#[tokio::test]
async fn a_failed_summary_appends_nothing_and_its_cost_is_recorded_with_the_next_change() {
    let scene = "say one > first\n say two > second";
    let mut stage = Stage::set(Props::default(), scene).await;
    let (before, seen) = (stage.desk.worker.cursor().place(), stage.seen().await);
    let version = stage.session().version();
    stage.play("move first, summarize > Half a #700 !cut\n move first, summarize > Nothing !fail").await;
    assert_eq!(stage.session().version(), version, "nothing is appended");
    assert_eq!((stage.desk.worker.cursor().place(), stage.session().tree().leaf()), (before, before));
    assert_eq!(stage.seen().await, seen);
    assert_eq!(stage.told.len(), 2, "{:?}", stage.told);
    stage.play("say three > third").await;
    let lines = stage.script().await.lines;
    let last: Value = serde_json::from_slice(lines.last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["kind"], &last["model"]),
        (&"usage".into(), &"summary".into(), &"scripted".into())
    );
    let report = usage(&stage).await;
    assert_eq!((report.session.input, report.path.input), (700, 700));
    assert_eq!(lines.iter().filter(|line| line.starts_with(b"{\"type\":\"usage\"")).count(), 1);
    stage.play("move first, summarize > Two was tried. #50").await;
    assert_eq!(usage(&stage).await.session.input, 750);
}

#[tokio::test]
async fn a_long_branch_is_told_from_its_end_as_far_as_the_window_allows() {
    let props = Props { summary_model: writer(8192, 4096), ..Props::default() };
    let mut stage = Stage::set(props, "say one > first").await;
    for at in 0..12 {
        stage.play(&format!("say {} > answer {at}", long(&format!("q{at}x"), 1000))).await;
    }
    stage.play("move first, summarize > Much was tried.").await;
    assert_eq!(stage.told, [""; 0]);
    let request = stage.desk.model.requests().pop().unwrap();
    assert_eq!(request.system, summary::SYSTEM);
    let told = asked_of(&request);
    assert!(told.contains("q11x000") && !told.contains("q0x000"), "the newest is told");
    fits(&request, 8192);
}

/// Question and answer have room in the window, by the guess that four characters are a token.
fn fits(request: &osier_model::Request, window: u64) {
    let asked = (request.system.len() + asked_of(request).len()) as u64 / 4;
    let answer = request.max_tokens.unwrap_or(request.model.max_output);
    assert!(asked + answer <= window, "{asked} + {answer} tokens in a window of {window}");
    assert!(answer >= 500, "only {answer} tokens for the answer");
}

#[tokio::test]
async fn a_long_history_is_summarized_part_by_part() {
    let props = Props { summary_model: writer(8192, 4096), ..Props::default() };
    let mut stage = Stage::set(props, "say one > first").await;
    for at in 0..12 {
        stage.play(&format!("say {} > answer {at}", long(&format!("q{at}x"), 1000))).await;
    }
    let before = stage.desk.model.requests().len();
    // Each summary is as long as it may be.
    for at in 0..9 {
        stage.desk.model.push(Turn::reply(long(&format!("s{at}x"), 700)));
    }
    let compacted = stage.desk.send(osier_agent::Command::Compact { focus: None }).await;
    assert!(matches!(compacted, osier_agent::Reply::Compacted(_)));
    let requests = stage.desk.model.requests().split_off(before);
    assert!(requests.len() > 2, "{} parts", requests.len());
    let told: Vec<String> = requests.iter().map(asked_of).collect();
    for (at, request) in requests.iter().enumerate() {
        fits(request, 8192);
        let carried = at == 0 || told[at].contains(&format!("s{}x000", at - 1));
        assert!(carried, "part {at} carries the summary before it");
    }
    for question in 0..11 {
        let parts = told.iter().filter(|told| told.contains(&format!("q{question}x000"))).count();
        assert_eq!(parts, 1, "question {question}");
    }
    let line: Value = {
        let script = stage.script().await;
        serde_json::from_slice(script.lines.last().unwrap()).unwrap()
    };
    let last = format!("s{}x000", requests.len() - 1);
    assert!(line["summary"].as_str().unwrap().contains(&last));
}
