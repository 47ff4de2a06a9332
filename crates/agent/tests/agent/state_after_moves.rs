//! Derived state follows the leaf: model, thinking level, files read, to-do list.

use crate::scenario::{Scenario, ScenarioConfig};

/// The model, thinking level, files read and to-do list at the cursor.
async fn side_state_text(scenario: &Scenario) -> String {
    let worker = &scenario.harness.worker;
    let (choice, side) = (worker.model_choice().await.unwrap(), worker.side_state().await.unwrap());
    let (model, thinking) = (&choice.model.id, choice.thinking.name());
    format!("{model}, thinking {thinking}, {} files, {} todos", side.files.len(), side.todos.len())
}

const SCENE: &str = "
    say one > first
    model other
    thinking high
    say two > [read a.txt] [todo rest] > second
";

#[tokio::test]
async fn model_thinking_files_and_todos_follow_every_move() {
    let mut scenario = Scenario::set_up(ScenarioConfig::default(), SCENE).await;
    let (here, there) =
        ("other, thinking high, 1 files, 1 todos", "scripted, thinking off, 0 files, 0 todos");
    assert_eq!(side_state_text(&scenario).await, here);
    for (step, expected) in [
        ("move first", there),
        ("undo", here),
        ("redo", there),
        ("say three > third", there),
        ("undo", here),
        ("move first, summarize > Two was tried.", there),
        ("graft second", there),
        ("move root", there),
        ("move assistant: \"second\"", here),
    ] {
        scenario.run_script(step).await;
        assert_eq!(side_state_text(&scenario).await, expected, "after {step}");
    }
    assert_eq!(scenario.results, [""; 0]);
}

#[tokio::test]
async fn model_and_thinking_stay_if_the_setting_is_off() {
    let mut scenario =
        Scenario::set_up(ScenarioConfig { restore_on_move: false, ..ScenarioConfig::default() }, SCENE).await;
    for step in ["move first", "undo", "redo", "undo", "move first, summarize > Two was tried."] {
        scenario.run_script(step).await;
        let side_state_text = side_state_text(&scenario).await;
        assert!(side_state_text.starts_with("other, thinking high"), "after {step}: {side_state_text}");
    }
    assert_eq!(side_state_text(&scenario).await, "other, thinking high, 0 files, 0 todos");
    scenario.run_script("say three > third").await;
    let request = scenario.harness.model.requests().pop().unwrap();
    assert_eq!((&*request.model.id, request.thinking.name()), ("other", "high"));
    let again = scenario.harness.reopen([]).await;
    assert_eq!(again.worker.model_choice().await.unwrap().thinking.name(), "high", "the path records it");
}

#[tokio::test]
async fn model_choice_survives_a_backtrack() {
    let mut scenario =
        Scenario::set_up(ScenarioConfig::backtracking(), "say one > first\n model other\n thinking high")
            .await;
    scenario.run_script("say two > [back 0 again] > done").await;
    assert_eq!(scenario.results, [""; 0]);
    assert_eq!(side_state_text(&scenario).await, "other, thinking high, 0 files, 0 todos");
    let request = scenario.harness.model.requests().pop().unwrap();
    assert_eq!((&*request.model.id, request.thinking.name()), ("other", "high"));
}
