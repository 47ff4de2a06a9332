//! Requests that need no open session.

use osier_protocol::session_operation::SessionOperation;
use osier_protocol::{
    ClientCommand, EngineClient, EngineReply, EngineRequest, ErrorCode, ForkOptions, ForkPosition, JsonText,
    ListSessions, Prompt, PromptTiming,
};

use crate::support::LocalEngineFixture;

#[tokio::test]
async fn sessions_are_found_renamed_searched_and_deleted() {
    let test = LocalEngineFixture::new();
    let opened = test.talk_in("work").await;
    let session = opened.info.session.clone();
    let rename = EngineRequest::RenameSession { session: session.clone(), name: "plans".to_owned() };
    assert_eq!(test.call(rename).await, EngineReply::Done);
    let find = EngineRequest::FindSession { name: opened.info.short_id.clone() };
    let EngineReply::Found { card } = test.call(find).await else { panic!("it exists") };
    assert_eq!(card.name.as_deref(), Some("plans"));
    for (query, expected) in [("hello", true), ("xylophone", false)] {
        let list = ListSessions { query: Some(query.to_owned()), hits: 1, ..ListSessions::default() };
        let EngineReply::Sessions(list) = test.call(EngineRequest::ListSessions(list)).await else {
            panic!("a list")
        };
        assert_eq!(list.sessions.len(), usize::from(expected));
        let lines = list.hits.iter().flatten().flat_map(|hit| &hit.lines);
        assert_eq!(lines.filter(|line| line.text.contains(query)).count(), usize::from(expected));
    }
    let delete = EngineRequest::DeleteSession { session };
    let busy = test.engine.call(delete.clone()).await.unwrap_err();
    assert_eq!(busy.code, ErrorCode::SessionBusy);
    drop(opened);
    test.engine.engine().close(std::time::Duration::from_secs(60)).await;
    let EngineReply::Deleted(deleted) = test.call(delete.clone()).await else { panic!("it is deleted") };
    assert_eq!((deleted.deleted, deleted.sessions), (true, 1));
    let EngineReply::Deleted(deleted) = test.call(delete).await else { panic!("nothing to delete") };
    assert!(!deleted.deleted);
}

#[tokio::test]
async fn a_fork_without_opening_it_is_a_new_session() {
    let test = LocalEngineFixture::new();
    let opened = test.talk_in("work").await;
    let options = ForkOptions {
        session: opened.info.session.clone(),
        from: ForkPosition::Current,
        store: None,
        name: Some("copy".to_owned()),
    };
    let EngineReply::Forked(forked) = test.call(EngineRequest::ForkSession(options)).await else {
        panic!("it is forked")
    };
    assert_ne!(forked.id, opened.info.id);
    assert!(forked.leaf_id.is_some());
    assert_eq!(test.listed().await, 2);
}

#[tokio::test]
async fn a_snapshot_has_all_entries_or_only_the_new_ones() {
    let test = LocalEngineFixture::new();
    let session = test.talk_in("work").await.info.session;
    let request = |since, generation| EngineRequest::Snapshot {
        session: session.clone(),
        since,
        generation,
        without_context: true,
    };
    let EngineReply::Snapshot { snapshot } = test.call(request(None, None)).await else {
        panic!("it exists")
    };
    let snapshot = snapshot.to_value();
    let revision = snapshot["revision"].as_u64().unwrap() as usize;
    assert_eq!(snapshot["entries"].as_array().unwrap().len(), revision);
    let generation = snapshot["generation"].as_str().map(str::to_owned);
    let newer = request(Some(revision - 1), generation);
    let EngineReply::Snapshot { snapshot } = test.call(newer).await else { panic!("it exists") };
    let snapshot = snapshot.to_value();
    assert_eq!(snapshot["entries"].as_array().unwrap().len(), 1);
    let junk = test.engine.call(request(Some(1), Some("junk".to_owned()))).await.unwrap_err();
    assert_eq!(junk.code, ErrorCode::Usage);
}

#[tokio::test]
async fn settings_can_be_read_and_changed() {
    let test = LocalEngineFixture::new();
    let set = EngineRequest::SetSetting { key: "max_steps".to_owned(), value: "7".to_owned() };
    let EngineReply::SettingChanged { notice } = test.call(set).await else { panic!("it is changed") };
    assert!(notice.contains("max_steps = 7"), "{notice}");
    let EngineReply::Settings { settings } = test.call(EngineRequest::Settings).await else {
        panic!("the settings")
    };
    assert!(settings.iter().any(|row| row.key == "max_steps" && row.value == "7"), "{settings:?}");
    let junk = EngineRequest::SetSetting { key: "no_such_key".to_owned(), value: "7".to_owned() };
    assert_eq!(test.engine.call(junk).await.unwrap_err().code, ErrorCode::Usage);
}

#[tokio::test]
async fn an_engine_describes_itself() {
    let test = LocalEngineFixture::new();
    let EngineReply::Description(description) = test.call(EngineRequest::Describe).await else {
        panic!("a description")
    };
    assert_eq!(description.directories, [test.directory("work").to_string_lossy()]);
    assert_eq!(description.stores[0].kind, "file");
    assert!(description.models.contains(&"offline/offline".to_owned()), "{:?}", description.models);
    assert_eq!(description.agents.len(), 1);
}

/// A search over the network must not make an answer of any size.
#[tokio::test]
async fn a_search_returns_a_limited_number_of_messages_and_lines_around_them() {
    let test = LocalEngineFixture::new();
    let opened = test.talk_in("work").await;
    let lines: Vec<String> = (0..400).map(|number| format!("line {number}")).collect();
    let text = lines.join("\n").replace("line 200", "the needle");
    for _ in 0..120 {
        let note = ClientCommand::timed_prompt(Prompt::text(text.clone()), PromptTiming::NoTurn);
        opened.client.send(note).await.unwrap();
    }
    let query = Some("needle".to_owned());
    let list = ListSessions { query, hits: usize::MAX, context: usize::MAX, ..ListSessions::default() };
    let EngineReply::Sessions(list) = test.call(EngineRequest::ListSessions(list)).await else {
        panic!("a list")
    };
    let hits = &list.hits[0];
    assert_eq!(hits.len(), 100);
    assert!(hits.iter().all(|hit| hit.lines.len() == 201), "{}", hits[0].lines.len());
}

#[tokio::test]
async fn operations_return_entries_as_they_are_stored() {
    let test = LocalEngineFixture::new();
    let session = test.talk_in("work").await.info.session.clone();
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let data = format!(r#"{{"exact":1.00,"big":123456789012345678901234567890,"deep":{deep}}}"#);
    let entry = format!(r#"{{"type":"custom","customType":"x","data":{data}}}"#);
    let entry = JsonText::from_json(entry.into_bytes()).unwrap();
    let run = async |operation: SessionOperation| {
        let request = EngineRequest::SessionOperation { session: session.clone(), operation };
        let EngineReply::Operation { result } = test.call(request).await else { panic!("a result") };
        serde_json::to_string(&result).unwrap()
    };
    run(SessionOperation::AppendEntry { entry }).await;
    for operation in
        [SessionOperation::ListEntries { after: 0, limit: None }, SessionOperation::GetActivePath]
    {
        let answer = run(operation).await;
        assert_eq!(answer.matches(&data).count(), 1, "{answer:.300}");
    }
}
