//! The state beside the conversation follows the leaf: model, thinking level, files read, things to do.

use crate::stage::{Props, Stage};

/// What is in force, and what the path tells of the world beside it.
async fn beside(stage: &Stage) -> String {
    let worker = &stage.desk.worker;
    let (choice, side) = (worker.choice().await.unwrap(), worker.side_state().await.unwrap());
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
    let mut stage = Stage::set(Props::default(), SCENE).await;
    let (here, there) =
        ("other, thinking high, 1 files, 1 todos", "scripted, thinking off, 0 files, 0 todos");
    assert_eq!(beside(&stage).await, here);
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
        stage.play(step).await;
        assert_eq!(beside(&stage).await, expected, "after {step}");
    }
    assert_eq!(stage.told, [""; 0]);
}

#[tokio::test]
async fn without_the_setting_model_and_thinking_stay_and_the_rest_follows() {
    let mut stage = Stage::set(Props { restore_on_move: false, ..Props::default() }, SCENE).await;
    for step in ["move first", "undo", "redo", "undo", "move first, summarize > Two was tried."] {
        stage.play(step).await;
        let beside = beside(&stage).await;
        assert!(beside.starts_with("other, thinking high"), "after {step}: {beside}");
    }
    assert_eq!(beside(&stage).await, "other, thinking high, 0 files, 0 todos");
    stage.play("say three > third").await;
    let request = stage.desk.model.requests().pop().unwrap();
    assert_eq!((&*request.model.id, request.thinking.name()), ("other", "high"));
    let again = stage.desk.reopen([]).await;
    assert_eq!(again.worker.choice().await.unwrap().thinking.name(), "high", "the path says so now");
}

#[tokio::test]
async fn the_users_choice_outlives_a_return_of_the_model() {
    let mut stage = Stage::set(Props::backtracking(), "say one > first\n model other\n thinking high").await;
    stage.play("say two > [back 0 again] > done").await;
    assert_eq!(stage.told, [""; 0]);
    assert_eq!(beside(&stage).await, "other, thinking high, 0 files, 0 todos");
    let request = stage.desk.model.requests().pop().unwrap();
    assert_eq!((&*request.model.id, request.thinking.name()), ("other", "high"));
}
