//! Actions that read or write sessions without touching the screen. Each runs in a background task and returns a message.

use std::sync::Arc;

use osier_protocol::{Client, ClientCommand, ClientError, Image, TreeSnapshot};
use serde_json::{Map, Value, json};

use super::queries;
use crate::clock::LocalClock;
use crate::error::error_chain;
use crate::host::Host;
use crate::msg::{Action, Msg};
use crate::pages;
use crate::panel::inner_columns;
use crate::text::Line;
use crate::theme::ColorRole;

/// The maximum number of listed sessions; the most recently used count.
const MAX_LISTED_SESSIONS: usize = 10_000;

/// The maximum number of files that completion offers.
const MAX_FILES: usize = 20_000;

/// The maximum bytes of pasted images that a session stores for its editor; the latest count.
const MAX_IMAGE_BYTES: usize = 8 << 20;

/// What a task needs to know about the screen and the program.
#[derive(Debug)]
pub(super) struct TaskContext {
    pub(super) columns: usize,
    pub(super) clock: LocalClock,
    pub(super) host: Arc<dyn Host>,
}

pub(super) async fn run_task(
    client: &dyn Client,
    action: Action,
    context: &TaskContext,
) -> Result<Msg, ClientError> {
    let columns = context.columns;
    match action {
        Action::ReadTree => Ok(tree_msg(client.tree().await)),
        Action::ReadFirstRows { filter, around } => Ok(tree_msg(client.first_rows(filter, around).await)),
        Action::RefreshTree => Ok(match client.tree().await {
            Ok(tree) => Msg::TreeChanged(Box::new(tree)),
            Err(error) => Msg::TreeFailed(error_chain(&error)),
        }),
        Action::ReadEntry(id) => queries::entry_page(client, id, inner_columns(columns)).await,
        Action::CopyEntry(id) => Ok(Msg::CopyText(client.entry(id).await?.text)),
        Action::Compare(left, right) => {
            let comparison = client.compare(left, right).await?;
            if comparison.is_on_one_path() {
                let problem =
                    "cannot compare: one entry is an ancestor of the other; choose rows of two branches";
                return Ok(Msg::Failed(problem.to_owned()));
            }
            Ok(Msg::Page(
                pages::COMPARISON_TITLE.to_owned(),
                pages::comparison_lines(&comparison, inner_columns(columns)),
            ))
        }
        Action::PrintUsage => {
            let mut lines = pages::session_lines(&client.card().await?, context.clock, columns);
            lines.extend(pages::usage_lines(&client.usage().await?, columns));
            Ok(Msg::Lines(lines))
        }
        Action::PrintCost => Ok(Msg::Lines(pages::usage_lines(&client.usage().await?, columns))),
        Action::PrintAgents => {
            let (agents, batches) = (client.agents().await?, client.subagents().await?);
            Ok(Msg::Lines(pages::agent_lines(&agents, &batches, columns)))
        }
        Action::ListTasks => Ok(Msg::Tasks(Box::new(queries::task_list(client).await?))),
        Action::PrintExplores => Ok(Msg::Lines(pages::explores_lines(&client.explores().await?, columns))),
        Action::CompareTries(explore, left, right) => {
            let comparison = client.compare_tries(explore, left, right).await?;
            let lines = pages::try_comparison_lines(&comparison, inner_columns(columns));
            Ok(Msg::Page(format!("Try {left} and try {right}"), lines))
        }
        Action::CopyAnswer => Ok(match client.last_reply().await? {
            Some(reply) => Msg::CopyText(reply.text),
            None => Msg::Failed("cannot copy: no answer yet".to_owned()),
        }),
        Action::ShowCompaction => {
            let details = client.compaction(None).await?;
            let title = "Left out by the last compaction".to_owned();
            Ok(Msg::Page(title, pages::compaction_lines(&details, inner_columns(columns))))
        }
        Action::ReadCommands => Ok(Msg::Commands(client.commands().await?)),
        Action::ListFiles => Ok(Msg::Files(client.files(MAX_FILES).await?.into())),
        Action::StorePastes(pastes) => store_pastes(client, pastes).await,
        Action::StoreImages(images) => store_images(client, images).await,
        action => Ok(run_host_task(action, &*context.host).await.unwrap_or_else(Msg::Failed)),
    }
}

fn tree_msg(read: Result<TreeSnapshot, ClientError>) -> Msg {
    match read {
        Ok(tree) => Msg::Tree(Box::new(tree)),
        Err(error) => Msg::TreeFailed(error_chain(&error)),
    }
}

