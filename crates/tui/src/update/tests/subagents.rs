//! Tasks of sub-agents: their state while they run, and the questions of their agents.

use osier_protocol::ClientEvent;
use osier_protocol::subagents::TaskPanel;
use osier_protocol::usage::UsageTotals;

use crate::msg::{JoinedSession, Msg, TaskList};
use crate::testing::{Harness, command_question};

fn task(number: u64, status: &str, activity: Option<&str>) -> ClientEvent {
    let panel = TaskPanel {
        key: format!("b:{number}"),
        task_id: format!("b-{number}"),
        sort_order: number,
        agent: Some("explore".to_owned()),
        title: format!("question {number}"),
        status: status.to_owned(),
        activity: activity.map(str::to_owned),
        turns: 2,
        tool_calls: 3,
        usage: UsageTotals { total_tokens: 1500, requests: 2, ..UsageTotals::default() },
        ..TaskPanel::default()
    };
    ClientEvent::SubagentTask {
        batch_id: "b".to_owned(),
        call: "call_2_0".to_owned(),
        panel: Box::new(panel),
    }
}

/// A turn whose only call is `task`, with these states of its tasks.
fn with_tasks(columns: u16, rows: u16, events: Vec<ClientEvent>) -> (Harness, String) {
    let mut harness = Harness::with_session(columns, rows, "say a");
    harness.event(ClientEvent::TurnStarted);
    harness.run_steps("reply calls task x");
    let call = harness.state.transcript.pending_calls()[0].id.clone();
    for event in events {
        let ClientEvent::SubagentTask { batch_id, panel, .. } = event else { continue };
        harness.event(ClientEvent::SubagentTask { batch_id, call: call.clone(), panel });
    }
    (harness, call)
}

#[test]
fn every_task_shows_its_state_and_what_it_does() {
    let events = vec![
        task(1, "running", Some("grep main")),
        task(2, "queued", None),
        task(1, "running", Some("read a.rs")),
    ];
    let (mut harness, call) = with_tasks(80, 24, events);
    let text = harness.text();
    assert!(text.contains("● task  0 of 2 tasks done · 3.0k tokens"), "{text}");
    assert!(text.contains("  ├─ ⣾ explore  question 1"), "{text}");
    assert!(text.contains("3 calls · 1.5k tokens\n  │    read a.rs"), "{text}");
    assert!(text.contains("  └─ ○ explore  question 2"), "{text}");
    assert!(text.contains("queued") && !text.contains("grep main"), "{text}");
    assert!(text.contains("alt+a open a task"), "{text}");
    harness.event(ClientEvent::ToolEnded { call, is_error: false });
    assert!(!harness.text().contains("question 1"), "{}", harness.text());
}

#[test]
fn running_tasks_are_shown_before_others_if_there_is_little_room() {
    let mut events: Vec<ClientEvent> = (1..=12).map(|number| task(number, "completed", None)).collect();
    events.push(task(7, "running", Some("make")));
    for (columns, rows) in [(80, 24), (40, 12)] {
        let (harness, _) = with_tasks(columns, rows, events.clone());
        let text = harness.text();
        assert!(text.contains("11 of 12 tasks done"), "{text}");
        assert!(text.contains("question 7"), "{text}");
        assert_eq!(text.contains("└─ 7 more: 7 completed"), rows == 12, "{text}");
        assert!(text.lines().all(|line| crate::text::width(line) <= usize::from(columns)), "{text}");
    }
}

fn stored(kind: &str, status: &str, answer: &str) -> String {
    let task = serde_json::json!({ "id": "1", "agent": "explore", "title": "find it", "prompt": "find" });
    let result = serde_json::json!({
        "id": "1", "agent": "explore", "title": "find it", "status": status, "summary": answer, "toolCalls": 2,
        "usage": { "totalTokens": 900 }, "startedAt": 1000, "endedAt": 63_000, "sessionId": "4f89da11-5e7b",
    });
    let content = match kind {
        "subagent_batch" => serde_json::json!({ "tasks": [task] }),
        _ => serde_json::json!({ "results": [result] }),
    };
    let mut entry = serde_json::json!({ "type": kind, "content": content });
    entry["content"]["batchId"] = "b".into();
    entry["content"]["status"] = status.into();
    entry["content"]["toolCallId"] = "call_2_0".into();
    entry.to_string()
}

#[test]
fn a_stored_batch_and_its_results_are_one_card() {
    let steps = format!(
        "say a\nreply calls task x\nentry {}\nentry {}\nresult done\nreply ok",
        stored("subagent_batch", "completed", ""),
        stored("subagent_result", "completed", "It is here.\n\n- a.rs\n- b.rs"),
    );
    let mut harness = Harness::with_session(80, 30, &steps);
    let text = harness.text();
    assert_eq!(text.matches("find it").count(), 1, "{text}");
    assert_eq!(text.matches("● task").count(), 1, "{text}");
    assert!(text.contains("● task  1 task completed · 900 tokens · 1:02 min"), "{text}");
    assert!(text.contains("  └─ ✓ explore  find it"), "{text}");
    assert!(
        text.contains("2 calls · 900 tokens · 1:02 min\n       It is here. … 2 more lines (ctrl+o)"),
        "{text}"
    );
    harness.press("ctrl+o");
    let text = harness.text();
    assert!(text.contains("b.rs") && text.contains("session 4f89da11, alt+a opens it"), "{text}");
}

