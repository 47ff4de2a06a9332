//! Sends commands to the agent beside the loop, in the order in which they were given. Nothing that the loop gives up or
//! waits for can lose one.

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
/// How long the end of the program waits for what was given last.
const LAST: Duration = Duration::from_secs(1);

/// A command, and the agent it is for.
pub(super) struct Outgoing {
    pub(super) worker: Worker,
    pub(super) setting: Arc<Setting>,
    pub(super) command: Command,
    pub(super) purpose: Purpose,
}

/// Starts the task that sends what it gets.
pub(super) fn start(answers: UnboundedSender<Heard>) -> (UnboundedSender<Outgoing>, JoinHandle<()>) {
    let (commands, queue) = unbounded_channel();
    (commands, tokio::spawn(send_all(queue, answers)))
}

/// Waits until the task has sent everything, now that nobody gives it more.
pub(super) async fn finish(sender: JoinHandle<()>) {
    // Whatever went wrong in it, the program ends.
    let _ = tokio::time::timeout(LAST, sender).await;
}

async fn send_all(mut queue: UnboundedReceiver<Outgoing>, answers: UnboundedSender<Heard>) {
    while let Some(Outgoing { worker, setting, command, purpose }) = queue.recv().await {
        let answers = answers.clone();
        // Nobody listens any more once the interface has ended.
        let answer = move |reply| drop(answers.send(Heard::Msg(Msg::Replied(purpose, Box::new(reply)))));
        let Ok(command) = tokio::time::timeout(IMAGES, with_images(command, &setting)).await else {
            answer(Err("cannot read the images that the prompt names: it takes too long".to_owned()));
            continue;
        };
        let mut sent = Box::pin(async move {
            answer(worker.send(command).await.map_err(|error| told(&error)));
        });
        tokio::select! {
            biased;
            () = &mut sent => {}
            // It is in the agent's mailbox by now.
            () = std::future::ready(()) => drop(tokio::spawn(sent)),
        }
    }
}

/// The command, with the images that a prompt names.
async fn with_images(command: Command, setting: &Setting) -> Command {
    match command {
        Command::Prompt { text, mut images, files, when } => {
            images.extend(images::named_in(&text, setting).await);
            Command::Prompt { text, images, files, when }
        }
        command => command,
    }
}
