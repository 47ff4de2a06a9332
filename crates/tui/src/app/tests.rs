//! The loop without a terminal.

use osier_agent::{Parts, Worker};
use osier_model::{Models, Registry, Surroundings, ThinkingLevel};
use osier_session::{Env, Session};
use osier_store::MemoryStore;
use osier_tools::{ToolContext, Tools};
use osier_tree::Header;

use super::*;
use crate::msg::Which;

#[derive(Debug)]
struct NoHost;

#[async_trait::async_trait]
impl Host for NoHost {
    async fn open(&self, _which: Which, _from: &Worker) -> Result<Opened, String> {
        Err("there is no other session".to_owned())
    }
}

async fn worker() -> Worker {
    let header = Header::new("s", 0, "/x");
    let session = Session::create(Arc::new(MemoryStore::default()), &header, &[], Env::default());
    let registry = Arc::new(Registry::built_in());
    let model = registry.find("offline").unwrap();
    let models = Arc::new(Models::new(registry.clone(), Surroundings::none()));
    let tools = ToolContext::new("/x", "/x/output", osier_tools::Env::new([]));
    let parts = Parts::new(models, registry, model, Arc::new(Tools::standard()), tools);
    Worker::start(session.await.unwrap(), parts).await.unwrap()
}

#[tokio::test]
async fn an_interrupted_step_does_not_lose_what_it_was_about_to_send() {
    let (answers, mut heard) = unbounded_channel();
    let size = (80, 24);
    let started =
        App::start(worker().await, Arc::new(NoHost), Setting::default(), Theme::dark(), size, answers);
    let (mut app, sender) = started.await.unwrap();
    let send =
        Action::Send(Command::SetThinking(ThinkingLevel::High), Purpose::Change("thinks more".to_owned()));
    app.pending.extend([Pending::Join, Pending::Action(send)]);
    tokio::select! {
        biased;
        () = app.work() => panic!("it joins the session without waiting"),
        () = std::future::ready(()) => {}
    }
    assert!(app.rejoin.is_some(), "the session is joined again later");
    app.work().await;
    let worker = app.worker.clone();
    drop(app);
    sender.await.unwrap();
    let mut replies = 0;
    while let Some(heard) = heard.recv().await {
        if let Heard::Msg(Msg::Replied(Purpose::Change(_), reply)) = heard {
            assert!(reply.is_ok(), "{reply:?}");
            replies += 1;
        }
    }
    assert_eq!(replies, 1);
    assert_eq!(worker.choice().await.unwrap().thinking, ThinkingLevel::High);
}
