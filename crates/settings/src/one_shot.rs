//! Connecting to a session for one command: its agent has no tools and asks no questions.

use std::sync::Arc;

use osier_engine::{AgentSpec, EngineError, LiveSession, LocalClient, SummaryModel};

use crate::home::Home;
use crate::workspace::WorkspaceOptions;

impl Home {
    /// Connects to a session; `summary` chooses the model that writes a summary. Also returns the full name of that model.
    pub async fn connect_one_shot(
        &self,
        live: &Arc<LiveSession>,
        summary: &SummaryModel,
    ) -> Result<(LocalClient, String), EngineError> {
        let workspace = Arc::new(self.workspace_without_tools(&WorkspaceOptions::default()));
        let spec = AgentSpec::one_shot(workspace, live.session(), summary).await?;
        Ok((self.engine.connect(live, &spec).await?, spec.model.full_name()))
    }
}