/// Actions that the program runs: they concern other sessions, or files of the user.
async fn run_host_task(action: Action, host: &dyn Host) -> Result<Msg, String> {
    let mut failed = None;
    match action {
        Action::Export(file) => {
            let path = host.export(file.as_deref()).await?;
            let notice = format!("Exported to {}", path.display());
            return Ok(Msg::Lines(vec![Line::styled(ColorRole::Dim, &notice)]));
        }
        Action::RenameSession { target, name } => host.rename_session(&target, &name).await?,
        // The list may have changed all the same.
        Action::DeleteSession(target) => failed = host.delete_session(&target).await.err(),
        Action::ListSessions => {}
        _ => return Ok(Msg::Tick),
    }
    let listed = host.list_sessions(MAX_LISTED_SESSIONS).await?;
    let notices: Vec<String> = failed.into_iter().chain(listed.missing).collect();
    Ok(Msg::Sessions(listed.cards, (!notices.is_empty()).then(|| notices.join("; "))))
}

/// Adds pasted texts to the session's settings.
async fn store_pastes(client: &dyn Client, pastes: Vec<(String, String)>) -> Result<Msg, ClientError> {
    let all = queries::stored_pastes(&client.settings().await?).into_iter().chain(pastes);
    set_config(client, queries::PASTED_TEXTS, all.map(|(marker, text)| (marker, json!(text)))).await
}

/// Adds pasted images to the session's settings, as data URLs.
async fn store_images(client: &dyn Client, images: Vec<(String, Image)>) -> Result<Msg, ClientError> {
    let all = queries::stored_images(&client.settings().await?).into_iter().chain(images);
    let address = |image: Image| json!(format!("data:{};base64,{}", image.mime_type, image.data));
    let all = latest_images(all.collect()).into_iter().map(|(marker, image)| (marker, address(image)));
    set_config(client, queries::PASTED_IMAGES, all).await
}

async fn set_config(
    client: &dyn Client,
    key: &str,
    values: impl Iterator<Item = (String, Value)>,
) -> Result<Msg, ClientError> {
    let set = Map::from_iter([(key.to_owned(), Value::Object(values.collect()))]);
    client.send(ClientCommand::SetConfig { set, unset: Vec::new() }).await?;
    Ok(Msg::Tick)
}

/// The latest images that fit into the limit.
fn latest_images(mut images: Vec<(String, Image)>) -> Vec<(String, Image)> {
    let number = |marker: &str| {
        let digits: String =
            marker.chars().skip_while(|ch| *ch != '#').skip(1).take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap_or(0)
    };
    images.sort_by_key(|(marker, _)| std::cmp::Reverse(number(marker)));
    let mut left = MAX_IMAGE_BYTES;
    images.retain(|(_, image)| {
        let fits = image.data.len() <= left;
        left = if fits { left - image.data.len() } else { 0 };
        fits
    });
    images
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use osier_protocol::SessionRef;

    use super::*;
    use crate::host::OpenedSession;
    use crate::msg::OpenTarget;

    /// A program that lists no sessions and deletes none.
    #[derive(Debug)]
    struct RefusingHost;

    #[async_trait]
    impl Host for RefusingHost {
        async fn open(&self, _: OpenTarget) -> Result<Option<OpenedSession>, String> {
            Ok(None)
        }
    }

    #[tokio::test]
    async fn the_list_is_read_again_after_a_failed_deletion() {
        let target = SessionRef { store: "file".into(), key: "a".to_owned() };
        let msg = run_host_task(Action::DeleteSession(target), &RefusingHost).await;
        let Ok(Msg::Sessions(cards, Some(notice))) = msg else { panic!("{msg:?}") };
        assert_eq!((cards.len(), notice.as_str()), (0, "cannot delete sessions here"));
    }

    #[test]
    fn only_the_latest_images_are_stored() {
        let image = |size: usize| Image { data: "A".repeat(size), mime_type: "image/png".to_owned() };
        let images = vec![
            ("[image #10 c.png]".to_owned(), image(5 << 20)),
            ("[image #9 b.png]".to_owned(), image(2 << 20)),
            ("[image #2 a.png]".to_owned(), image(5 << 20)),
        ];
        let kept: Vec<String> = latest_images(images).into_iter().map(|(marker, _)| marker).collect();
        assert_eq!(kept, ["[image #10 c.png]", "[image #9 b.png]"]);
    }
}
