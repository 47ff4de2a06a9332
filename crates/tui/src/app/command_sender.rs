//! Sends commands to the agent in order, from a task of its own, so that a wait that the loop cancels cannot lose a command.

use std::sync::Arc;
use std::time::Duration;

use osier_protocol::{Client, ClientCommand};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::{TaskResult, images};
use crate::error::error_chain;
use crate::host::Host;
use crate::msg::{CommandPurpose, Msg};

/// How long the images that a prompt names may take to read.
const IMAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the program waits at exit for the last commands.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// A command and the session that receives it.
pub(super) struct OutgoingCommand {
    pub(super) client: Arc<dyn Client>,
    pub(super) host: Arc<dyn Host>,
    pub(super) command: ClientCommand,
    pub(super) purpose: CommandPurpose,
}

/// Starts the task that sends commands.
pub(super) fn start(
    answers: UnboundedSender<TaskResult>,
) -> (UnboundedSender<OutgoingCommand>, JoinHandle<()>) {
    let (commands, queue) = unbounded_channel();
    (commands, tokio::spawn(send_all(queue, answers)))
}

/// Waits until the task has sent everything. The sending half of its channel must be closed.
pub(super) async fn finish(sender: JoinHandle<()>) {
    // The program ends in any case.
    let _ = tokio::time::timeout(FLUSH_TIMEOUT, sender).await;
}

async fn send_all(mut queue: UnboundedReceiver<OutgoingCommand>, answers: UnboundedSender<TaskResult>) {
    while let Some(OutgoingCommand { client, host, command, purpose }) = queue.recv().await {
        let answers = answers.clone();
        // The receiver is gone only when the interface has ended.
        let answer = move |reply| drop(answers.send(TaskResult::Msg(Msg::Replied(purpose, Box::new(reply)))));
        let Ok(command) = tokio::time::timeout(IMAGE_TIMEOUT, with_images(command, &*host)).await else {
            answer(Err("cannot read the images that the prompt names: timed out".to_owned()));
            continue;
        };
        let mut sent = Box::pin(async move {
            answer(client.send(command).await.map_err(|error| error_chain(&error)));
        });
        tokio::select! {
            biased;
            () = &mut sent => {}
            // The agent has queued the command; wait for its reply in another task.
            () = std::future::ready(()) => drop(tokio::spawn(sent)),
        }
    }
}

/// Adds the images that a prompt names to the command.
async fn with_images(command: ClientCommand, host: &dyn Host) -> ClientCommand {
    match command {
        ClientCommand::Prompt { mut prompt, when, expected_leaf_id } => {
            prompt.images.extend(images::images_in_prompt(&prompt.text, host).await);
            ClientCommand::Prompt { prompt, when, expected_leaf_id }
        }
        command => command,
    }
}
