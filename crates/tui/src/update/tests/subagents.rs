//! Tasks of sub-agents: their state while they run, and the questions of their agents.

use osier_protocol::ClientEvent;
use osier_protocol::subagents::TaskPanel;
use osier_protocol::usage::UsageTotals;

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

#[test]
fn every_task_shows_its_state_and_what_it_does() {
    let mut harness = Harness::with_session(70, 20, "say a");
    harness.event(ClientEvent::TurnStarted);
    harness.run_steps("reply calls task x");
    let call = harness.state.transcript.pending_calls()[0].id.clone();
    let mut send = |event: ClientEvent| match event {
        ClientEvent::SubagentTask { batch_id, panel, .. } => {
            harness.event(ClientEvent::SubagentTask { batch_id, call: call.clone(), panel });
        }
        other => harness.event(other),
    };
    send(task(1, "running", Some("grep main")));
    send(task(2, "queued", None));
    send(task(1, "running", Some("read a.rs")));
    let text = harness.text();
    assert!(text.contains("◐ explore  question 1  3 calls · 1.5k tokens\n    read a.rs"), "{text}");
    assert!(text.contains("○ explore  question 2"), "{text}");
    assert!(!text.contains("grep main"), "{text}");
    harness.event(ClientEvent::ToolEnded { call, is_error: false });
    assert!(!harness.text().contains("question 1"), "{}", harness.text());
}

#[test]
fn a_stored_batch_is_part_of_its_call() {
    let batch = |status: &str| {
        let tasks =
            serde_json::json!([{ "id": "1", "agent": "explore", "title": "find it", "prompt": "find" }]);
        let content = serde_json::json!({ "batchId": "b", "status": status, "tasks": tasks });
        serde_json::json!({ "type": "subagent_batch", "content": content }).to_string()
    };
    let mut harness = Harness::with_session(70, 20, "say a");
    harness.event(ClientEvent::TurnStarted);
    harness.run_steps(&format!("reply calls task x\nentry {}", batch("running")));
    let text = harness.text();
    assert!(!text.contains("interrupted") && !text.contains("find it"), "{text}");
    let interrupted =
        Harness::with_session(70, 20, &format!("say a\nreply calls task x\nentry {}", batch("interrupted")));
    let text = interrupted.text();
    assert!(text.contains("sub-agents interrupted") && text.contains("explore  find it"), "{text}");
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
