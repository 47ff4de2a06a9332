//! What the loop does next, for paths written as scripts.

use osier_agent::{Finished, Step, Tail, Waiting, next_step};
use osier_testkit::Script;

fn tail(script: &str) -> Tail {
    let script = Script::run(script);
    Tail::of(&script.tree, script.tree.leaf(), &script.lines)
}

fn step(script: &str) -> Step {
    next_step(&tail(script), Waiting::default())
}

fn names(step: &Step) -> Vec<&str> {
    match step {
        Step::RunTools(calls) | Step::StopCalls(calls) => {
            calls.iter().map(|call| call.name.as_str()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_question_asks_for_the_model_and_an_answer_ends_the_turn() {
    assert_eq!(step(""), Step::Finish(Finished::Done));
    assert_eq!(step("say a"), Step::CallModel);
    assert_eq!(step("say a; reply b"), Step::Finish(Finished::Done));
    assert_eq!(step("say a; reply b; label B; name N"), Step::Finish(Finished::Done));
}

#[test]
fn calls_are_run_and_their_results_go_back_to_the_model() {
    assert_eq!(names(&step("say a; reply b calls read x.txt")), ["read"]);
    assert_eq!(step("say a; reply b calls read x.txt; result ok"), Step::CallModel);
    assert_eq!(names(&step("say a; reply b calls read x.txt; label B")), ["read"], "a mark asks for nothing");
}

#[test]
fn a_cancelled_turn_leaves_no_call_without_a_result() {
    let cancelled = Waiting { cancelled: true, ..Waiting::default() };
    assert_eq!(names(&next_step(&tail("say a; reply b calls read x.txt"), cancelled)), ["read"]);
    assert_eq!(
        next_step(&tail("say a; reply b calls read x.txt; result ok"), cancelled),
        Step::Finish(Finished::Cancelled)
    );
}

#[test]
fn what_the_user_says_meanwhile_is_heard_at_the_next_boundary() {
    let steering = Waiting { steering: true, ..Waiting::default() };
    let follow_up = Waiting { follow_up: true, ..Waiting::default() };
    let between = "say a; reply b calls read x.txt; result ok";
    assert_eq!(next_step(&tail(between), steering), Step::DeliverSteering);
    assert_eq!(next_step(&tail(between), follow_up), Step::CallModel);
    assert_eq!(next_step(&tail("say a; reply b"), follow_up), Step::DeliverFollowUp);
    assert_eq!(
        names(&next_step(&tail("say a; reply b calls read x.txt"), steering)),
        ["read"],
        "never between call and result"
    );
}

#[test]
fn a_backtrack_waits_for_the_results_of_its_batch() {
    let backtrack = Waiting { backtrack: true, ..Waiting::default() };
    assert_eq!(names(&next_step(&tail("say a; reply b calls read x.txt"), backtrack)), ["read"]);
    assert_eq!(next_step(&tail("say a; reply b calls read x.txt; result ok"), backtrack), Step::Backtrack);
}
