//! Whole turns: a scripted model, real tools in a real folder, a real session in memory.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::Arc;

use osier_agent::{Agent, Answer, Asker, Finished, Question, Refuser, Settings};
use osier_model::scripted::{Scripted, Turn};
use osier_model::{Message, ThinkingLevel, body_of};
use osier_session::{Env, Session};
use osier_store::{MemoryStore, Store};
use osier_tools::{ToolContext, Tools};
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::{Header, Seq};
use serde_json::json;

struct Desk {
    session: Session,
    model: Arc<Scripted>,
    folder: tempfile::TempDir,
}

impl Desk {
    async fn new(turns: impl IntoIterator<Item = Turn>) -> Desk {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let session = Session::create(store, &Header::new("s", 0, "/x"), &[], Env::default()).await.unwrap();
        Desk { session, model: Arc::new(Scripted::new(turns)), folder: tempfile::tempdir().unwrap() }
    }

    fn agent(&self, asker: impl Asker + 'static) -> Agent {
        let tools = ToolContext::new(
            self.folder.path(),
            self.folder.path().join("artefacts"),
            osier_tools::Env::default(),
        );
        let settings = Settings {
            model: Arc::new(Scripted::info()),
            thinking: ThinkingLevel::Off,
            sections: vec![("preamble".into(), "You work here.".into())],
            tools,
            backtracking: true,
        };
        Agent::new(
            self.session.main(),
            self.model.clone(),
            Arc::new(Tools::standard()),
            Arc::new(asker),
            settings,
        )
        .0
    }

    /// The path, a line for each entry.
    async fn path(&self) -> Vec<String> {
        let tree = self.session.tree();
        let path: Vec<Seq> = tree.path(tree.leaf());
        let (mut previews, mut seen) = (Previews::new(None), Vec::new());
        let read = |_, line: &[u8]| -> Result<(), osier_store::StoreError> {
            seen.push(previews.preview(&read_entry(line).unwrap()));
            Ok(())
        };
        self.session.each_line(self.session.version(), &path, read).await.unwrap();
        seen
    }
}

#[derive(Debug)]
struct Always;

#[async_trait::async_trait]
impl Asker for Always {
    async fn ask(&self, question: Question) -> Answer {
        Answer::Always(question.offers[0].clone())
    }
}

#[tokio::test]
async fn everything_that_happens_in_a_turn_is_an_entry() {
    let desk = Desk::new([Turn::reply("Hello.")]).await;
    assert_eq!(desk.agent(Refuser).prompt("hi").await.unwrap(), Finished::Done);
    assert_eq!(desk.path().await, ["[model: scripted]", "[system]", "user: \"hi\"", "assistant: \"Hello.\""]);
}

#[tokio::test]
async fn a_second_prompt_stores_only_what_is_new() {
    let desk = Desk::new([Turn::reply("one"), Turn::reply("two")]).await;
    let agent = desk.agent(Refuser);
    agent.prompt("a").await.unwrap();
    let before = desk.path().await.len();
    agent.prompt("b").await.unwrap();
    assert_eq!(desk.path().await.len(), before + 2);
}

#[tokio::test]
async fn tools_run_and_their_results_go_back_to_the_model() {
    let desk = Desk::new([
        Turn::new().text("I look.").call("c1", "read", &json!({ "path": "a.txt" })),
        Turn::reply("It says hello."),
    ])
    .await;
    std::fs::write(desk.folder.path().join("a.txt"), "hello\n").unwrap();
    desk.agent(Refuser).prompt("what is in a.txt?").await.unwrap();
    assert_eq!(
        desk.path().await[3..],
        ["assistant: \"I look.\"", "[read: a.txt]", "assistant: \"It says hello.\""]
    );
    let last = desk.model.requests().pop().unwrap();
    let Some(Message::ToolResult(result)) = last.messages.last() else { panic!("{last:?}") };
    assert!(result.text().contains("hello") && !result.is_error, "{result:?}");
    assert!(last.tools.iter().any(|tool| tool.name == "bash"));
    assert_eq!(last.system, "You work here.");
}

#[tokio::test]
async fn what_needs_asking_is_refused_when_nobody_is_there_and_the_model_hears_it() {
    let write = json!({ "path": "new.txt", "content": "x" });
    let desk = Desk::new([Turn::new().call("c1", "write", &write), Turn::reply("Then not.")]).await;
    desk.agent(Refuser).prompt("write it").await.unwrap();
    assert!(!desk.folder.path().join("new.txt").exists());
    let Some(Message::ToolResult(result)) = desk.model.requests().pop().unwrap().messages.pop() else {
        panic!()
    };
    assert!(result.is_error && result.text().starts_with("not allowed"), "{}", result.text());
}

#[tokio::test]
async fn always_allow_is_kept_in_the_session_and_not_asked_again() {
    let write = |name: &str| json!({ "path": name, "content": "x" });
    let desk = Desk::new([
        Turn::new().call("c1", "write", &write("a")).call("c2", "write", &write("b")),
        Turn::reply("done"),
    ])
    .await;
    desk.agent(Always).prompt("write both").await.unwrap();
    assert!(desk.folder.path().join("a").exists() && desk.folder.path().join("b").exists());
    assert_eq!(desk.session.tree().marks().settings()["approvalTools"], json!(["write"]));
}

#[tokio::test]
async fn a_cancelled_turn_leaves_a_whole_tree_and_can_be_gone_on_from() {
    let desk = Desk::new([Turn::new().text("I am thin").hang(), Turn::reply("again")]).await;
    let agent = desk.agent(Refuser);
    let cancel = agent.canceller();
    let stop = async {
        let mut events = desk.session.attach(None).await.unwrap().events;
        while !matches!(events.next().await, Some(osier_session::Event::Draft { delta, .. }) if delta.contains("thin"))
        {
        }
        cancel.cancel();
    };
    let (finished, ()) = tokio::join!(agent.prompt("go"), stop);
    assert_eq!(finished.unwrap(), Finished::Cancelled);
    assert_eq!(desk.path().await.last().unwrap(), "assistant: \"I am thin\"");
    assert_eq!(desk.agent(Refuser).prompt("go on").await.unwrap(), Finished::Done);
}

#[tokio::test]
async fn each_request_begins_with_the_one_before() {
    let desk = Desk::new([
        Turn::new().call("c1", "ls", &json!({})),
        Turn::reply("one"),
        Turn::new().text("again").call("c2", "ls", &json!({})),
        Turn::reply("two"),
    ])
    .await;
    let agent = desk.agent(Refuser);
    agent.prompt("a").await.unwrap();
    desk.session.rename("a name").await.unwrap();
    agent.prompt("b").await.unwrap();
    let sent = desk.model.requests();
    assert_eq!(sent.len(), 4);
    for pair in sent.windows(2) {
        assert_eq!(pair[1].messages[..pair[0].messages.len()], pair[0].messages[..]);
        assert_eq!((&pair[1].system, &pair[1].tools), (&pair[0].system, &pair[0].tools));
    }
    assert!(sent.iter().all(|request| body_of(request).is_none()), "a scripted model has no wire");
}
