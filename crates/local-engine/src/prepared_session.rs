//! A session that is chosen and can be opened, and the open session.

use std::sync::Arc;

use osier_engine::{LiveSession, LocalClient, NewSession};
use osier_protocol::{Client, ClientCommand, LogPosition, Prompt, SessionInfo, SessionRef};
use osier_session::Session;
use osier_store::LogVersion;
use osier_tree::projection::preview::sanitize_line;
use osier_tree::short_ids::first_eight;

use crate::agent_setup::AgentSetup;
use crate::error::LocalEngineError;
use crate::leaving::{LeftSession, StoppedWork};
use crate::local_engine::LocalEngineOptions;

/// A session to open and its agent. If it is dropped, nothing was created.
#[derive(Debug)]
pub struct PreparedSession {
    pub(crate) options: LocalEngineOptions,
    pub setup: AgentSetup,
    /// Notices for the user.
    pub notices: Vec<String>,
    pub(crate) source: SessionSource,
    /// The name to give it.
    pub(crate) name: Option<String>,
    /// What goes into the editor.
    pub(crate) editor: Option<Prompt>,
    pub(crate) left: Option<LeftSession>,
}

/// Where a session comes from.
#[derive(Debug)]
pub(crate) enum SessionSource {
    New(NewSession),
    Existing(Arc<LiveSession>),
}

impl SessionSource {
    /// The session, if it exists.
    pub(crate) fn live(&self) -> Option<&Arc<LiveSession>> {
        match self {
            SessionSource::Existing(live) => Some(live),
            SessionSource::New(_) => None,
        }
    }
}

/// An open session, and the client of its agent.
#[derive(Debug)]
pub struct LocalSession {
    pub client: LocalClient,
    pub setup: AgentSetup,
    /// Notices for the user.
    pub notices: Vec<String>,
    pub is_new: bool,
    /// The end of the log before the agent started.
    pub start_position: LogPosition,
    editor: Option<Prompt>,
    stopped: StoppedWork,
    is_task_of_left: bool,
}

impl PreparedSession {
    /// Opens the session, connects to its agent, and leaves the other session.
    pub async fn open(self) -> Result<LocalSession, LocalEngineError> {
        let PreparedSession { options, mut setup, notices, source, name, editor, left } = self;
        let (engine, is_new) = (setup.home.engine.clone(), source.live().is_none());
        let live = match source {
            SessionSource::New(new) => engine.create(&new).await?,
            SessionSource::Existing(live) => live,
        };
        let LogVersion { generation, entries } = live.session().version();
        let start_position = LogPosition { generation, entries };
        let start = left.as_ref().map(LeftSession::agent_start).unwrap_or_default();
        let client = engine.connect(&live, &setup.agent_spec(&options, start)).await?;
        setup.choose_awaited_model(&client, &options).await?;
        if let Some(name) = name {
            rename(&client, name).await?;
        }
        let mut stopped = StoppedWork::default();
        let is_task_of_left = left.as_ref().is_some_and(|left| left.is_task_of(&client));
        if let Some(left) = &left {
            let ends = !options.is_shared && !is_task_of_left;
            if ends {
                left.end_agent(&client);
            }
            left.announce(&engine, &client).await;
            if ends && !options.keeps_left_turn {
                stopped = left.stop_work().await?;
            }
        }
        Ok(LocalSession { client, setup, notices, is_new, start_position, editor, stopped, is_task_of_left })
    }

    /// The session, if it exists.
    pub fn session(&self) -> Option<&Session> {
        self.source.live().map(|live| live.session())
    }

    /// Names the session when it is opened.
    pub fn set_name(&mut self, name: String) {
        self.name = Some(name);
    }
}

async fn rename(client: &LocalClient, name: String) -> Result<(), LocalEngineError> {
    if client.live().session().tree().marks().name() != Some(&name) {
        client.send(ClientCommand::Rename { name }).await?;
    }
    Ok(())
}

impl LocalSession {
    /// What a client learns about the session. The short id may not be unique.
    pub fn info(&self) -> SessionInfo {
        let (session, home) = (self.client.live().session(), &self.setup.home);
        let prompts: Vec<&Prompt> = self.editor.iter().chain(&self.stopped.prompts).collect();
        let texts: Vec<&str> = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
        SessionInfo {
            session: SessionRef { store: session.store().name().into(), key: session.key().to_owned() },
            id: session.id().into(),
            short_id: first_eight(session.id()).to_owned(),
            file: session.file().map(|file| file.to_string_lossy().into_owned()),
            cwd: home.cwd.to_string_lossy().into_owned(),
            agent_id: session.header().agent_id.clone().unwrap_or_else(|| "main".to_owned()),
            model: self.setup.model_name(),
            is_offline_only: self.setup.is_offline_only(),
            editor_text: (!texts.is_empty()).then(|| texts.join("\n\n")),
            editor_images: prompts.iter().flat_map(|prompt| prompt.images.clone()).collect(),
            turn_stopped: self.stopped.turn_stopped,
            is_task_of_left: self.is_task_of_left,
            is_new: self.is_new,
            notices: self.notices.iter().map(|notice| sanitize_line(notice)).collect(),
        }
    }
}
