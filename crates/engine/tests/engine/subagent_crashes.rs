//! Tasks after the death of the process that ran them: they are shown as interrupted, and continued or ended.

use osier_agent::AgentBudget;
use osier_engine::SubagentConfig;
use osier_protocol::subagents::SubagentProjection;
use osier_protocol::{Client, ClientCommand, ClientEvent, MoveCommand, QueryAnswer, SessionQuery};
use serde_json::{Value, json};

use crate::subagents::{Delegation, batches, config, spec};
use crate::support::{LIMIT, TestEngine, until_turn_end};

/// A session whose process died: of three tasks, the first has ended, the second has only its prompt, the third nothing.
struct DeadProcess {
    engine: TestEngine,
    id: String,
    before: SubagentProjection,
    /// The file of the first task.
    first: Vec<u8>,
}

async fn dead_process() -> DeadProcess {
    dead_process_with("answer one").await
}

async fn dead_process_with(first: &str) -> DeadProcess {
    let tasks = json!([{ "prompt": first }, { "prompt": "answer two" }, { "prompt": "answer three" }]);
    let mut run = Delegation::start(config(), &tasks).await;
    run.until_end().await;
    let before = run.batches().await.remove(0);
    let sessions: Vec<String> =
        before.task_panels.iter().map(|panel| panel.session_id.clone().unwrap()).collect();
    let session_of = |at: usize| sessions[at].clone();
    let Delegation { engine, live, client, events } = run;
    let (file, id) = (live.session().file().unwrap().to_owned(), live.session().id().to_owned());
    drop((client, events, live));
    let closed = |name: String| {
        let engine = &engine;
        async move {
            let close = async {
                while engine.engine.live_session("file", &name).is_some() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(LIMIT, close).await.expect("the session closes");
        }
    };
    for session in [id.clone(), session_of(0), session_of(1), session_of(2)] {
        closed(session).await;
    }
    let cut = |file: &std::path::Path, keep: &dyn Fn(&str) -> bool| {
        let text = std::fs::read_to_string(file).unwrap();
        let kept: Vec<&str> = text.lines().take_while(|line| keep(line)).collect();
        std::fs::write(file, kept.join("\n") + "\n").unwrap();
    };
    let is_progress =
        |line: &str| line.contains("osier.entry_update") || line.contains(r#""type":"subagent_result""#);
    cut(&file, &|line| !is_progress(line));
    let second = engine.find(&session_of(1)).await.opened.file.unwrap();
    cut(&second, &|line| !line.contains(r#""role":"assistant""#));
    let third = engine.find(&session_of(2)).await.opened.file.unwrap();
    std::fs::remove_file(third).unwrap();
    let first = std::fs::read(engine.find(&session_of(0)).await.opened.file.unwrap()).unwrap();
    DeadProcess { engine, id, before, first }
}

#[tokio::test]
async fn resuming_runs_only_the_tasks_that_did_not_end() {
    let DeadProcess { engine, id, before, first: first_before } = dead_process().await;
    let live = engine.open(&id).await;
    let client = engine.engine.connect(&live, &spec(&engine, config())).await.unwrap();
    let interrupted = batches(&client).await.remove(0);
    assert_eq!(interrupted.status, "interrupted");
    // What a task did is in its own session, so its end is known.
    let states: Vec<(&str, &str)> =
        interrupted.task_panels.iter().map(|panel| (panel.status.as_str(), panel.summary.as_str())).collect();
    assert_eq!(states, [("completed", "one"), ("interrupted", ""), ("interrupted", "")]);
    assert_eq!(interrupted.task_panels[0].usage, before.task_panels[0].usage);
    assert_eq!(interrupted.usage.total_tokens, 15);
    // A client that only reads sees the same.
    let reader = engine.engine.read(&engine.find(&id).await).await.unwrap();
    let QueryAnswer::Subagents { batches: read } = reader.query(SessionQuery::Subagents).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(read, [interrupted]);
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::Resume).await.unwrap();
    until_turn_end(&mut events).await;
    let after = batches(&client).await.remove(0);
    let summaries: Vec<&str> = after.task_panels.iter().map(|panel| panel.summary.as_str()).collect();
    assert_eq!((after.status.as_str(), summaries), ("completed", vec!["one", "two", "three"]));
    assert_eq!(after.batch_id, before.batch_id);
    let first_after = std::fs::read(
        engine.find(before.task_panels[0].session_id.as_deref().unwrap()).await.opened.file.unwrap(),
    )
    .unwrap();
    assert_eq!(first_before, first_after, "the task that had ended did not run again");
    let QueryAnswer::LastReply { reply } = client.query(SessionQuery::LastReply).await.unwrap() else {
        panic!()
    };
    assert!(reply.unwrap().text.contains("three"));
}

/// The tasks of a batch as a client shows them: with the status, or without one.
async fn shown_tasks(client: &osier_engine::LocalClient) -> (Value, Vec<Value>) {
    let QueryAnswer::Path(path) = client.query(SessionQuery::Path { limit: None }).await.unwrap() else {
        panic!("a path")
    };
    let lines = path.entries.iter().map(|line| serde_json::from_slice::<Value>(line.bytes()).unwrap());
    let batch = lines.into_iter().find(|entry| entry["type"] == "subagent_batch").unwrap();
    let tasks = batch["content"]["tasks"].as_array().unwrap();
    (batch["content"]["status"].clone(), tasks.iter().map(|task| task["status"].clone()).collect())
}

#[tokio::test]
async fn the_log_tells_which_tasks_had_ended_and_these_do_not_run_again() {
    let tasks = json!([{ "prompt": "answer one" }, { "prompt": "fail" }, { "prompt": "write later.txt" }]);
    let mut run = Delegation::start(config(), &tasks).await;
    // The third task waits for an answer.
    let (mut updates, mut has_asked) = (0, false);
    run.until(|event| {
        match event {
            ClientEvent::Entry(entry) => {
                let kind = entry.entry.view().map(|view| view.kind);
                updates += usize::from(kind == Some(osier_tree::EntryKind::EntryUpdate));
            }
            ClientEvent::Asked { .. } => has_asked = true,
            _ => {}
        }
        updates == 2 && has_asked
    })
    .await;
    let (status, shown) = shown_tasks(&run.client).await;
    assert_eq!((status, shown), (json!("running"), vec![json!("completed"), json!("failed"), Value::Null]));
    // What a process leaves that dies now.
    let left = tempfile::tempdir().unwrap();
    let sessions = run.engine.folder.path().join("sessions");
    let copied =
        std::process::Command::new("cp").arg("-a").args([&sessions, &left.path().to_owned()]).status();
    assert!(copied.unwrap().success());
    let engine = TestEngine::in_folder(left.path(), Default::default());
    let live = engine.open(run.live.session().id()).await;
    let client = engine.engine.connect(&live, &spec(&engine, config())).await.unwrap();
    let (status, shown) = shown_tasks(&client).await;
    assert_eq!(status, "interrupted");
    assert_eq!(shown, [json!("completed"), json!("failed"), Value::Null]);
    // The entries alone tell it: the sessions of the tasks are not read.
    let state = live.session().state();
    let (_, batch) = live.session().subagent_projections(&state).await.unwrap().pop_first().unwrap();
    let states: Vec<(&str, &str)> =
        batch.task_panels.iter().map(|panel| (panel.status.as_str(), panel.summary.as_str())).collect();
    assert_eq!(states, [("completed", "one"), ("failed", ""), ("interrupted", "")]);
    let mut files = Vec::new();
    for panel in &batch.task_panels[..2] {
        let file = engine.find(panel.session_id.as_deref().unwrap()).await.opened.file.unwrap();
        files.push((file.clone(), std::fs::read(file).unwrap()));
    }
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::Resume).await.unwrap();
    until_turn_end(&mut events).await;
    let after = batches(&client).await.remove(0);
    let statuses: Vec<&str> = after.task_panels.iter().map(|panel| panel.status.as_str()).collect();
    assert_eq!((after.status.as_str(), statuses), ("completed", vec!["completed", "failed", "completed"]));
    assert!(after.task_panels[1].error.as_deref().unwrap().contains("it failed"), "{after:?}");
    for (file, content) in files {
        assert_eq!(std::fs::read(&file).unwrap(), content, "a task that had ended ran again");
    }
}

#[tokio::test]
async fn a_new_prompt_ends_an_interrupted_batch() {
    let DeadProcess { engine, id, before, .. } = dead_process().await;
    let live = engine.open(&id).await;
    let client = engine.engine.connect(&live, &spec(&engine, config())).await.unwrap();
    assert_eq!(batches(&client).await[0].status, "interrupted");
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::prompt("answer something else")).await.unwrap();
    until_turn_end(&mut events).await;
    let after = batches(&client).await.remove(0);
    assert_eq!((after.status.as_str(), &after.batch_id), ("cancelled", &before.batch_id));
    assert_eq!(
        after.diagnostics.selected_source,
        osier_protocol::subagents::ProjectionSource::SubagentResult
    );
    let statuses: Vec<&str> = after.task_panels.iter().map(|panel| panel.status.as_str()).collect();
    assert_eq!(statuses, ["completed", "failed", "failed"]);
    assert!(after.task_panels[1].error.as_deref().unwrap().contains("interrupted"));
    assert_eq!(after.usage.total_tokens, 15, "only the first task called the model");
}

#[tokio::test]
async fn what_a_task_used_before_the_process_died_counts_against_its_budget() {
    let budget = AgentBudget { max_turns: Some(4), ..AgentBudget::default() };
    let config = SubagentConfig { budget, ..config() };
    let mut run = Delegation::start(config.clone(), &json!([{ "prompt": "loop" }])).await;
    run.until_end().await;
    let child = run.batches().await[0].task_panels[0].session_id.clone().unwrap();
    let Delegation { engine, live, client, events } = run;
    let (file, id) = (live.session().file().unwrap().to_owned(), live.session().id().to_owned());
    drop((client, events, live));
    let close = async {
        for session in [&id, &child] {
            while engine.engine.live_session("file", session).is_some() {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(LIMIT, close).await.expect("the sessions close");
    let replies = |text: &str| text.matches(r#""role":"assistant""#).count();
    let text = std::fs::read_to_string(&file).unwrap();
    let kept: Vec<&str> =
        text.lines().take_while(|line| !line.contains(r#""type":"subagent_result""#)).collect();
    std::fs::write(&file, kept.join("\n") + "\n").unwrap();
    // Three of the four calls happened before the process died.
    let file = engine.find(&child).await.opened.file.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(replies(&text), 4);
    let fourth = text.match_indices(r#""role":"assistant""#).nth(3).unwrap().0;
    let end = text[..fourth].rfind('\n').unwrap() + 1;
    std::fs::write(&file, &text[..end]).unwrap();
    let live = engine.open(&id).await;
    let client = engine.engine.connect(&live, &spec(&engine, config)).await.unwrap();
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::Resume).await.unwrap();
    until_turn_end(&mut events).await;
    let panel = batches(&client).await.remove(0).task_panels.remove(0);
    assert!(panel.error.as_deref().unwrap().contains("4 model calls"), "{:?}", panel.error);
    assert_eq!(replies(&std::fs::read_to_string(&file).unwrap()), 4);
    assert_eq!((panel.turns, panel.usage.total_tokens), (4, 60));
}

#[tokio::test]
async fn a_batch_that_names_the_session_of_another_one_does_not_show_what_is_in_it() {
    let mut run = Delegation::start(config(), &json!([{ "prompt": "answer secret" }])).await;
    run.until_end().await;
    let child = run.batches().await[0].task_panels[0].session_id.clone().unwrap();
    let live = run.engine.create(osier_engine::KeepWhen::Used).await;
    let batch = json!({ "type": "subagent_batch", "content": {
        "batchId": "b", "toolCallId": "c", "mode": "parallel", "status": "running",
        "tasks": [{ "id": "t", "prompt": "look", "sessionId": child }],
    }});
    let commit = osier_session::Commit::from_entry(batch.to_string().as_bytes()).unwrap();
    live.session().main_cursor().commit(commit).await.unwrap();
    let client = run.engine.engine.connect(&live, &spec(&run.engine, config())).await.unwrap();
    let panel = batches(&client).await.remove(0).task_panels.remove(0);
    assert_eq!((panel.status.as_str(), panel.summary.as_str()), ("interrupted", ""));
}

#[tokio::test]
async fn a_batch_that_names_the_session_of_another_one_does_not_continue_it() {
    // Somebody else's session, whose turn is not finished.
    let DeadProcess { engine, id, before, .. } = dead_process().await;
    let victims = [
        before.task_panels[0].session_id.clone().unwrap(),
        before.task_panels[1].session_id.clone().unwrap(),
        id,
    ];
    for victim in victims {
        let file = engine.find(&victim).await.opened.file.unwrap();
        let content = std::fs::read(&file).unwrap();
        let live = engine.create(osier_engine::KeepWhen::Used).await;
        let call = json!({ "type": "message", "message": {
            "role": "assistant", "stopReason": "toolUse", "provider": "scripted", "model": "scripted",
            "content": [{ "type": "toolCall", "id": "c", "name": "task", "arguments": {
                "tasks": [{ "prompt": "look" }],
            } }],
        }});
        let batch = json!({ "type": "subagent_batch", "content": {
            "batchId": "b", "toolCallId": "c", "mode": "parallel", "status": "running",
            "tasks": [{ "id": "t", "prompt": "look", "agent": "general", "sessionId": victim }],
        }});
        let user = json!({ "type": "message", "message": { "role": "user", "content": "delegate" } });
        for entry in [user, call, batch] {
            let commit = osier_session::Commit::from_entry(entry.to_string().as_bytes()).unwrap();
            live.session().main_cursor().commit(commit).await.unwrap();
        }
        let client = engine.engine.connect(&live, &spec(&engine, config())).await.unwrap();
        let mut events = client.attach(None).await.unwrap().events;
        client.send(ClientCommand::Resume).await.unwrap();
        until_turn_end(&mut events).await;
        let panel = batches(&client).await.remove(0).task_panels.remove(0);
        assert_eq!((panel.status.as_str(), panel.summary.as_str()), ("failed", ""));
        assert_eq!(std::fs::read(&file).unwrap(), content, "the other session is as before");
    }
}

#[tokio::test]
async fn a_task_that_the_user_canceled_does_not_run_again_after_a_crash() {
    let tasks = json!([{ "prompt": "hang" }, { "prompt": "write later.txt" }]);
    let mut run = Delegation::start(config(), &tasks).await;
    // The second task waits for an answer: without its call, it would ask again after the crash.
    let (mut hanging, mut has_asked) = (None, false);
    run.until(|event| {
        match event {
            ClientEvent::SubagentTask { panel, .. } if panel.status == "running" && panel.goal == "hang" => {
                hanging = Some(panel.task_id.clone());
            }
            ClientEvent::Asked { .. } => has_asked = true,
            _ => {}
        }
        hanging.is_some() && has_asked
    })
    .await;
    run.client.send(ClientCommand::CancelTasks { task: hanging }).await.unwrap();
    let is_update = |event: &ClientEvent| {
        matches!(event, ClientEvent::Entry(entry)
            if entry.entry.view().map(|view| view.kind) == Some(osier_tree::EntryKind::EntryUpdate))
    };
    run.until(is_update).await;
    let left = tempfile::tempdir().unwrap();
    let sessions = run.engine.folder.path().join("sessions");
    let copied =
        std::process::Command::new("cp").arg("-a").args([&sessions, &left.path().to_owned()]).status();
    assert!(copied.unwrap().success());
    let engine = TestEngine::in_folder(left.path(), Default::default());
    let live = engine.open(run.live.session().id()).await;
    let client = engine.engine.connect(&live, &spec(&engine, config())).await.unwrap();
    let child = batches(&client).await[0].task_panels[0].session_id.clone().unwrap();
    let file = engine.find(&child).await.opened.file.unwrap();
    let content = std::fs::read(&file).unwrap();
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::Resume).await.unwrap();
    until_turn_end(&mut events).await;
    let after = batches(&client).await.remove(0);
    let statuses: Vec<&str> = after.task_panels.iter().map(|panel| panel.status.as_str()).collect();
    assert_eq!(statuses, ["cancelled", "completed"]);
    assert_eq!(std::fs::read(&file).unwrap(), content);
}

#[tokio::test]
async fn a_task_whose_last_reply_was_cut_off_failed_also_after_a_crash() {
    for resumes in [true, false] {
        let DeadProcess { engine, id, before, first } = dead_process_with("long one").await;
        let panel = &before.task_panels[0];
        assert_eq!(panel.status, "failed");
        let live = engine.open(&id).await;
        let client = engine.engine.connect(&live, &spec(&engine, config())).await.unwrap();
        let interrupted = batches(&client).await.remove(0).task_panels.remove(0);
        assert_eq!((&interrupted.status, &interrupted.error), (&panel.status, &panel.error));
        let mut events = client.attach(None).await.unwrap().events;
        let command = match resumes {
            true => ClientCommand::Resume,
            false => ClientCommand::prompt("answer something else"),
        };
        client.send(command).await.unwrap();
        until_turn_end(&mut events).await;
        let after = batches(&client).await.remove(0).task_panels.remove(0);
        assert_eq!((&after.status, &after.error), (&panel.status, &panel.error));
        let file = engine.find(panel.session_id.as_deref().unwrap()).await.opened.file.unwrap();
        assert_eq!(std::fs::read(file).unwrap(), first);
    }
}

#[tokio::test]
async fn a_turn_in_another_branch_does_not_make_a_dead_batch_look_alive() {
    let DeadProcess { engine, id, .. } = dead_process().await;
    let live = engine.open(&id).await;
    let client = engine.engine.connect(&live, &spec(&engine, config())).await.unwrap();
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::Move(MoveCommand { exact: true, ..MoveCommand::default() })).await.unwrap();
    client.send(ClientCommand::prompt("hang")).await.unwrap();
    assert_eq!(live.session().store().leases(live.session().key()).await.unwrap().len(), 1);
    assert_eq!(batches(&client).await[0].status, "interrupted");
    assert_eq!(shown_tasks_of(&live).await, "interrupted");
    client.send(ClientCommand::Cancel).await.unwrap();
    until_turn_end(&mut events).await;
}

/// The status of the batch in its preview.
async fn shown_tasks_of(live: &osier_engine::LiveSession) -> String {
    let state = live.session().state();
    let batch = state.tree.heads().iter().find(|(_, head)| head.kind == osier_tree::EntryKind::SubagentBatch);
    let texts = live.session().previews(&state).await.unwrap();
    let text = texts.get(batch.unwrap().0).to_string();
    ["running", "interrupted"].into_iter().find(|status| text.contains(status)).unwrap_or(&text).to_owned()
}
