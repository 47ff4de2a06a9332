//! The next step of the loop, for paths written as scripts.

use osier_agent::{Finished, Step, Tail, Waiting, next_step};
use osier_testkit::Script;
use osier_tree::Why;

fn tail(script: &str) -> Tail {
    let script = Script::run(script);
    Tail::of(&script.tree, script.tree.leaf(), &script.lines)
}

fn step(script: &str) -> Step {
    next_step(&tail(script), Waiting::default())
}

fn names(step: &Step) -> Vec<&str> {
    match step {
        Step::RunTools(calls) | Step::StopCalls(calls, _) => {
            calls.iter().map(|call| call.name.as_str()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn prompt_calls_the_model_and_a_reply_ends_the_turn() {
    assert_eq!(step(""), Step::Finish(Finished::Done));
    assert_eq!(step("say a"), Step::CallModel);
    assert_eq!(step("say a; reply b"), Step::Finish(Finished::Done));
    assert_eq!(step("say a; reply b; label B; name N"), Step::Finish(Finished::Done));
}

#[test]
fn calls_run_and_results_go_to_the_model() {
    assert_eq!(names(&step("say a; reply b calls read x.txt")), ["read"]);
    assert_eq!(step("say a; reply b calls read x.txt; result ok"), Step::CallModel);
    assert_eq!(names(&step("say a; reply b calls read x.txt; label B")), ["read"], "marks are skipped");
}

#[test]
fn canceled_turn_gives_every_call_a_result() {
    let cancelled = Waiting { cancelled: true, ..Waiting::default() };
    assert_eq!(names(&next_step(&tail("say a; reply b calls read x.txt"), cancelled)), ["read"]);
    assert_eq!(
        next_step(&tail("say a; reply b calls read x.txt; result ok"), cancelled),
        Step::Finish(Finished::Cancelled)
    );
}

#[test]
fn queued_prompts_are_delivered_at_the_next_boundary() {
    let steering = Waiting { steering: true, ..Waiting::default() };
    let follow_up = Waiting { follow_up: true, ..Waiting::default() };
    let between = "say a; reply b calls read x.txt; result ok";
    assert_eq!(next_step(&tail(between), steering), Step::DeliverSteering);
    assert_eq!(next_step(&tail(between), follow_up), Step::CallModel);
    assert_eq!(next_step(&tail("say a; reply b"), follow_up), Step::DeliverFollowUp);
    assert_eq!(
        names(&next_step(&tail("say a; reply b calls read x.txt"), steering)),
        ["read"],
        "never between a call and its result"
    );
}

#[test]
fn backtrack_waits_for_the_results_of_its_batch() {
    let backtrack = Waiting { backtrack: true, ..Waiting::default() };
    assert_eq!(names(&next_step(&tail("say a; reply b calls read x.txt"), backtrack)), ["read"]);
    assert_eq!(next_step(&tail("say a; reply b calls read x.txt; result ok"), backtrack), Step::Backtrack);
}

#[test]
fn irrelevant_entries_are_skipped() {
    let asked = "say a; model p/m; thinking high; bash ls; note x hello; custom y; name N";
    assert_eq!(step(asked), Step::CallModel);
    assert_eq!(step("say a; reply b; bash ls; model p/m"), Step::Finish(Finished::Done));
    assert_eq!(
        names(&step("say a; reply b calls read x.txt, read y.txt; bash ls; result ok; model p/m")),
        ["read"]
    );
    assert_eq!(step("say a; reply b calls read x.txt; result ok; compact keep b S"), Step::CallModel);
    assert_eq!(step("model p/m; system S"), Step::Finish(Finished::Done), "no message");
}

#[test]
fn calls_from_before_the_turn_never_run() {
    let left_behind = Waiting { left_behind: true, ..Waiting::default() };
    let open = tail("say a; reply b calls read x.txt");
    assert_eq!(next_step(&open, left_behind), Step::CallModel, "the request marks the call as interrupted");
    let steering = Waiting { steering: true, ..left_behind };
    assert_eq!(next_step(&open, steering), Step::DeliverSteering);
    let cancelled = Waiting { cancelled: true, ..left_behind };
    assert_eq!(next_step(&open, cancelled), Step::Finish(Finished::Cancelled));
}

#[test]
fn calls_of_an_interrupted_reply_get_results_without_running() {
    for (reason, why, finished) in [
        ("error", Why::Error, Finished::Failed),
        ("aborted", Why::Aborted, Finished::Cancelled),
        ("length", Why::Length, Finished::CutOff),
    ] {
        let call = r#"{"type":"toolCall","id":"c","name":"read","arguments":{}}"#;
        let reply = format!(
            r#"say a; entry {{"type":"message","message":{{"role":"assistant","content":[{call}],"stopReason":"{reason}"}}}}"#
        );
        assert!(
            matches!(step(&reply), Step::StopCalls(calls, stop) if calls.len() == 1 && stop == why),
            "{reason}"
        );
        assert_eq!(step(&format!("{reply}; error not run")), Step::Finish(finished), "{reason}");
    }
}

#[test]
fn backtrack_note_calls_the_model_after_steering() {
    let returned = tail("say a; reply b calls read x.txt; result ok; backtrack 0 n; model p/m");
    assert_eq!(returned, Tail::Returned);
    assert_eq!(next_step(&returned, Waiting::default()), Step::CallModel);
    let steering = Waiting { steering: true, full: true, ..Waiting::default() };
    assert_eq!(next_step(&returned, steering), Step::DeliverSteering);
    assert_eq!(next_step(&returned, Waiting { full: true, ..Waiting::default() }), Step::Compact);
    let cancelled = Waiting { cancelled: true, ..steering };
    assert_eq!(next_step(&returned, cancelled), Step::Finish(Finished::Cancelled));
}

#[test]
fn overflow_recovers_and_compaction_precedes_model_calls() {
    let overflowed = Waiting { overflowed: true, full: true, ..Waiting::default() };
    assert_eq!(next_step(&tail("say a; fail too long"), overflowed), Step::Recover);
    assert_eq!(next_step(&tail("say a; reply b"), overflowed), Step::Finish(Finished::Done));
    assert_eq!(names(&next_step(&tail("say a; reply b calls read x.txt"), overflowed)), ["read"]);
    assert_eq!(next_step(&tail("say a"), overflowed), Step::Compact);
    let cancelled = Waiting { cancelled: true, ..overflowed };
    assert_eq!(next_step(&tail("say a; fail too long"), cancelled), Step::Finish(Finished::Cancelled));
    assert_eq!(next_step(&tail("say a"), cancelled), Step::Finish(Finished::Cancelled));
}

#[test]
fn tail_is_open_while_the_loop_has_work() {
    let stopped = r#"{"type":"message","message":{"role":"assistant","stopReason":"aborted","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}]}}"#;
    for (script, waits) in [
        ("", false),
        ("model p/m; system S", false),
        ("say a; model p/m; thinking high; system S", true),
        ("say a; reply b", false),
        ("say a; reply b; model p/m; summarize S; note x hi", false),
        ("say a; reply b calls read x.txt; model p/m", true),
        ("say a; reply b calls read x.txt; result ok; model p/m", true),
        ("say a; reply b calls read x.txt; result ok; compact keep b S", true),
        ("say a; reply b calls read x.txt; result ok; backtrack 0 n; model p/m", true),
        ("say a; fail gone; model p/m", false),
        (&format!("say a; entry {stopped}"), true),
        (&format!("say a; entry {stopped}; error not run"), false),
    ] {
        let played = Script::run(script);
        assert_eq!(played.tree.is_waiting(played.tree.leaf()), waits, "{script}");
        let does = !matches!(tail(script), Tail::Said(_) | Tail::Nothing);
        assert_eq!(does, waits, "{script}");
    }
}
