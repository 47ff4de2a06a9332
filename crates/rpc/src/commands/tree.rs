//! The tree: moves, labels, branches.

use osier_protocol::{
    ClientCommand, ClientError, CommandReply, EntryId, ErrorCode, ExploreCommand, MoveCommand, MoveReply,
};
use serde_json::json;

use crate::response::{CommandResult, response_data};
use crate::session::{CommandOrder, RpcSession};

impl RpcSession {
    /// Moves to an entry. As in pi, a user message returns to the editor.
    pub(crate) async fn navigate(&self, order: CommandOrder<'_>, target: MoveCommand) -> CommandResult {
        if target.target_id.is_none() {
            return Err(ClientError::new(
                ErrorCode::Usage,
                "missing field `targetId`; `root` is before the first entry",
            ));
        }
        let target_id = target.target_id.filter(|id| **id != *"root");
        self.move_with(order, ClientCommand::Move(MoveCommand { target_id, ..target })).await
    }

    pub(crate) async fn move_with(&self, order: CommandOrder<'_>, command: ClientCommand) -> CommandResult {
        let reply = self.send_in_order(order, command).await?;
        self.settle().await?;
        if let CommandReply::Moved(moved) = reply {
            return response_data(&moved);
        }
        let leaf_id = self.client.attach(None).await?.state.leaf_id;
        let cancelled = reply == CommandReply::Cancelled;
        response_data(&MoveReply { cancelled, leaf_id, ..MoveReply::default() })
    }

    /// Runs a command that stores at most one entry.
    pub(crate) async fn store_with(&self, order: CommandOrder<'_>, command: ClientCommand) -> CommandResult {
        let reply = self.send_in_order(order, command).await?;
        self.settle().await?;
        match reply {
            CommandReply::Stored { entry } => response_data(&json!({ "entryId": entry })),
            CommandReply::Cancelled => response_data(&json!({ "cancelled": true })),
            _ => Ok(None),
        }
    }

    pub(crate) async fn subagents(&self) -> CommandResult {
        response_data(
            &json!({ "batches": self.client.subagents().await?, "agents": self.client.agents().await? }),
        )
    }

    /// Handles tries. The reply is that of the client protocol.
    pub(crate) async fn explore(&self, command: ExploreCommand) -> CommandResult {
        let reply = self.client.send(ClientCommand::Explore(command)).await?;
        self.settle().await?;
        match reply {
            CommandReply::Explore(reply) => response_data(&reply),
            _ => Ok(None),
        }
    }

    pub(crate) async fn explores(&self) -> CommandResult {
        response_data(&json!({ "explores": self.client.explores().await? }))
    }

    pub(crate) async fn compare_tries(
        &self,
        explore: Option<String>,
        left: u32,
        right: u32,
    ) -> CommandResult {
        response_data(&self.client.compare_tries(explore, left, right).await?)
    }

    pub(crate) async fn compare(&self, left: EntryId, right: EntryId) -> CommandResult {
        response_data(&self.client.compare(left, right).await?)
    }
}
