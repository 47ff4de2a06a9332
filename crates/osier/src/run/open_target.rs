//! The session that the options name: a new one, an existing one, or a fork.

use anyhow::{Result, bail};
use osier_engine::{ListOptions, is_path};
use osier_local_engine::{LocalEngine, PreparedSession};
use osier_protocol::{
    EngineClient, EngineReply, EngineRequest, ForkOptions, ForkPosition, NewSessionOptions, OpenRequest,
    OpenTarget, SessionRef,
};
use osier_tree::projection::card::Card;

use super::args::{Args, FrontEnd};
use super::resume_error;
use crate::failure::{fail, local_engine_error, usage_error};
use crate::home::Home;
use crate::output_writer::notice;
use crate::progress::show_progress;
use crate::target;

/// Chooses the session and its agent, and prints the notices. Nothing is created yet, except a fork.
pub(super) async fn prepare(args: &Args, engine: &LocalEngine) -> Result<PreparedSession> {
    let target = local_target(args, &engine.home()).await?;
    let is_fork = matches!(target, OpenTarget::Fork(_));
    let progress = match &target {
        OpenTarget::Named { name } => Some(show_progress(&format!("reading {name}"))),
        _ => None,
    };
    let prepared = engine.prepare(OpenRequest { target, leaving: None }).await.map_err(local_engine_error)?;
    drop(progress);
    let Some(mut prepared) = prepared else { fail!(Cancelled, "an extension refused the fork") };
    if let Some(session) = prepared.session().filter(|_| is_fork) {
        notice(&format!("osier: forked to session {}", session.id()));
    }
    for text in &prepared.notices {
        notice(&format!("osier: {text}"));
    }
    prepared.notices.clear();
    if let Some(name) = &args.name {
        prepared.set_name(name.clone());
    }
    Ok(prepared)
}

/// The session that the options name, for the engine of this process.
async fn local_target(args: &Args, home: &Home) -> Result<OpenTarget> {
    if args.resume == Some(None) && args.front_end() != FrontEnd::Terminal {
        return Err(resume_error::missing_id_error(&resumable_cards(home).await?, home));
    }
    match &args.fork {
        Some(word) => {
            let (word, from) = split_fork(word);
            let source = target::find(home, word).await?;
            let session = SessionRef { store: source.store.name().into(), key: source.key };
            Ok(OpenTarget::Fork(ForkOptions { session, from, store: None, name: None }))
        }
        None => named_target(args),
    }
}

/// The session that the options name, for any engine.
pub(super) async fn remote_target(args: &Args, engine: &dyn EngineClient) -> Result<OpenTarget> {
    let Some(word) = &args.fork else { return named_target(args) };
    let (word, from) = split_fork(word);
    let find = EngineRequest::FindSession { name: word.to_owned() };
    let EngineReply::Found { card } = engine.call(find).await? else {
        bail!("unexpected reply from the engine")
    };
    let session = SessionRef::from_card(&card);
    Ok(OpenTarget::Fork(ForkOptions { session, from, store: args.store.clone(), name: args.name.clone() }))
}

/// All but forks.
fn named_target(args: &Args) -> Result<OpenTarget> {
    if args.go_on {
        let cwd = args.remote_directory();
        return Ok(OpenTarget::Latest { cwd });
    }
    if let Some(Some(name)) = &args.resume {
        target::check_name(name)?;
        return Ok(OpenTarget::Named { name: name.clone() });
    }
    if let Some(file) = &args.session {
        if !is_path(file) {
            return Err(usage_error(format!(
                "--session takes a file; to resume a session by its id: --resume {file}"
            )));
        }
        return Ok(OpenTarget::Named { name: file.clone() });
    }
    Ok(OpenTarget::New(new_session(args)))
}

/// A new session as the options describe it.
pub(super) fn new_session(args: &Args) -> NewSessionOptions {
    let is_remote = args.connect.is_some();
    NewSessionOptions {
        cwd: args.remote_directory(),
        agent_id: args.agent.clone().filter(|_| is_remote),
        store: args.store.clone().filter(|_| is_remote),
        in_memory: args.no_session,
        name: args.name.clone(),
    }
}

/// `ID` or `ID@ENTRY`.
fn split_fork(word: &str) -> (&str, ForkPosition) {
    match word.rsplit_once('@') {
        Some((word, entry)) if !word.is_empty() && !entry.contains(['/', '.']) => {
            (word, ForkPosition::Exactly { entry_id: entry.into() })
        }
        _ => (word, ForkPosition::Current),
    }
}

/// The sessions of this directory and this agent, most recent first.
async fn resumable_cards(home: &Home) -> Result<Vec<Card>> {
    let agent = Some(home.settings.agent.clone());
    let list = home.engine.list(&ListOptions { agent, ..home.list_options(false) }).await?;
    crate::stores::show_unavailable(&list.unavailable);
    Ok(list.cards)
}
