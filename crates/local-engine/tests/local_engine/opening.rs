//! Opening, creating, forking and leaving sessions.

use futures_util::StreamExt;
use osier_protocol::{
    ClientCommand, ClientEvent, ErrorCode, ForkOptions, ForkPosition, NewSessionOptions, OpenTarget, Prompt,
    PromptTiming, SessionRef,
};

use crate::support::{LocalEngineFixture, say};

fn named(name: &str) -> OpenTarget {
    OpenTarget::Named { name: name.to_owned() }
}

#[tokio::test]
async fn a_new_session_is_stored_with_its_first_message() {
    let test = LocalEngineFixture::new();
    let opened = test.open(OpenTarget::default()).await.unwrap();
    assert!(opened.info.is_new && opened.info.is_offline_only, "{:?}", opened.info);
    assert_eq!(test.listed().await, 0);
    say(&*opened.client, "hello").await;
    assert_eq!(test.listed().await, 1);
}

#[tokio::test]
async fn a_session_that_is_not_stored_can_be_opened_while_it_is_open() {
    let test = LocalEngineFixture::new();
    for in_memory in [false, true] {
        let new = NewSessionOptions { in_memory, ..NewSessionOptions::default() };
        let first = test.open(OpenTarget::New(new)).await.unwrap();
        let session = first.info.session.clone();
        let again = test.open(OpenTarget::Listed { session: session.clone() }).await.unwrap();
        assert_eq!(again.info.id, first.info.id);
        drop((first, again));
        test.engine.engine().close(std::time::Duration::from_secs(60)).await;
        let gone = test.open(OpenTarget::Listed { session }).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::SessionNotFound);
    }
}

#[tokio::test]
async fn the_latest_session_of_a_directory_is_continued() {
    let test = LocalEngineFixture::new();
    let first = test.open(OpenTarget::Latest { cwd: None }).await.unwrap();
    assert!(first.info.is_new);
    assert!(first.info.notices[0].contains("no session to continue"), "{:?}", first.info.notices);
    test.talk_in("other").await;
    let here = test.talk_in("work").await;
    let latest = test.open(OpenTarget::Latest { cwd: None }).await.unwrap();
    assert_eq!((latest.info.id, latest.info.is_new), (here.info.id, false));
}

#[tokio::test]
async fn a_session_works_in_its_own_directory_with_its_settings() {
    let test = LocalEngineFixture::new();
    let other = test.talk_in("other").await;
    let settings = test.directory("other").join(".osier");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("config.toml"), "model = 'offline'\n").unwrap();
    let again = test.open(named(&other.info.short_id)).await.unwrap();
    assert_eq!(again.info.cwd, test.directory("other").to_string_lossy());
    let notices = again.info.notices.join("\n");
    assert!(notices.contains("the directory of the session"), "{notices}");
    assert!(notices.contains("not trusted"), "{notices}");
}

#[tokio::test]
async fn hooks_are_asked_once_about_another_session_and_can_refuse() {
    let test = LocalEngineFixture::new();
    let from = test.talk_in("work").await;
    let session = from.info.session.clone();
    let fork = ForkOptions { session: session.clone(), from: ForkPosition::Current, store: None, name: None };
    let targets = || [OpenTarget::default(), named(&from.info.id), OpenTarget::Fork(fork.clone())];
    let gates = ["session_before_switch", "session_before_switch", "session_before_fork"];
    test.calls();
    test.hook.refuse(&["session_before_switch", "session_before_fork"]);
    for (target, gate) in targets().into_iter().zip(gates) {
        assert!(test.open_from(&session, target).await.is_none());
        assert_eq!(test.calls(), [gate]);
    }
    assert_eq!(test.listed().await, 1);
    test.hook.refuse(&[]);
    let events = ["session_switch", "session_switch", "session_fork"];
    for (target, (gate, event)) in targets().into_iter().zip(gates.into_iter().zip(events)) {
        assert!(test.open_from(&session, target).await.is_some());
        assert_eq!(test.calls(), [gate, event]);
    }
}

