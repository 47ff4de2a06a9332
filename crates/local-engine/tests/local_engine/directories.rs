//! An engine that is limited to some directories.

use osier_engine::AllowedDirectories;
use osier_local_engine::LocalEngineOptions;
use osier_protocol::session_operation::{NewStoredSession, PropertyChanges, SessionOperation};
use osier_protocol::{
    ClientError, EngineClient, EngineReply, EngineRequest, ErrorCode, ForkOptions, ForkPosition,
    ListSessions, NewSessionOptions, OpenRequest, OpenTarget, OpenedSession,
};

use crate::support::LocalEngineFixture;

/// A session in a directory that is not allowed, with the sessions in the same home folder as the limited engine.
async fn limited() -> (LocalEngineFixture, OpenedSession) {
    let test = LocalEngineFixture::new();
    let outside = test.talk_in("other").await;
    (test, outside)
}

fn limit(test: &LocalEngineFixture) -> osier_local_engine::LocalEngine {
    limit_to(test, &["work"])
}

fn limit_to(test: &LocalEngineFixture, names: &[&str]) -> osier_local_engine::LocalEngine {
    let directories: Vec<_> = names.iter().map(|name| test.directory(name)).collect();
    let directories = AllowedDirectories::only(&directories);
    let options = LocalEngineOptions { has_user: true, directories, ..LocalEngineOptions::default() };
    osier_local_engine::LocalEngine::new((*test.engine.home()).clone(), options)
}

fn assert_refused<T: std::fmt::Debug>(result: Result<T, ClientError>) {
    let error = result.expect_err("the directory is not allowed");
    assert_eq!(error.code, ErrorCode::DirectoryNotAllowed, "{error}");
    assert_eq!(error.facts["directories"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn sessions_of_other_directories_cannot_be_opened_by_any_name() {
    let (test, outside) = limited().await;
    let engine = limit(&test);
    let session = outside.info.session.clone();
    let fork = ForkOptions { session: session.clone(), from: ForkPosition::Current, store: None, name: None };
    let other = Some(test.directory("other").to_string_lossy().into_owned());
    let targets = [
        OpenTarget::Named { name: outside.info.id.to_string() },
        OpenTarget::Named { name: outside.info.file.clone().unwrap() },
        OpenTarget::Listed { session },
        OpenTarget::Latest { cwd: other.clone() },
        OpenTarget::New(NewSessionOptions { cwd: other, ..NewSessionOptions::default() }),
        OpenTarget::Fork(fork),
    ];
    for target in targets {
        assert_refused(engine.open(OpenRequest { target, leaving: None }).await);
    }
    assert!(engine.open(OpenRequest::default()).await.is_ok());
}

#[tokio::test]
async fn a_file_outside_the_stores_cannot_be_opened() {
    let (test, outside) = limited().await;
    let copy = test.directory("work").join("copy.jsonl");
    std::fs::copy(outside.info.file.clone().unwrap(), &copy).unwrap();
    let name = copy.to_string_lossy().into_owned();
    let target = OpenTarget::Named { name };
    assert_refused(limit(&test).open(OpenRequest { target, leaving: None }).await);
}

#[tokio::test]
async fn sessions_of_other_directories_are_not_listed_and_cannot_be_changed() {
    let (test, outside) = limited().await;
    let inside = test.talk_in("work").await.info.session;
    let engine = limit(&test);
    let list = EngineRequest::ListSessions(ListSessions { limit: Some(1), ..ListSessions::default() });
    let EngineReply::Sessions(list) = engine.call(list).await.unwrap() else { panic!("a list") };
    assert_eq!((list.sessions.len(), list.has_more), (1, false));
    assert_eq!(list.sessions[0].cwd, test.directory("work").to_string_lossy());
    let session = outside.info.session.clone();
    let name = "mine".to_owned();
    let search =
        ListSessions { query: Some("hello".to_owned()), hits: 1, limit: Some(9), ..ListSessions::default() };
    let found = engine.call(EngineRequest::ListSessions(search)).await.unwrap();
    let EngineReply::Sessions(found) = found else { panic!("a list") };
    assert_eq!((found.sessions.len(), found.hits.len()), (1, 1), "no text of another directory is found");
    let requests = [
        EngineRequest::FindSession { name: outside.info.id.to_string() },
        EngineRequest::RenameSession { session: session.clone(), name },
        EngineRequest::Snapshot {
            session: session.clone(),
            since: None,
            generation: None,
            without_context: true,
        },
        EngineRequest::ForkSession(ForkOptions {
            session: session.clone(),
            from: ForkPosition::Current,
            store: None,
            name: None,
        }),
        EngineRequest::SessionOperation {
            session: session.clone(),
            operation: SessionOperation::GetActivePath,
        },
        EngineRequest::SessionOperation {
            session: inside,
            operation: SessionOperation::UpdateSession(PropertyChanges {
                cwd: Some(test.directory("other").to_string_lossy().into_owned()),
                ..PropertyChanges::default()
            }),
        },
        EngineRequest::CreateSession(NewStoredSession {
            cwd: Some(test.directory("other").to_string_lossy().into_owned()),
            ..NewStoredSession::default()
        }),
        EngineRequest::DeleteSession { session },
    ];
    for request in requests {
        assert_refused(engine.call(request).await);
    }
    assert_eq!(test.listed().await, 2);
}

#[tokio::test]
async fn a_session_that_others_may_have_written_works_in_its_directory_only_if_it_is_listed() {
    let (test, outside) = limited().await;
    // Another name of the file means that somebody else may write to it, as in a database.
    std::fs::hard_link(outside.info.file.clone().unwrap(), test.directory("work").join("link")).unwrap();
    let open = async |engine: osier_local_engine::LocalEngine| {
        let target = OpenTarget::Listed { session: outside.info.session.clone() };
        engine.open(OpenRequest { target, leaving: None }).await.unwrap().unwrap().info.cwd
    };
    assert_eq!(open(limit_to(&test, &["work", "other"])).await, test.directory("other").to_string_lossy());
    let unlimited = LocalEngineOptions { has_user: true, ..LocalEngineOptions::default() };
    let unlimited = osier_local_engine::LocalEngine::new((*test.engine.home()).clone(), unlimited);
    assert_eq!(open(unlimited).await, test.directory("work").to_string_lossy());
}

#[tokio::test]
async fn a_session_is_not_deleted_if_a_sub_agent_worked_in_a_directory_that_is_not_allowed() {
    let test = LocalEngineFixture::new();
    let (inside, outside) = (test.talk_in("work").await, test.talk_in("other").await);
    // The header of the other session says that it belongs to a sub-agent.
    let file = outside.info.file.clone().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let parent = format!("{{\"parentSessionId\":\"{}\",\"parentToolCallId\":\"call\",", inside.info.id);
    let (session, delete) = (inside.info.session.clone(), |session| EngineRequest::DeleteSession { session });
    drop((inside, outside));
    test.engine.engine().close(std::time::Duration::from_secs(60)).await;
    std::fs::write(&file, text.replacen('{', &parent, 1)).unwrap();
    assert_refused(limit(&test).call(delete(session.clone())).await);
    assert!(limit_to(&test, &["work", "other"]).call(delete(session)).await.is_ok());
}
