//! After a reload, the model gets exactly what it would get live: the next request is the same, byte for
//! byte, in every API.

use std::path::Path;
use std::sync::Arc;

use osier_agent::CompactionConfig;
use osier_model::scripted::ScriptedTurn;
use osier_model::{Api, body_json};
use osier_store::{FileStore, Store};

use crate::harness::Harness;
use crate::prefix_stability::model;
use crate::scenario::{Scenario, ScenarioConfig, env};

const APIS: [Api; 4] =
    [Api::AnthropicMessages, Api::OpenaiCompletions, Api::OpenaiResponses, Api::GoogleGenerativeAi];

const LONG: &str = "
    say one, which is a rather long question about nothing > first, an answer as long as the question
    say two, again a question that takes many words to ask > second, with as many words in its answer
";

fn files(home: &Path) -> Arc<dyn Store> {
    Arc::new(FileStore::new(home.join("sessions"), Some(home.join("cache"))))
}

fn config(api: Api, store: Arc<dyn Store>) -> ScenarioConfig {
    let compaction = CompactionConfig { keep_recent: Some(20), ..CompactionConfig::default() };
    ScenarioConfig { store, model: model(api), compaction, ..ScenarioConfig::backtracking() }
}

/// The body of the request for one more prompt.
async fn next(harness: &Harness) -> String {
    harness.model.push(ScriptedTurn::reply("on it"));
    harness.say("go on").await;
    body_json(&harness.model.requests().pop().unwrap()).unwrap().to_string()
}

/// Runs a script, then sends one more prompt, live and in a process that has only the file.
async fn check(script: &str) {
    for api in APIS {
        let (home, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let scenario = Scenario::run(config(api, files(home.path())), &format!("---\n{script}")).await;
        assert!(
            !scenario.results.iter().any(|results| results.contains("no entry")),
            "{:?}",
            scenario.results
        );
        scenario.session().sync().await.unwrap();
        let copied = std::process::Command::new("cp").arg("-r").args([home.path(), copy.path()]).status();
        assert!(copied.unwrap().success());
        let store = files(&copy.path().join(home.path().file_name().unwrap()));
        let reopened = config(api, store.clone());
        let folder = scenario.harness.folder.clone();
        let reopened =
            Harness::open_in(env(), store, folder, [], |agent_config| reopened.apply_to(agent_config)).await;
        let (live, reloaded) = (next(&scenario.harness).await, next(&reopened).await);
        assert_eq!(live, reloaded, "{api:?} after {script}");
    }
}

#[tokio::test]
async fn after_moves() {
    check("say one > first\n say two > [read a.txt] [read b.txt] > second\n move first").await;
    check("say one > first\n say two > second\n move one").await;
    check("say one > first\n say two > second\n move root").await;
    check("say one > [read a.txt] [read b.txt] > first\n move [read: a.txt]").await;
    check("say one > first\n say two > second\n move two, exact").await;
    check("say one > first\n say two > second\n move first, label x\n undo\n redo").await;
    check("say one > first\n model other\n thinking high\n say two > second\n move first").await;
    check("say one > first\n note remember\n bash echo hi\n say two > second\n move remember").await;
}

#[tokio::test]
async fn after_moves_with_summaries() {
    check("say one > first\n say two > [write c.txt] > second\n move first, summarize > Two was tried.")
        .await;
    check("say one > first\n say two > second\n move root, summarize, label x > All.\n undo\n redo").await;
    check("say one > first\n say two > second\n move first, summarize > Half !cut\n move first").await;
}

#[tokio::test]
async fn after_compactions() {
    check(&format!("{LONG} compact > One was said.")).await;
    check(&format!("{LONG} compact > One was said.\n say three > third\n uncompact")).await;
    check(&format!("{LONG} say three > !overflow > One was said. > third")).await;
    check(&format!("{LONG} compact > One.\n {LONG} compact > One and two.\n move first, summarize > Left."))
        .await;
}

#[tokio::test]
async fn after_backtracks() {
    check("say go > looking [read a.txt] > nothing [back 0 it holds nothing] > done").await;
    check("say one > first\n say go > [write c.txt] > [bash true] > [back 0 written] [read a.txt] > done")
        .await;
    check("say go > [read a.txt] > [ls .] > [back 1 nothing] > [back 0 nothing at all] > done\n undo").await;
    check("say one > first\n model other\n say two > [back 0 other now] > done").await;
    check(&format!("{LONG} compact > One.\n say three > [back 1 again] > done")).await;
    check("say go > [read a.txt] > [back 0 half] !fail\n resume > done").await;
}

#[tokio::test]
async fn after_grafts_and_deletions() {
    let setup_script = "say one > first\n say two > [write c.txt] > second\n move first\n say three > third";
    check(&format!("{setup_script}\n graft second")).await;
    check(&format!("{setup_script}\n graft second, summarize > Two was written down.")).await;
    check(&format!("{setup_script}\n delete three")).await;
    check(&format!("{setup_script}\n delete two\n restore two\n move second")).await;
}
