//! The loop without a terminal.

use osier_engine::{AgentSpec, Engine, EngineConfig, KeepWhen, ModelCatalog, NewSession, Workspace};
use osier_model::{Environment, Registry, ThinkingLevel};
use osier_offline::OfflineModel;
use osier_tools::{CommandEnv, ToolContext};

use super::*;
use crate::msg::OpenTarget;

#[derive(Debug)]
struct NoHost;

#[async_trait::async_trait]
impl Host for NoHost {
    async fn open(&self, _target: OpenTarget) -> Result<Option<OpenedSession>, String> {
        Err("there is no other session".to_owned())
    }
}

async fn client() -> Arc<dyn Client> {
    let registry = Arc::new(Registry::built_in());
    let model = registry.find("offline").unwrap();
    let models = ModelCatalog {
        model: Arc::new(OfflineModel::new(Environment::empty())),
        registry,
        environment: Environment::empty(),
        default_model: None,
        summary_model: None,
        own_providers: Vec::new(),
    };
    let context = ToolContext::new("/x", "/x/output", CommandEnv::new([]));
    let spec = AgentSpec::new(Arc::new(Workspace::new(models, context)), model);
    let engine = Engine::new(EngineConfig::default());
    let new = NewSession { cwd: "/x".to_owned(), keep: KeepWhen::Never, ..NewSession::default() };
    Arc::new(engine.connect(&engine.create(&new).await.unwrap(), &spec).await.unwrap())
}

#[tokio::test]
async fn an_interrupted_step_does_not_lose_what_it_was_about_to_send() {
    let (answers, mut heard) = unbounded_channel();
    let size = (80, 24);
    let (mut app, sender) =
        App::start(client().await, Arc::new(NoHost), UiConfig::default(), Theme::dark(), size, answers);
    let send = Action::Send(
        ClientCommand::SetThinking { level: ThinkingLevel::High },
        CommandPurpose::Change("thinks more".to_owned()),
    );
    app.pending.extend([QueuedWork::Join, QueuedWork::Action(send)]);
    tokio::select! {
        biased;
        () = app.run_pending() => panic!("it joins the session without waiting"),
        () = std::future::ready(()) => {}
    }
    assert!(app.rejoin_at.is_some(), "the session is joined again later");
    app.run_pending().await;
    let client = app.client.clone();
    drop(app);
    sender.await.unwrap();
    let mut replies = 0;
    while let Some(heard) = heard.recv().await {
        if let TaskResult::Msg(Msg::Replied(CommandPurpose::Change(_), reply)) = heard {
            assert!(reply.is_ok(), "{reply:?}");
            replies += 1;
        }
    }
    assert_eq!(replies, 1);
    assert_eq!(client.status().await.unwrap().thinking, ThinkingLevel::High);
}