#[test]
fn the_card_tells_how_many_tasks_ended_in_which_way() {
    let result = |id: &str, status: &str| serde_json::json!({ "id": id, "title": id, "status": status });
    let results =
        [result("1", "completed"), result("2", "cancelled"), result("3", "completed"), result("4", "failed")];
    let entry = serde_json::json!({ "type": "subagent_result", "content": {
        "batchId": "b", "status": "cancelled", "toolCallId": "call_2_0", "results": results,
    }});
    let harness = Harness::with_session(80, 30, &format!("say a\nreply calls task x\nentry {entry}"));
    let text = harness.text();
    assert!(text.contains("● task  4 tasks: 2 completed, 1 failed, 1 canceled"), "{text}");
}

#[test]
fn an_interrupted_batch_shows_its_tasks() {
    let batch = |status: &str| stored("subagent_batch", status, "");
    let mut harness = Harness::with_session(70, 20, "say a");
    harness.event(ClientEvent::TurnStarted);
    harness.run_steps(&format!("reply calls task x\nentry {}", batch("running")));
    let text = harness.text();
    assert!(!text.contains("interrupted") && !text.contains("find it"), "{text}");
    let interrupted =
        Harness::with_session(70, 20, &format!("say a\nreply calls task x\nentry {}", batch("interrupted")));
    let text = interrupted.text();
    assert!(text.contains("● task  1 task interrupted") && text.contains("■ explore  find it"), "{text}");
    assert!(!text.contains("no result"), "{text}");
}

#[test]
fn tasks_that_a_turn_continues_are_shown_live() {
    let batch = stored("subagent_batch", "interrupted", "");
    let mut harness = Harness::with_session(70, 20, &format!("say a\nreply calls task x\nentry {batch}"));
    harness.take_actions();
    harness.event(ClientEvent::TurnStarted);
    assert_eq!(harness.take_actions(), "ShowPath { moved: None }\n");
    let mut other = Harness::with_session(70, 20, "say a\nreply ok");
    other.take_actions();
    other.event(ClientEvent::TurnStarted);
    assert_eq!(other.take_actions(), "");
}

#[test]
fn the_time_of_a_turn_counts_from_its_start_and_not_from_the_switch_to_its_session() {
    let mut harness = Harness::with_session(70, 20, "say a");
    harness.state.clock.now = 1_000_000;
    let joined =
        JoinedSession { turn_running: true, turn_started: Some(935_000), ..JoinedSession::default() };
    harness.update(Msg::Joined(Box::new(joined)));
    assert!(harness.text().contains("1:05 min"), "{}", harness.text());
    harness.event(ClientEvent::TurnStarted);
    assert!(harness.text().contains(" 0 s"), "{}", harness.text());
}

#[test]
fn alt_a_opens_a_task_and_returns() {
    let mut harness = Harness::with_session(80, 24, "say a");
    harness.press("alt+a");
    assert!(harness.take_actions().contains("ListTasks"));
    let panel = |number: u64, session: &str| TaskPanel {
        agent: Some("explore".to_owned()),
        title: format!("question {number}"),
        status: "running".to_owned(),
        session_id: Some(session.to_owned()),
        ..TaskPanel::default()
    };
    let list = TaskList { parent: None, panels: vec![panel(1, "s1"), panel(2, "s2")] };
    harness.update(Msg::Tasks(Box::new(list)));
    assert!(harness.text().contains("explore: question 2"), "{}", harness.text());
    harness.press("down enter");
    let actions = harness.take_actions();
    assert!(actions.contains(r#"Open(Named("s2"))"#), "{actions}");
    let list = TaskList { parent: Some("parent".to_owned()), panels: vec![panel(1, "s1")] };
    harness.update(Msg::Tasks(Box::new(list)));
    harness.press("enter");
    let actions = harness.take_actions();
    assert!(actions.contains(r#"Open(Named("parent"))"#), "{actions}");
    // A task that delegated nothing has only one way to go.
    let list = TaskList { parent: Some("parent".to_owned()), panels: Vec::new() };
    harness.update(Msg::Tasks(Box::new(list)));
    let actions = harness.take_actions();
    assert!(actions.contains(r#"Open(Named("parent"))"#) && harness.state.overlays.is_empty(), "{actions}");
}

#[test]
fn a_question_of_a_task_names_its_agent() {
    let mut harness = Harness::with_session(80, 20, "say a");
    harness.event(ClientEvent::TurnStarted);
    let question = Box::new(command_question("make", &[]));
    let agent = Some("general: build it".to_owned());
    harness.event(ClientEvent::Asked { id: 1, question, agent });
    assert!(
        harness.text().contains("[general: build it] Allow bash to run this command?"),
        "{}",
        harness.text()
    );
}
