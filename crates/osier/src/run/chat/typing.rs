//! What a line means that somebody typed: an answer, a command, or something to say.

use anyhow::Result;
use osier_agent::{Client, Command, Error, NoSummary, Reply, Said, When};
use osier_tools::user_bash::UserCommand;

use super::{Chat, Sent, Then, ask, going, slash};

impl Chat {
    pub(super) async fn typed(&mut self, line: Option<String>) -> Then {
        let Some(line) = line else { return Then::Leave };
        (self.prompted, self.warned) = (false, false);
        match self.line(line.trim()).await {
            Ok(then) => then,
            Err(error) => {
                self.complain(&error);
                Then::Stay
            }
        }
    }

    async fn line(&mut self, line: &str) -> Result<Then> {
        if let Some((id, question)) = self.questions.front() {
            let Some(answer) = ask::read(line, question) else {
                let again = ask::answers(question, self.view.paint);
                self.write(again + "? ");
                return Ok(Then::Stay);
            };
            let command = Command::Answer { question: *id, answer };
            self.open().await?.worker.send(command).await?;
        } else if let Some(wish) = self.wish.take().filter(|_| !line.starts_with('/')) {
            going::answered(self, wish, line);
        } else if let Some(command) = line.strip_prefix('/').filter(|rest| is_word(rest)) {
            return slash::run(self, command).await;
        } else if let Some(command) = UserCommand::parse(line) {
            self.open().await?;
            self.commands += 1;
            self.tell(Sent::Bash, Command::Bash(command));
        } else if let Some(later) = line.strip_prefix('>').filter(|_| self.turn) {
            self.say(Said::text(later.trim()), When::FollowUp).await?;
        } else if !line.is_empty() {
            self.say(Said::text(line), When::Steer).await?;
        } else if let Some(said) = self.editor.clone() {
            self.say(said, When::Steer).await?;
        }
        Ok(Then::Stay)
    }

    pub(super) async fn say(&mut self, said: Said, when: When) -> Result<()> {
        let command = Command::Prompt { text: said.text, images: said.images, when };
        let reply = self.open().await?.worker.send(command).await?;
        self.editor = None;
        if let Reply::Started { .. } = reply {
            (self.turn, self.view.typed) = (true, true);
        }
        Ok(())
    }

    /// Sends what is answered only when something has ended.
    pub(super) fn tell(&mut self, sent: Sent, command: Command) {
        if let Some(open) = &self.open {
            let (worker, replies) = (open.worker.clone(), self.replies.clone());
            tokio::spawn(async move { replies.send((sent, worker.send(command).await)) });
        }
    }

    /// Takes an answer to that. Whatever happened before it is shown first.
    pub(super) async fn replied(
        &mut self,
        sent: Sent,
        reply: Result<Reply, osier_agent::Error>,
    ) -> Result<()> {
        self.catch_up().await?;
        if sent == Sent::Errand {
            (self.errand, self.view.quiet) = (false, false);
        }
        let done = match (sent, reply) {
            (Sent::Cancel, Ok(Reply::Returned(said))) => {
                self.stopping = false;
                self.not_said(&said);
                Ok(())
            }
            (Sent::Errand, Ok(reply)) => self.errand_done(reply).await,
            (Sent::Errand, Err(Error::NoSummary(NoSummary::Stopped))) => {
                self.show("stopped; nothing was changed");
                Ok(())
            }
            // The entry that holds what a command printed tells of its end.
            (_, Ok(_)) => Ok(()),
            (sent, Err(error)) => {
                if sent == Sent::Bash {
                    self.commands = self.commands.saturating_sub(1);
                }
                Err(error.into())
            }
        };
        if let Err(error) = done {
            self.complain(&error);
        }
        Ok(())
    }
}

/// A path begins with a slash too, and is something to say.
fn is_word(rest: &str) -> bool {
    let first = rest.split_whitespace().next().unwrap_or_default();
    rest.starts_with(char::is_alphabetic) && !first.contains('/')
}
