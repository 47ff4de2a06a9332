//! Sends commands to the agent in order, from a task of its own, so that a wait that the loop cancels cannot lose a command.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::{Client, Command, Worker};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::{Heard, images};
use crate::error::told;
use crate::msg::{Msg, Purpose};
use crate::state::Setting;

/// How long the images that a prompt names may take to read.
const IMAGES: Duration = Duration::from_secs(10);
/// How long the program waits at exit for the last commands.
const LAST: Duration = Duration::from_secs(1);

/// A command and the agent that receives it.
pub(super) struct Outgoing {
    pub(super) worker: Worker,
    pub(super) setting: Arc<Setting>,
    pub(super) command: Command,
    pub(super) purpose: Purpose,
}

/// Starts the task that sends commands.
pub(super) fn start(answers: UnboundedSender<Heard>) -> (UnboundedSender<Outgoing>, JoinHandle<()>) {
    let (commands, queue) = unbounded_channel();
    (commands, tokio::spawn(send_all(queue, answers)))
}

/// Waits until the task has sent everything. The sending half of its channel must be closed.
pub(super) async fn finish(sender: JoinHandle<()>) {
    // The program ends in any case.
    let _ = tokio::time::timeout(LAST, sender).await;
}

async fn send_all(mut queue: UnboundedReceiver<Outgoing>, answers: UnboundedSender<Heard>) {
    while let Some(Outgoing { worker, setting, command, purpose }) = queue.recv().await {
        let answers = answers.clone();
        // The receiver is gone only when the interface has ended.
        let answer = move |reply| drop(answers.send(Heard::Msg(Msg::Replied(purpose, Box::new(reply)))));
        let Ok(command) = tokio::time::timeout(IMAGES, with_images(command, &setting)).await else {
            answer(Err("cannot read the images that the prompt names: timed out".to_owned()));
            continue;
        };
        let mut sent = Box::pin(async move {
            answer(worker.send(command).await.map_err(|error| told(&error)));
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
async fn with_images(command: Command, setting: &Setting) -> Command {
    match command {
        Command::Prompt { text, mut images, files, when } => {
            images.extend(images::named_in(&text, setting).await);
            Command::Prompt { text, images, files, when }
        }
        command => command,
    }
}
