//! What a line means that somebody typed: an answer, a command, or something to say.

use anyhow::Result;
use osier_agent::{Client, Command, Reply, Said, When};
use osier_tools::user_bash::UserCommand;

use super::{Chat, Then, ask, slash};

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
        } else if let Some(command) = line.strip_prefix('/').filter(|rest| is_word(rest)) {
            return slash::run(self, command).await;
        } else if let Some(command) = UserCommand::parse(line) {
            self.open().await?;
            self.commands += 1;
            self.tell(Command::Bash(command));
        } else if let Some(later) = line.strip_prefix('>').filter(|_| self.turn) {
            self.say(Said::text(later.trim()), When::FollowUp).await?;
        } else if !line.is_empty() {
            self.say(Said::text(line), When::Steer).await?;
        }
        Ok(Then::Stay)
    }

    pub(super) async fn say(&mut self, said: Said, when: When) -> Result<()> {
        let command = Command::Prompt { text: said.text, images: said.images, when };
        let reply = self.open().await?.worker.send(command).await?;
        if let Reply::Started { .. } = reply {
            (self.turn, self.view.typed) = (true, true);
        }
        Ok(())
    }

    /// Sends what is answered only when something has ended.
    pub(super) fn tell(&mut self, command: Command) {
        if let Some(open) = &self.open {
            let (worker, replies) = (open.worker.clone(), self.replies.clone());
            tokio::spawn(async move { replies.send(worker.send(command).await) });
        }
    }

    pub(super) fn replied(&mut self, reply: Result<Reply, osier_agent::Error>) {
        match reply {
            Ok(Reply::Returned(said)) => {
                self.stopping = false;
                for said in said {
                    self.show(&format!("not said: {}", said.text));
                }
            }
            // The entry that holds what it printed tells of its end.
            Ok(_) => {}
            Err(error) => {
                self.commands = self.commands.saturating_sub(1);
                self.complain(&error.into());
            }
        }
    }
}

/// A path begins with a slash too, and is something to say.
fn is_word(rest: &str) -> bool {
    let first = rest.split_whitespace().next().unwrap_or_default();
    rest.starts_with(char::is_alphabetic) && !first.contains('/')
}
