//! The next step of the loop, for paths written as scripts.

use osier_agent::{NextStep, PendingWork, Tail, next_step};
use osier_protocol::TurnOutcome;
use osier_testkit::ScriptedSession;
use osier_tree::EntryReason;

fn tail(script: &str) -> Tail {
    let script = ScriptedSession::run(script);
    Tail::from_path(&script.tree, script.tree.leaf(), &script.lines)
}

fn step(script: &str) -> NextStep {
    next_step(&tail(script), PendingWork::default())
}

fn names(step: &NextStep) -> Vec<&str> {
    match step {
        NextStep::RunTools(calls) | NextStep::StopCalls(calls, _) => {
            calls.iter().map(|call| call.name.as_str()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn prompt_calls_the_model_and_a_reply_ends_the_turn() {
    assert_eq!(step(""), NextStep::Finish(TurnOutcome::Done));
    assert_eq!(step("say a"), NextStep::CallModel);
    assert_eq!(step("say a; reply b"), NextStep::Finish(TurnOutcome::Done));
    assert_eq!(step("say a; reply b; label B; name N"), NextStep::Finish(TurnOutcome::Done));
}

#[test]
fn calls_run_and_results_go_to_the_model() {
    assert_eq!(names(&step("say a; reply b calls read x.txt")), ["read"]);
    assert_eq!(step("say a; reply b calls read x.txt; result ok"), NextStep::CallModel);
    assert_eq!(names(&step("say a; reply b calls read x.txt; label B")), ["read"], "marks are skipped");
}

#[test]
fn canceled_turn_gives_every_call_a_result() {
    let cancelled = PendingWork { cancelled: true, ..PendingWork::default() };
    assert_eq!(names(&next_step(&tail("say a; reply b calls read x.txt"), cancelled)), ["read"]);
    assert_eq!(
        next_step(&tail("say a; reply b calls read x.txt; result ok"), cancelled),
        NextStep::Finish(TurnOutcome::Cancelled)
    );
}

#[test]
fn queued_prompts_are_delivered_at_the_next_boundary() {
    let steering = PendingWork { steering: true, ..PendingWork::default() };
    let follow_up = PendingWork { follow_up: true, ..PendingWork::default() };
    let between = "say a; reply b calls read x.txt; result ok";
    assert_eq!(next_step(&tail(between), steering), NextStep::DeliverSteering);
    assert_eq!(next_step(&tail(between), follow_up), NextStep::CallModel);
    assert_eq!(next_step(&tail("say a; reply b"), follow_up), NextStep::DeliverFollowUp);
    assert_eq!(
        names(&next_step(&tail("say a; reply b calls read x.txt"), steering)),
        ["read"],
        "never between a call and its result"
    );
}

#[test]
fn backtrack_waits_for_the_results_of_its_batch() {
    let backtrack = PendingWork { backtrack: true, ..PendingWork::default() };
    assert_eq!(names(&next_step(&tail("say a; reply b calls read x.txt"), backtrack)), ["read"]);
    assert_eq!(
        next_step(&tail("say a; reply b calls read x.txt; result ok"), backtrack),
        NextStep::Backtrack
    );
}

#[test]
fn irrelevant_entries_are_skipped() {
    let asked = "say a; model p/m; thinking high; bash ls; note x hello; custom y; name N";
    assert_eq!(step(asked), NextStep::CallModel);
    assert_eq!(step("say a; reply b; bash ls; model p/m"), NextStep::Finish(TurnOutcome::Done));
    assert_eq!(
        names(&step("say a; reply b calls read x.txt, read y.txt; bash ls; result ok; model p/m")),
        ["read"]
    );
    assert_eq!(step("say a; reply b calls read x.txt; result ok; compact keep b S"), NextStep::CallModel);
    assert_eq!(step("model p/m; system S"), NextStep::Finish(TurnOutcome::Done), "no message");
}

#[test]
fn calls_from_before_the_turn_never_run() {
    let left_behind = PendingWork { calls_from_before_turn: true, ..PendingWork::default() };
    let open = tail("say a; reply b calls read x.txt");
    assert_eq!(
        next_step(&open, left_behind),
        NextStep::CallModel,
        "the request marks the call as interrupted"
    );
    let steering = PendingWork { steering: true, ..left_behind };
    assert_eq!(next_step(&open, steering), NextStep::DeliverSteering);
    let cancelled = PendingWork { cancelled: true, ..left_behind };
    assert_eq!(next_step(&open, cancelled), NextStep::Finish(TurnOutcome::Cancelled));
}

#[test]
fn calls_of_an_interrupted_reply_get_results_without_running() {
    for (reason, why, finished) in [
        ("error", EntryReason::Error, TurnOutcome::Failed),
        ("aborted", EntryReason::Aborted, TurnOutcome::Cancelled),
        ("length", EntryReason::Length, TurnOutcome::CutOff),
    ] {
        let call = r#"{"type":"toolCall","id":"c","name":"read","arguments":{}}"#;
        let reply = format!(
            r#"say a; entry {{"type":"message","message":{{"role":"assistant","content":[{call}],"stopReason":"{reason}"}}}}"#
        );
        assert!(
            matches!(step(&reply), NextStep::StopCalls(calls, stop) if calls.len() == 1 && stop == why),
            "{reason}"
        );
        assert_eq!(step(&format!("{reply}; error not run")), NextStep::Finish(finished), "{reason}");
    }
}

#[test]
fn backtrack_note_calls_the_model_after_steering() {
    let returned = tail("say a; reply b calls read x.txt; result ok; backtrack 0 n; model p/m");
    assert_eq!(returned, Tail::Backtracked);
    assert_eq!(next_step(&returned, PendingWork::default()), NextStep::CallModel);
    let steering = PendingWork { steering: true, context_full: true, ..PendingWork::default() };
    assert_eq!(next_step(&returned, steering), NextStep::DeliverSteering);
    assert_eq!(
        next_step(&returned, PendingWork { context_full: true, ..PendingWork::default() }),
        NextStep::Compact
    );
    let cancelled = PendingWork { cancelled: true, ..steering };
    assert_eq!(next_step(&returned, cancelled), NextStep::Finish(TurnOutcome::Cancelled));
}

#[test]
fn overflow_recovers_and_compaction_precedes_model_calls() {
    let overflowed = PendingWork { context_overflowed: true, context_full: true, ..PendingWork::default() };
    assert_eq!(next_step(&tail("say a; fail too long"), overflowed), NextStep::Recover);
    assert_eq!(next_step(&tail("say a; reply b"), overflowed), NextStep::Finish(TurnOutcome::Done));
    assert_eq!(names(&next_step(&tail("say a; reply b calls read x.txt"), overflowed)), ["read"]);
    assert_eq!(next_step(&tail("say a"), overflowed), NextStep::Compact);
    let cancelled = PendingWork { cancelled: true, ..overflowed };
    assert_eq!(next_step(&tail("say a; fail too long"), cancelled), NextStep::Finish(TurnOutcome::Cancelled));
    assert_eq!(next_step(&tail("say a"), cancelled), NextStep::Finish(TurnOutcome::Cancelled));
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
        let played = ScriptedSession::run(script);
        assert_eq!(played.tree.awaits_response(played.tree.leaf()), waits, "{script}");
        let does = !matches!(tail(script), Tail::Replied(_) | Tail::Empty);
        assert_eq!(does, waits, "{script}");
    }
}