/// Opens a session, starts a shell command that never ends, and queues a prompt behind a hanging turn.
async fn leave_busy_session(is_shared: bool) -> (LocalEngineFixture, bool, Option<String>) {
    let test = LocalEngineFixture::with(|options, _| osier_local_engine::LocalEngineOptions {
        is_shared,
        ..options
    });
    let from = test.talk_in("work").await;
    let mut events = from.client.attach(None).await.unwrap().events;
    from.client.send(ClientCommand::prompt("run sleep 1000")).await.unwrap();
    while !matches!(events.next().await, Some(ClientEvent::Asked { .. })) {}
    let queued = ClientCommand::timed_prompt(Prompt::text("and then"), PromptTiming::FollowUp);
    from.client.send(queued).await.unwrap();
    let opened = test.open_from(&from.info.session, OpenTarget::default()).await.unwrap();
    let is_running = from.client.attach(None).await.unwrap().state.turn_running;
    assert_eq!(opened.info.turn_stopped, !is_running);
    (test, is_running, opened.info.editor_text)
}

#[tokio::test]
async fn leaving_a_session_stops_its_turn_and_returns_the_queued_prompts() {
    let (_test, is_running, editor) = leave_busy_session(false).await;
    assert_eq!((is_running, editor.as_deref()), (false, Some("and then")));
}

#[tokio::test]
async fn a_turn_goes_on_when_one_of_several_clients_leaves() {
    let (_test, is_running, editor) = leave_busy_session(true).await;
    assert_eq!((is_running, editor), (true, None));
}

#[tokio::test]
async fn a_fork_returns_the_message_to_the_editor() {
    let test = LocalEngineFixture::new();
    let from = test.talk_in("work").await;
    let point = from.client.fork_points(false).await.unwrap().remove(0);
    let position = ForkPosition::Entry { entry_id: point.id };
    let fork =
        ForkOptions { session: from.info.session, from: position, store: None, name: Some("try".to_owned()) };
    let opened = test.open(OpenTarget::Fork(fork)).await.unwrap();
    assert_eq!(opened.info.editor_text.as_deref(), Some("hello"));
    assert_eq!(opened.client.status().await.unwrap().name.as_deref(), Some("try"));
}

#[tokio::test]
async fn an_unknown_session_store_or_agent_directory_has_a_code() {
    let test = LocalEngineFixture::new();
    assert_eq!(test.open(named("zzzz")).await.unwrap_err().code, ErrorCode::SessionNotFound);
    let store = NewSessionOptions { store: Some("nowhere".to_owned()), ..NewSessionOptions::default() };
    assert_eq!(test.open(OpenTarget::New(store)).await.unwrap_err().code, ErrorCode::Usage);
    let cwd = NewSessionOptions { cwd: Some("/no/such/folder".to_owned()), ..NewSessionOptions::default() };
    assert_eq!(test.open(OpenTarget::New(cwd)).await.unwrap_err().code, ErrorCode::Usage);
}

#[tokio::test]
async fn a_turn_goes_on_while_its_client_looks_at_a_task_and_comes_back() {
    let test = LocalEngineFixture::new();
    let parent = test.talk_in("work").await;
    let mut events = parent.client.attach(None).await.unwrap().events;
    parent.client.send(ClientCommand::prompt("run sleep 1000")).await.unwrap();
    while !matches!(events.next().await, Some(ClientEvent::Asked { .. })) {}
    let key = "c0ffee00-0000-4000-8000-000000000000";
    let header = osier_tree::Header {
        parent_session_id: Some(parent.info.id.to_string()),
        parent_tool_call_id: Some("call".to_owned()),
        ..osier_tree::Header::new(key, 0, &parent.info.cwd)
    };
    let store = test.engine.engine().stores()[0].store();
    store.create(&header, &[]).await.unwrap();
    let child = SessionRef { key: key.to_owned(), ..parent.info.session.clone() };
    let mut left = parent.info.session.clone();
    for entered in [child, parent.info.session.clone()] {
        let opened = test.open_from(&left, OpenTarget::Listed { session: entered.clone() }).await.unwrap();
        assert!(opened.info.is_task_of_left && !opened.info.turn_stopped, "{:?}", opened.info);
        assert!(parent.client.attach(None).await.unwrap().state.turn_running);
        left = entered;
    }
}
